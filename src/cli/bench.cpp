#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/run.hpp"
#include "bench/timing.hpp"
#include "cli/command.hpp"
#include "cli/json.hpp"
#include "cli/measurements.hpp"
#include "cli/options.hpp"
#include "core/error.hpp"
#include "device/device.hpp"
#include "kernels/registry.hpp"
#include "report/progress.hpp"
#include "report/table.hpp"

namespace lapidary::cli {
namespace {

struct Arguments {
  std::vector<std::string> kernels;
  std::vector<std::int64_t> sizes;
  std::vector<std::string> types;
  std::string mode = "both";
  double seconds = bench::SustainedOptions().seconds;
  int rounds = bench::BurstOptions().rounds;
  bool all_tiles = false, json = false;
  std::string output;
};

bench::MeasureOptions measure_options(const Arguments& arguments) {
  // The matrices of larger ones would not fit into any GPU.
  constexpr std::int64_t most = 1 << 20;
  for (const std::int64_t size : arguments.sizes) {
    if (size > most) throw InvalidArgument(fmt::format("the size is {}; sizes to time are 1 to {}", size, most));
  }
  bench::MeasureOptions options;
  options.sizes = arguments.sizes;
  if (options.sizes.empty()) options.sizes = {default_size(DeviceKind::gpu)};
  const bool both = arguments.mode == "both";
  if (both || arguments.mode == name_of(bench::Mode::burst)) {
    options.burst.emplace();
    options.burst->rounds = arguments.rounds;
  }
  if (both || arguments.mode == name_of(bench::Mode::sustained)) {
    options.sustained.emplace();
    options.sustained->seconds = arguments.seconds;
  }
  if (!options.burst && !options.sustained) {
    throw InvalidArgument(fmt::format("no mode is named '{}'; there are burst, sustained, both", arguments.mode));
  }
  return options;
}

/// A kernel's variants of a type: its default one, or all.
void add_variants(std::vector<bench::Entry>& entries, const Rung& rung, const GemmKind& kind, bool all_tiles) {
  const KernelEntry& first = rung.kernel(kind);
  for (const KernelEntry& variant : rung.kernels)
    if (&variant == &first || (all_tiles && variant.kind == kind)) entries.push_back({&rung, &variant});
}

/// The kernels that were named, or all that the device runs, each in its first type or in those of the wanted ones that
/// it has. A kernel that was named has one of them at least.
std::vector<bench::Entry> entries(const Arguments& arguments, const Device& device) {
  std::vector<GemmKind> wanted;
  for (const std::string& type : arguments.types) wanted.push_back(parse_kind(type));
  const auto kinds_of = [&](const Rung& rung) {
    if (wanted.empty()) return std::vector<GemmKind>{rung.kernels.front().kind};
    std::vector<GemmKind> kinds;
    std::copy_if(wanted.begin(), wanted.end(), std::back_inserter(kinds),
                 [&](const GemmKind& kind) { return rung.has(kind); });
    return kinds;
  };
  std::vector<bench::Entry> entries;
  for (const std::string& name : arguments.kernels) {
    const Rung& rung = find_rung(name);
    std::vector<GemmKind> kinds = kinds_of(rung);
    if (kinds.empty()) kinds.push_back(wanted.front());  // which is refused, and says what there is
    for (const GemmKind& kind : kinds) {
      bench::require_support(rung, kind, device);
      add_variants(entries, rung, kind, arguments.all_tiles);
    }
  }
  if (arguments.kernels.empty())
    for (const Rung& rung : ladder())
      for (const GemmKind& kind : kinds_of(rung))
        if (rung.runs_on(device.properties().compute_capability, kind))
          add_variants(entries, rung, kind, arguments.all_tiles);
  if (entries.empty()) throw InvalidArgument("no kernel has this type and runs on this device; see lapidary list");
  return entries;
}

Json report_json(const bench::LadderReport& report) {
  Json results = Json::array(), peers = Json::array();
  for (const bench::LadderMeasurement& result : report.results) results.push_back(to_json(result));
  for (const bench::PeerMeasurement& peer : report.peers) peers.push_back(to_json(peer));
  return {{"receipt", report.receipt},
          {"ok", report.wrong.empty()},
          {"wrong", report.wrong},
          {"results", results},
          {"peers", peers}};
}

report::Table to_table(const std::vector<bench::LadderMeasurement>& results) {
  using report::Column;
  report::Table table({{"kernel"},
                       {"tile"},
                       {"type"},
                       {"size", Column::number},
                       {"mode"},
                       {"median", Column::number, "TFLOP/s"},
                       {"min", Column::number, "TFLOP/s"},
                       {"max", Column::number, "TFLOP/s"},
                       {"cuBLAS", Column::number, "TFLOP/s"},
                       {"share", Column::number},
                       {"MHz", Column::number},
                       {"W", Column::number}});
  const auto rate = [](double tflops) { return fmt::format("{:.2f}", tflops); };
  for (const bench::LadderMeasurement& result : results) {
    const bench::Measurement& m = result.measurement;
    const KernelEntry& variant = *result.entry.variant;
    table.add_row({{std::string(result.entry.rung->name())},
                   {to_string(variant.tile)},
                   {to_string(variant.kind)},
                   {fmt::format("{}", result.size)},
                   {name_of(result.mode)},
                   {rate(m.tflops.median)},
                   {rate(m.tflops.min)},
                   {rate(m.tflops.max)},
                   {m.peer_tflops ? rate(m.peer_tflops->median) : ""},
                   {m.peer_tflops ? fmt::format("{:.1f} %", 100 * m.tflops.median / m.peer_tflops->median) : ""},
                   {m.card ? fmt::format("{:.0f}", m.card->sm_clock_mhz) : ""},
                   {m.card ? fmt::format("{:.0f}", m.card->power_w) : ""}});
  }
  return table;
}

ExitCode measure(const Arguments& arguments) {
  const bench::MeasureOptions options = measure_options(arguments);
  if (gpu_count() == 0) {
    throw InvalidArgument("bench needs a GPU: the time of an emulated kernel says nothing; see lapidary device");
  }
  const std::unique_ptr<Device> device = open_gpu();
  const std::vector<bench::Entry> chosen = entries(arguments, *device);
  std::optional<OutputFile> output;
  if (!arguments.output.empty()) output.emplace(arguments.output);

  bench::LadderReport report;
  {
    report::Progress progress;
    report = bench::measure_ladder(*device, chosen, options,
                                   [&](std::string_view step, double done) { progress.update(step, done); });
  }
  if (output) output->write(report_json(report).dump(2) + "\n");
  const ExitCode code = report.wrong.empty() ? success : wrong_result;
  if (arguments.json) {
    print(report_json(report));
    return code;
  }
  fmt::print("M = N = K, random normal data, on {}; the median, min and max of rounds\n\n{}\n", title_of(*device),
             to_table(report.results).render(report::wants_colour(stdout)));
  if (report.receipt["peer"].is_null()) fmt::print("this program was built without cuBLAS to compare with\n");
  for (const std::string& line : report.wrong) fmt::print("WRONG  {}\n", line);
  return code;
}

}  // namespace

Command add_bench(CLI::App& program) {
  CLI::App* app = program.add_subcommand("bench", "time kernels on a GPU in turns with cuBLAS, with a receipt");
  const auto a = std::make_shared<Arguments>();
  app->add_option("KERNEL", a->kernels, "names that `lapidary list` shows; all kernels");
  app->add_option("--size", a->sizes, "M = N = K, may be given several times; 4096")
      ->check(whole_number(1))
      ->allow_extra_args(false);
  app->add_option(
         "--type", a->types,
         "types as `lapidary list` shows them, as in f32, bf16/f32, 'bf16 RC', may be given several times; each "
         "kernel's first one")
      ->allow_extra_args(false);
  app->add_option("--mode", a->mode,
                  "burst (a cold card, after a rest), sustained (a warm one, launches without a pause) or both; both");
  app->add_option("--seconds", a->seconds, "of sustained launches of each kernel; 2")->check(CLI::Range(0.1, 600.0));
  app->add_option("--rounds", a->rounds, "of bursts; 3")->check(CLI::Range(1, 1000));
  app->add_flag("--all-tiles", a->all_tiles, "every tile of a kernel; its first one");
  app->add_option("-o,--output", a->output, "write results and receipt to this file as JSON");
  app->add_flag("--json", a->json, "print JSON");
  return {app, [a] { return measure(*a); }};
}

}  // namespace lapidary::cli
