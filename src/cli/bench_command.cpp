#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/timing.hpp"
#include "bench/workload.hpp"
#include "cli/command.hpp"
#include "cli/interruption.hpp"
#include "cli/json.hpp"
#include "cli/measurements.hpp"
#include "cli/options.hpp"
#include "cli/problem_list.hpp"
#include "core/error.hpp"
#include "device/device.hpp"
#include "report/progress.hpp"
#include "report/table.hpp"
#include "report/text.hpp"

namespace lapidary::cli {
namespace {

struct BenchArguments {
  std::vector<std::string> kernels;
  std::vector<std::int64_t> sizes;
  std::optional<std::int64_t> m, n, k;
  std::vector<std::string> lists;
  std::vector<std::string> types;
  std::string mode = "both";
  std::optional<double> seconds;
  std::optional<int> rounds;
  bool all_tiles = false, json = false;
  std::string output;
};

bench::MeasureOptions measure_options(const BenchArguments& arguments) {
  bench::MeasureOptions options;
  const bool both = arguments.mode == "both";
  if (both || arguments.mode == name_of(bench::Mode::burst)) {
    options.burst.emplace();
    options.burst->rounds = arguments.rounds.value_or(options.burst->rounds);
  }
  if (both || arguments.mode == name_of(bench::Mode::sustained)) {
    options.sustained.emplace();
    options.sustained->seconds = arguments.seconds.value_or(options.sustained->seconds);
  }
  if (!options.burst && !options.sustained) {
    throw InvalidArgument(fmt::format("no mode is named '{}'; there are burst, sustained, both", arguments.mode));
  }
  if (arguments.rounds && !options.burst)
    throw InvalidArgument("--rounds are of bursts, and --mode sustained measures none");
  if (arguments.seconds && !options.sustained)
    throw InvalidArgument("--seconds are of sustained launches, and --mode burst measures none");
  return options;
}

/// Cubes first, then lists in the order in which they were given.
std::vector<bench::TimedProblem> problems(const BenchArguments& arguments) {
  const std::int64_t usual = default_size(DeviceKind::gpu);
  if (arguments.m || arguments.n || arguments.k)
    return {{.M = arguments.m.value_or(usual), .N = arguments.n.value_or(usual), .K = arguments.k.value_or(usual)}};
  std::vector<bench::TimedProblem> problems;
  for (const std::int64_t size : arguments.sizes) problems.push_back({.M = size, .N = size, .K = size});
  for (const std::string& path : arguments.lists) {
    const std::vector<bench::TimedProblem> list = problem_list(path);
    for (const bench::TimedProblem& problem : list)
      if (problem.products != 1 || problem.groups != 0)
        throw InvalidArgument(fmt::format("{} has {} {} of {}; bench times single products, and regret those too", path,
                                          problem.groups != 0 ? problem.groups : problem.products,
                                          problem.groups != 0 ? "groups" : "products",
                                          bench::sizes_text(problem.M, problem.N, problem.K)));
    problems.insert(problems.end(), list.begin(), list.end());
  }
  if (problems.empty()) problems.push_back({.M = usual, .N = usual, .K = usual});
  return problems;
}

bench::KernelChoice kernel_choice(const BenchArguments& arguments) {
  bench::KernelChoice choice{.names = arguments.kernels, .kinds = {}, .all_tiles = arguments.all_tiles};
  for (const std::string& type : arguments.types) choice.kinds.push_back(parse_kind(type));
  return choice;
}

std::string sizes_of(const bench::TimedProblem& problem) { return bench::sizes_text(problem.M, problem.N, problem.K); }

bool is_empty(const bench::LadderReport& report) { return report.results.empty() && report.wrong.empty(); }

/// Prints what is measured while more is.
class Printer {
 public:
  Printer(const bench::Workload& workload, std::string title)
      : table_(columns_for(workload)), title_(std::move(title)) {}

  /// What came since the last call. Nothing is printed before something was measured.
  void print_news(const bench::LadderReport& report) {
    if (is_empty(report)) return;
    const bool colour = report::wants_colour(stdout);
    std::string text;
    for (; results_ < report.results.size(); ++results_) {
      if (results_ == 0) text += fmt::format("{}\n\n{}", title_, table_.render(colour));
      text += table_.render_row(cells(report.results[results_]), colour);
    }
    for (; wrong_ < report.wrong.size(); ++wrong_) text += fmt::format("WRONG  {}\n", report.wrong[wrong_]);
    for (; left_out_ < report.left_out.size(); ++left_out_) {
      // A kernel that lacks a kind does so for all problems of that kind.
      const bench::LeftOut& one = report.left_out[left_out_];
      if (said_.insert(fmt::format("{}: {}", one.kernel, one.why)).second)
        text += fmt::format("left out, from {} {} on  {}: {}\n", bench::sizes_text(one.M, one.N, one.K),
                            to_string(one.kind), one.kernel, one.why);
    }
    fmt::print("{}", text);
    std::fflush(stdout);
  }

 private:
  static std::vector<report::Column> columns_for(const bench::Workload& workload) {
    using report::Column;
    int kernel = 0, tile = 0, type = 0, size = 0;
    const auto widen = [](int& width, const std::string& text) {
      width = std::max(width, report::display_width(text));
    };
    for (const bench::Task& task : workload.tasks) {
      widen(size, sizes_of(task.problem));
      for (const bench::Entry& entry : task.entries) {
        widen(kernel, std::string(entry.rung->name()));
        widen(tile, to_string(entry.kernel->tile));
        widen(type, to_string(entry.kernel->kind));
      }
    }
    constexpr int rate = 7, mode = 9;
    return {{"kernel", Column::text, "", kernel},
            {"tile", Column::text, "", tile},
            {"type", Column::text, "", type},
            {"size", Column::number, "", size},
            {"mode", Column::text, "", mode},
            {"median", Column::number, "TFLOP/s", rate},
            {"min", Column::number, "TFLOP/s", rate},
            {"max", Column::number, "TFLOP/s", rate},
            {"cuBLAS", Column::number, "TFLOP/s", rate},
            {"share", Column::number, "", rate},
            {"NVML", Column::number, "MHz", 4},
            {"clock", Column::number, "MHz", 5},
            {"W", Column::number, "", 3},
            {""}};
  }

  static std::vector<report::Cell> cells(const bench::LadderMeasurement& result) {
    // Small problems take some microseconds, whatever they are: figures that begin with zeros.
    const auto rate = [](double tflops) {
      return tflops < 1 ? fmt::format("{:.2g}", tflops) : fmt::format("{:.2f}", tflops);
    };
    const bench::Measurement& m = result.measurement;
    const KernelEntry& kernel = *result.entry.kernel;
    std::string note = result.problem.label;
    if (result.ran != kernel.id()) note += fmt::format("{}ran {}", note.empty() ? "" : ", ", result.ran);
    return {{std::string(result.entry.rung->name())},
            {to_string(kernel.tile)},
            {to_string(kernel.kind)},
            {sizes_of(result.problem)},
            {name_of(result.mode)},
            {rate(m.tflops.median)},
            {rate(m.tflops.min)},
            {rate(m.tflops.max)},
            {m.peer_tflops ? rate(m.peer_tflops->median) : ""},
            {m.peer_tflops ? fmt::format("{:.1f} %", 100 * m.tflops.median / m.peer_tflops->median) : ""},
            {m.card ? fmt::format("{:.0f}", m.card->sm_clock_mhz) : ""},
            {m.clock && m.clock->mhz ? fmt::format("{:.0f}", *m.clock->mhz) : ""},
            {m.card ? fmt::format("{:.0f}", m.card->power_w) : ""},
            {note}};
  }

  report::Table table_;
  std::string title_;
  std::size_t results_ = 0, wrong_ = 0, left_out_ = 0;
  std::set<std::string> said_;
};

ExitCode measure(const BenchArguments& arguments) {
  const bench::MeasureOptions options = measure_options(arguments);
  const bench::KernelChoice choice = kernel_choice(arguments);
  const std::vector<bench::TimedProblem> wanted = problems(arguments);
  if (gpu_count() == 0) {
    throw InvalidArgument("bench needs a GPU: the time of an emulated kernel says nothing; see lapidary device");
  }
  const std::unique_ptr<Device> device = open_gpu();
  const bench::Workload workload = bench::choose_kernels(choice, wanted, device->properties());
  std::optional<OutputFile> output;
  if (!arguments.output.empty()) output.emplace(arguments.output);

  Printer printer(
      workload, fmt::format("D = A B, M x N x K or one size for all three, random normal data, on {}; the median, min "
                            "and max of rounds",
                            title_of(*device)));
  const Interruption interruption;
  bench::LadderReport report;
  // Kernels that lack the orders of a problem come before those that turn out to be left out.
  const auto with_all = [&](bench::LadderReport so_far) {
    so_far.left_out.insert(so_far.left_out.begin(), workload.left_out.begin(), workload.left_out.end());
    return so_far;
  };
  try {
    report::Progress progress;
    report = with_all(bench::measure_ladder(
        *device, workload.tasks, options, [&](std::string_view step, double done) { progress.update(step, done); },
        [&](const bench::LadderReport& so_far) {
          report = with_all(so_far);
          if (output && !is_empty(report)) output->write(text_of(measured_json(report), 2) + "\n");
          progress.pause();
          if (!arguments.json) printer.print_news(report);
          return !interruption.requested();
        }));
  } catch (...) {
    // What was measured by then took its time and is right.
    if (arguments.json && !report.results.empty()) print(measured_json(report));
    throw;
  }
  if (is_empty(report) && report.complete) throw InvalidArgument(report.left_out.front().why);
  if (output) output->write(text_of(measured_json(report), 2) + "\n");
  if (arguments.json) {
    print(measured_json(report));
  } else {
    printer.print_news(report);
    if (report.receipt["peer"].is_null()) fmt::print("\nthis program was built without cuBLAS to compare with\n");
  }
  if (!report.complete) return interrupted;
  return report.wrong.empty() ? success : wrong_result;
}

}  // namespace

Command add_bench(App program) {
  App app = program.add_subcommand("bench", "time kernels on a GPU in turns with cuBLAS, with a receipt");
  const auto a = std::make_shared<BenchArguments>();
  const auto whole = whole_number(1, bench::most_timed_size);
  app.add_option("KERNEL", a->kernels, "names that `lapidary list` shows; all kernels");
  const Option cubes = app.add_option("--size", a->sizes, "M = N = K, may be given several times; 4096")
                           .check(whole)
                           .allow_extra_args(false);
  const Option lists =
      app.add_option(
             "--problems", a->lists,
             "a list of problems, may be given several times: lines of M N K, the orders of A and B (RR, RC, CR "
             "or CC; those of the type), a label; # begins a comment. Lists of DeepBench, of layers of language "
             "models, a grid and random sizes are in data/shapes: --problems data/shapes/llm.txt")
          .type_name("FILE")
          .allow_extra_args(false);
  app.add_option("-m", a->m, "rows of A and D, for one problem (4096 if -n or -k is given)")
      .check(whole)
      .excludes(cubes)
      .excludes(lists);
  app.add_option("-n", a->n, "columns of B and D").check(whole).excludes(cubes).excludes(lists);
  app.add_option("-k", a->k, "columns of A and rows of B").check(whole).excludes(cubes).excludes(lists);
  app.add_option(
         "--type", a->types,
         "types as `lapidary list` shows them, as in f32, bf16/f32, 'bf16 RC', may be given several times; each "
         "kernel's first one")
      .allow_extra_args(false);
  app.add_option("--mode", a->mode,
                 "burst (a cold card, after a rest), sustained (a warm one, launches without a pause) or both; both");
  app.add_option("--seconds", a->seconds, "of sustained launches of each kernel; 2").check(in_range(0.1, 600.0));
  app.add_option("--rounds", a->rounds, "of bursts; 3").check(in_range(1, 1000));
  app.add_flag("--all-tiles", a->all_tiles, "every tile of a kernel; its first one");
  app.add_option("-o,--output", a->output,
                 "write results and receipt to this file as JSON, whenever a problem has been measured");
  app.add_flag("--json", a->json,
               "print JSON, in the end; Ctrl-C ends measuring behind the problem that is under way, and prints what "
               "there is");
  return {app, [a] { return measure(*a); }};
}

}  // namespace lapidary::cli
