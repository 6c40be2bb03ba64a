#include "cli/puzzle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>
#include <vector>

#include "cli/json.hpp"
#include "core/data_file.hpp"
#include "core/error.hpp"
#include "kernels/registry.hpp"
#include "kernels/sources.hpp"
#include "lens/source_text.hpp"

namespace lapidary::cli {
namespace {

constexpr const char* record = "results/emulator/mutants.json";

struct Puzzle {
  const Rung* rung;
  std::vector<std::string> lines;  ///< of the mutant's file
  int changed;                     ///< from 1 on; where the line is gone, that of the one behind it
  bool gone;
  std::string line;   ///< what the line was
  std::string fault;  ///< with lines of the mutant
};

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  std::istringstream stream{std::string(text)};
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The rung whose file has the kernel that a rung runs: itself, or the nearest ancestor of whose code there are
/// mutants.
std::string owner_of(const Json& mutants, std::string kernel) {
  const auto has_mutants = [&](const Json& mutant) {
    return mutant.contains("becomes") && mutant.at("kernel") == kernel;
  };
  while (!kernel.empty() && std::none_of(mutants.begin(), mutants.end(), has_mutants))
    kernel = find_rung(kernel).info->parent;
  return kernel;
}

/// The mutants whose file the program has as it was when they were recorded. @param kernel  empty: of any
std::vector<Puzzle> puzzles(std::string kernel) {
  std::ifstream file(data_file(record));
  const Json json = Json::parse(file, nullptr, false);
  if (json.is_discarded())
    throw InvalidArgument(fmt::format("{} is missing or no JSON; script/mutants makes it", record));
  std::vector<Puzzle> all;
  kernel = owner_of(json.at("mutants"), kernel);
  for (const Json& mutant : json.at("mutants")) {
    if (!mutant.contains("becomes") || (!kernel.empty() && mutant.at("kernel") != kernel)) continue;
    const auto found = std::find_if(ladder().begin(), ladder().end(),
                                    [&](const Rung& rung) { return mutant.at("kernel") == rung.name(); });
    if (found == ladder().end()) continue;  // the program was built without it
    const Rung& rung = *found;
    Puzzle puzzle{&rung,
                  lines_of(rung_source(rung.name())),
                  mutant.at("line"),
                  mutant.at("becomes").is_null(),
                  mutant.at("source"),
                  mutant.at("fault")};
    const auto place = static_cast<std::size_t>(puzzle.changed) - 1;
    if (place >= puzzle.lines.size() || puzzle.lines[place] != puzzle.line) continue;
    if (puzzle.gone)
      puzzle.lines.erase(puzzle.lines.begin() + puzzle.changed - 1);
    else
      puzzle.lines[place] = mutant.at("becomes");
    all.push_back(std::move(puzzle));
  }
  return all;
}

/// The line, from 1 on, behind what a rung says of itself: that comes first in its file and is of no help here.
int first_shown(const Puzzle& puzzle) {
  std::size_t end = 0;
  while (end < puzzle.lines.size() && puzzle.lines[end] != "};") ++end;
  return static_cast<int>(end) + 2;
}

bool is_right(const Puzzle& puzzle, std::int64_t line) {
  return line == puzzle.changed || (puzzle.gone && line == puzzle.changed - 1);
}

/// The line as it was, without its indentation.
std::string was(const Puzzle& puzzle) { return puzzle.line.substr(puzzle.line.find_first_not_of(' ')); }

/// What the emulated machine says, with the text of lines.
std::string happens(const Puzzle& puzzle) {
  lens::SourceText sources;
  sources.replace(puzzle.rung->source, puzzle.lines);
  return sources.annotate(puzzle.fault);
}

Json to_json(const Puzzle& puzzle, const std::optional<std::int64_t>& answer, const std::string& again) {
  Json lines = Json::array();
  for (int line = first_shown(puzzle); line <= static_cast<int>(puzzle.lines.size()); ++line)
    lines.push_back({{"line", line}, {"text", puzzle.lines[static_cast<std::size_t>(line) - 1]}});
  Json json = {{"kernel", puzzle.rung->name()}, {"file", puzzle.rung->source}, {"again", again}, {"lines", lines}};
  if (answer)
    json.update({{"answer", *answer},
                 {"right", is_right(puzzle, *answer)},
                 {"line", puzzle.changed},
                 {"missing", puzzle.gone},
                 {"was", was(puzzle)},
                 {"happens", happens(puzzle)}});
  return json;
}

std::int64_t ask() {
  fmt::print("Line: ");
  std::fflush(stdout);
  std::string text;
  std::getline(std::cin, text);
  std::int64_t line = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), line);
  if (error != std::errc() || end == text.data())
    throw InvalidArgument(fmt::format("'{}' is no line number; --answer LINE answers too", text));
  return line;
}

}  // namespace

ExitCode ask_puzzle(const std::string& kernel, std::optional<std::int64_t> seed, std::optional<std::int64_t> answer,
                    bool json) {
  if (!kernel.empty()) find_rung(kernel);
  const std::vector<Puzzle> all = puzzles(kernel);
  if (all.empty())
    throw InvalidArgument(fmt::format("{} is not of this program's kernels; script/mutants renews it", record));
  if (!seed) seed = std::random_device()() % 100000;
  std::minstd_rand random(static_cast<unsigned>(*seed) + 1);
  random.discard(1);
  const Puzzle& puzzle = all[random() % all.size()];
  const std::string again = fmt::format("lapidary check {}--puzzle --seed {}", kernel.empty() ? "" : kernel + " ",
                                        *seed);
  if (json) {
    print(to_json(puzzle, answer, again));
    return !answer || is_right(puzzle, *answer) ? success : wrong_result;
  }
  fmt::print("There is one bug in {}. Which line is wrong, or which one is there a line missing before?\n\n",
             puzzle.rung->source);
  for (std::size_t i = static_cast<std::size_t>(first_shown(puzzle)); i <= puzzle.lines.size(); ++i)
    fmt::print("{:4}  {}\n", i, puzzle.lines[i - 1]);
  fmt::print("\n");

  const bool right = is_right(puzzle, answer ? *answer : ask());
  fmt::print("{}: {} `{}`\n\nThe emulated machine says:\n", right ? "Right" : "Wrong",
             puzzle.gone ? fmt::format("before line {} there was", puzzle.changed)
                         : fmt::format("line {} was", puzzle.changed),
             was(puzzle));
  std::istringstream fault(happens(puzzle));
  for (std::string text; std::getline(fault, text);) fmt::print("  {}\n", text);
  fmt::print("\nThis one again: {}\n", again);
  return right ? success : wrong_result;
}

}  // namespace lapidary::cli
