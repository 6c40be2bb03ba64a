#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/timing.hpp"
#include "bench/tuning.hpp"
#include "cli/command.hpp"
#include "cli/json.hpp"
#include "cli/measurements.hpp"
#include "cli/options.hpp"
#include "core/error.hpp"
#include "device/device.hpp"
#include "lens/explain.hpp"
#include "report/progress.hpp"
#include "report/table.hpp"

namespace lapidary::cli {
namespace {

struct TuneArguments {
  std::vector<std::int64_t> sizes;
  std::vector<std::string> types;
  int keep = 4;
  double seconds = 1;
  std::string output;
  bool json = false;
};

/// A kernel's tile for a problem, and the rate that the lens expects of it at the power limit.
struct Candidate {
  bench::Entry entry;
  std::optional<double> predicted_tflops;
};

/// Of a cube at the power limit, where that is known; in the line through two short sums, for long ones take the lens
/// as long as they are.
std::optional<double> predicted_tflops(const Rung& rung, const KernelEntry& kernel, std::int64_t size,
                                       const model::Gpu& gpu) {
  const auto seconds = [&](std::int64_t K) -> std::optional<double> {
    const lens::Explanation e = lens::explain(
        {&rung, &kernel, {.kind = kernel.kind, .M = size, .N = size, .K = K}, gpu});
    if (!e.time) return std::nullopt;
    return e.power ? e.power->sustained.seconds : e.time->seconds;
  };
  // Long enough for products to take longer than D's way to memory.
  const std::int64_t shorter = std::min<std::int64_t>(size, 1024), longer = std::min<std::int64_t>(size, 2048);
  const std::optional<double> first = seconds(shorter);
  const std::optional<double> second = first && longer > shorter ? seconds(longer) : first;
  if (!second) return std::nullopt;
  double whole = *second;
  if (longer > shorter)
    whole += (*second - *first) * static_cast<double>(size - longer) / static_cast<double>(longer - shorter);
  return bench::tflops(size, size, size, whole * 1e3);
}

/// All kernels for a kind that run on the card, those first of which the lens expects most, and last those of which it
/// expects nothing.
std::vector<Candidate> ranked(const GemmKind& kind, std::int64_t size, const model::Gpu& gpu) {
  std::vector<Candidate> all;
  for (const Rung& rung : ladder()) {
    if (!rung.runs_on(gpu.compute_capability, kind)) continue;
    for (const KernelEntry& kernel : rung.kernels) {
      if (kernel.kind != kind) continue;
      all.push_back({{&rung, &kernel}, predicted_tflops(rung, kernel, size, gpu)});
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    return a.predicted_tflops.value_or(0) > b.predicted_tflops.value_or(0);
  });
  return all;
}

report::Table to_table(const Json& document, const std::vector<std::string>& dates) {
  using report::Column;
  report::Table table({{"type"},
                       {"size", Column::number},
                       {"mode"},
                       {"kernel"},
                       {"tile"},
                       {"predicted", Column::number, "TFLOP/s"},
                       {"median", Column::number, "TFLOP/s"},
                       {"cuBLAS", Column::number, "TFLOP/s"},
                       {"share", Column::number}});
  const auto rate = [](const Json& value) { return value.is_null() ? "" : fmt::format("{:.1f}", value.get<double>()); };
  for (const Json& m : document["measured"]) {
    if (std::find(dates.begin(), dates.end(), m["receipt"].get<std::string>()) == dates.end()) continue;
    const Json cublas = m["cublas_tflops"].is_null() ? Json() : m["cublas_tflops"]["median"];
    const double median = m["tflops"]["median"];
    table.add_row({{m["type"].get<std::string>()},
                   {fmt::format("{}", m["size"].get<std::int64_t>())},
                   {m["mode"].get<std::string>()},
                   {m["kernel"].get<std::string>()},
                   {m["tile"].get<std::string>()},
                   {rate(m["predicted_tflops"])},
                   {rate(m["tflops"]["median"])},
                   {rate(cublas)},
                   {cublas.is_null() ? "" : fmt::format("{:.1f} %", 100 * median / cublas.get<double>())}});
  }
  return table;
}

ExitCode tune(const TuneArguments& arguments) {
  if (gpu_count() == 0)
    throw InvalidArgument("tune needs a GPU: it measures what the lens expects most of; see lapidary device");
  const std::unique_ptr<Device> device = open_gpu();
  const model::Gpu gpu = chosen_gpu({});
  bench::TuningRecord record(arguments.output);
  std::optional<OutputFile> output;
  if (!arguments.output.empty()) output.emplace(arguments.output);
  std::vector<std::string> types = arguments.types, dates, wrong, left_out;
  if (types.empty()) types = {"bf16 RC"};
  std::vector<std::int64_t> sizes = arguments.sizes;
  if (sizes.empty()) sizes = {default_size(DeviceKind::gpu)};
  {
    report::Progress progress;
    for (const std::string& type : types)
      for (const std::int64_t size : sizes) {
        progress.update(fmt::format("{}, {}^3: predicting", type, size), -1);
        std::vector<Candidate> candidates = ranked(parse_kind(type), size, gpu);
        if (candidates.empty()) throw InvalidArgument(fmt::format("no kernel takes {}; see lapidary list", type));
        candidates.resize(std::min(candidates.size(), static_cast<std::size_t>(arguments.keep)));
        std::vector<bench::Entry> entries;
        for (const Candidate& candidate : candidates) entries.push_back(candidate.entry);
        const bench::Task task{{.M = size, .N = size, .K = size}, entries};
        bench::MeasureOptions options{.burst = bench::BurstOptions(), .sustained = bench::SustainedOptions()};
        options.sustained->seconds = arguments.seconds;
        const bench::LadderReport report = bench::measure_ladder(
            *device, {&task, 1}, options, [&](std::string_view step, double done) { progress.update(step, done); });
        if (report.results.empty() && !report.left_out.empty()) throw InvalidArgument(report.left_out.front().why);
        for (const bench::LeftOut& one : report.left_out)
          left_out.push_back(fmt::format("{}, {}, {}: {}", one.kernel, to_string(one.kind), size, one.why));
        wrong.insert(wrong.end(), report.wrong.begin(), report.wrong.end());
        record.add_receipt(report.receipt);
        dates.push_back(report.receipt["date"]);
        for (const bench::LadderMeasurement& result : report.results) {
          const auto of = std::find_if(candidates.begin(), candidates.end(), [&](const Candidate& candidate) {
            return candidate.entry.kernel == result.entry.kernel;
          });
          Json one = measured_json(result);
          one.erase("idea");
          one["predicted_tflops"] = of->predicted_tflops ? Json(*of->predicted_tflops) : Json();
          one["receipt"] = report.receipt["date"];
          if (result.entry.kernel->fast_accumulation) one["fast_accumulation"] = true;
          record.add_measurement(std::move(one));
        }
      }
  }
  const Json document = record.document();
  if (output) output->write(text_of(document, 1) + "\n");
  if (arguments.json)
    print(document);
  else
    fmt::print("{}\n", to_table(document, dates).render(report::wants_colour(stdout)));
  for (const std::string& line : left_out) fmt::print(stderr, "left out  {}\n", line);
  for (const std::string& line : wrong) fmt::print(stderr, "WRONG  {}\n", line);
  return wrong.empty() ? success : wrong_result;
}

}  // namespace

Command add_tune(App program) {
  App app = program.add_subcommand("tune", "measure the tiles that the lens expects most of, and keep the best");
  const auto a = std::make_shared<TuneArguments>();
  app.add_option("--type", a->types, "as `lapidary list` shows them, may be given several times; 'bf16 RC'")
      .allow_extra_args(false);
  app.add_option("--size", a->sizes, "M = N = K, may be given several times; 4096")
      .check(whole_number(1))
      .allow_extra_args(false);
  app.add_option("--keep", a->keep, "how many of a type and size to measure; 4").check(in_range(1, 100));
  app.add_option("--seconds", a->seconds, "of sustained launches of each; 1").check(in_range(0.1, 600.0));
  app.add_option("-o,--output", a->output, "add to this file what was learned, as JSON");
  app.add_flag("--json", a->json, "print JSON");
  return {app, [a] { return tune(*a); }};
}

}  // namespace lapidary::cli
