#include "bench/check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/json.hpp"
#include "cli/options.hpp"
#include "cli/puzzle.hpp"
#include "core/error.hpp"
#include "device/device.hpp"
#include "kernels/registry.hpp"
#include "lens/source_text.hpp"
#include "report/terminal.hpp"
#include "report/text.hpp"

namespace lapidary::cli {
namespace {

constexpr int default_schedules = 4;

struct CheckArguments {
  std::string kernel, tile;
  std::optional<std::string> type;
  std::optional<std::int64_t> m, n, k;
  std::int64_t schedules = default_schedules;
  std::optional<std::int64_t> seed, answer;
  bool puzzle = false, json = false;
};

Json json_of(const bench::CheckProblem& problem) {
  const bench::RandomProblem spec = bench::resolve(problem.spec);
  Json json = problem_json(spec);
  const auto& [a, b, c, d] = spec.displacement;
  json.update({{"displacement", {{"A", a}, {"B", b}, {"C", c}, {"D", d}}},
               {"in_place", spec.problem.in_place},
               {"multiprocessors", problem.multiprocessors},
               {"tries", problem.tries}});
  return json;
}

std::vector<bench::CheckProblem> problems_of(const CheckArguments& arguments, const KernelEntry& kernel) {
  if (!arguments.m && !arguments.n && !arguments.k) return bench::check_problems(kernel);
  const std::int64_t size = default_size(DeviceKind::emulator);
  return bench::check_problems(kernel.kind, arguments.m.value_or(size), arguments.n.value_or(size),
                               arguments.k.value_or(size));
}

/// The command that finds the same again.
std::string replay(const CheckArguments& arguments, const Rung& rung, const KernelEntry& kernel, std::uint64_t seed) {
  std::string text = fmt::format("lapidary check {} --type {} --tile {}", rung.name(), to_string(kernel.kind),
                                 to_string(kernel.tile));
  for (const auto& [option, value] : {std::pair("-m", arguments.m), {"-n", arguments.n}, {"-k", arguments.k}})
    if (value) text += fmt::format(" {} {}", option, *value);
  return text + fmt::format(" --seed {} --schedules 1", seed);
}

void print_title(const Rung& rung, const KernelEntry& kernel, std::uint64_t seed, int schedules) {
  const std::string seeds = schedules == 1 ? fmt::format("1 random schedule, seed {}", seed)
                                           : fmt::format("{} random schedules, seeds {} to {}", schedules, seed,
                                                         seed + static_cast<std::uint64_t>(schedules) - 1);
  fmt::print("{}, {}, tile {}, on the emulated machine under {}\n", rung.name(), to_string(kernel.kind),
             to_string(kernel.tile), seeds);
}

void print_problem(const bench::CheckProblem& problem, const bench::Checked& checked, const std::string& again) {
  const std::optional<bench::Finding>& found = checked.found;
  const std::string verdict = report::styled(
      found ? "FAULT" : "sound", found ? report::Style::bad : report::Style::good, report::wants_colour(stdout));
  fmt::print("{}  {:<30} {}{}\n", verdict, bench::sizes_of(problem.spec.problem), problem.tries,
             problem.refused       ? ", which is refused"
             : checked.why.empty() ? ""
                                   : fmt::format(", by {}", checked.ran));
  if (found) fmt::print("{}\nagain: {}\n", lens::SourceText().annotate(found->message), again);
  std::fflush(stdout);
}

/// Which part of the verdict is not about the kernel that was asked for.
std::string of_others(const Rung& rung, std::size_t by_others, std::size_t all) {
  if (by_others == 0) return "";
  if (by_others == all) return fmt::format("; of another kernel: {} takes none of these problems", rung.name());
  return fmt::format("; {} of {} problems are another kernel's, as {} does not take them", by_others, all, rung.name());
}

/// Tiles of a kind whose kernels are not the one that was checked.
std::vector<std::string> other_tiles(const Rung& rung, const KernelEntry& checked) {
  std::vector<std::string> tiles;
  for (const KernelEntry& kernel : rung.kernels)
    if (kernel.kind == checked.kind && &kernel != &checked) tiles.push_back(rung.tile_of(kernel));
  return tiles;
}

ExitCode check(const CheckArguments& arguments) {
  const Rung& rung = find_rung(arguments.kernel);
  const GemmKind kind = arguments.type ? parse_kind(*arguments.type) : rung.kernels.front().kind;
  const KernelEntry& kernel = rung.kernel(kind, arguments.tile);
  const auto seed = static_cast<std::uint64_t>(arguments.seed.value_or(1));
  const auto schedules = static_cast<int>(arguments.schedules);

  Json problems = Json::array();
  std::size_t by_others = 0;
  std::optional<bench::Finding> found;
  for (const bench::CheckProblem& problem : problems_of(arguments, kernel)) {
    Json entry = json_of(problem);
    const bench::Checked checked = bench::check(rung, kernel, problem, seed, schedules);
    found = checked.found;
    by_others += !checked.why.empty() && !problem.refused;
    const std::string again = found ? replay(arguments, rung, kernel, found->seed) : "";
    entry["ran"] = checked.ran;
    entry["why"] = checked.why.empty() ? Json() : Json(checked.why);
    entry["ok"] = !found;
    if (found) {
      entry["kind"] = found->kind;
      entry["fault"] = found->message;
      entry["seed"] = found->seed;
      entry["again"] = again;
    }
    // What is bad input was refused by now.
    if (!arguments.json && problems.empty()) print_title(rung, kernel, seed, schedules);
    if (!arguments.json) print_problem(problem, checked, again);
    problems.push_back(std::move(entry));
    if (found) break;
  }
  if (arguments.json)
    print({{"kernel", rung.name()},
           {"source", rung.source},
           {"type", to_string(kind)},
           {"tile", to_string(kernel.tile)},
           {"seed", seed},
           {"schedules", schedules},
           {"ok", !found},
           {"problems", problems}});
  else if (!found)
    fmt::print("no fault: every access, the order of threads, every result{}\n",
               of_others(rung, by_others, problems.size()));
  const std::vector<std::string> tiles = other_tiles(rung, kernel);
  if (!arguments.json && !found && arguments.tile.empty() && !tiles.empty())
    fmt::print("not checked: its tile{} {}, which --tile names\n", tiles.size() == 1 ? "" : "s",
               fmt::join(tiles, ", "));
  return found ? wrong_result : success;
}

ExitCode run(const CheckArguments& arguments) {
  if (arguments.puzzle) return ask_puzzle(arguments.kernel, arguments.seed, arguments.answer, arguments.json);
  if (arguments.kernel.empty()) throw InvalidArgument("KERNEL is missing; `lapidary list` shows which there are");
  return check(arguments);
}

}  // namespace

Command add_check(App program) {
  App app = program.add_subcommand(
      "check",
      "look for races, missing barriers, accesses out of bounds, uninitialised reads, divergence, deadlock and wrong "
      "results, on the emulated machine");
  const auto a = std::make_shared<CheckArguments>();
  app.add_option("KERNEL", a->kernel, "a name that `lapidary list` shows").type_name("");
  const Option type = add_type_option(app, a->type);
  const Option tile = app.add_option("--tile", a->tile, "block tile, as `lapidary list` shows it (the first one)")
                          .type_name("TILE");
  const Option m = app.add_option("-m", a->m, "rows of A and D (with none of these three: sizes around the tile's)")
                       .check(whole_number(0));
  const Option n = app.add_option("-n", a->n, "columns of B and D (256 if another one is given)")
                       .check(whole_number(0));
  const Option k = app.add_option("-k", a->k, "columns of A and rows of B (256 if another one is given)")
                       .check(whole_number(0));
  const Option schedules = app.add_option("--schedules", a->schedules,
                                          fmt::format("how many random orders of threads each problem is run in ({})",
                                                      default_schedules))
                               .check(whole_number(1, 1 << 20));
  app.add_option("--seed", a->seed,
                 "of the first schedule (1), the next one has the next; 0 is no random order; of the puzzle (random)")
      .check(whole_number(0, std::int64_t{1} << 32));
  const Option puzzle = app.add_flag("--puzzle", a->puzzle,
                                     "shows a kernel with a bug, asks for the line, and tells what happens");
  // The bug is one on record, and so is what becomes of it.
  for (const Option& of_checks : {type, tile, m, n, k, schedules}) puzzle.excludes(of_checks);
  app.add_option("--answer", a->answer, "the line, for a puzzle that is not to ask")
      .check(whole_number(1))
      .type_name("LINE")
      .needs(puzzle);
  app.add_flag("--json", a->json, "print JSON");
  return {app, [a] { return run(*a); }};
}

}  // namespace lapidary::cli
