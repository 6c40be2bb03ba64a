#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/json.hpp"
#include "cli/options.hpp"
#include "kernels/registry.hpp"
#include "model/measured.hpp"
#include "model/roofline.hpp"
#include "model/traffic.hpp"
#include "report/table.hpp"

namespace lapidary::cli {
namespace {

struct Arguments {
  std::int64_t size = 4096;
  GpuChoice gpu;
  std::string mode = "burst";
  bool json = false;
};

/// A kernel below its roof.
struct Entry {
  const Rung* rung;
  const RungVariant* variant;
  double dram_intensity;               ///< of compulsory bytes
  std::optional<double> l2_intensity;  ///< of bytes into the SMs, of kernels that stage tiles
  double roof;                         ///< FLOP/s, the lowest of the ceilings
  std::string roof_is;
  std::optional<double> shared_intensity;  ///< of wavefronts as written, where they are recorded
  std::optional<double> shared_roof;       ///< FLOP/s that shared memory allows by it
  std::optional<double> measured;
};

/// One type's problem.
model::GemmShape problem_of(const Arguments& arguments, Type type) {
  return {arguments.size, arguments.size, arguments.size, size_of(type), size_of(type)};
}

Entry entry_of(const Rung& rung, const RungVariant& variant, const Arguments& arguments,
               const model::Ceilings& ceilings, const std::vector<model::MeasuredRate>& rates) {
  const model::GemmShape gemm = problem_of(arguments, variant.type);
  const double work = model::flop(gemm);
  Entry entry{&rung, &variant, model::arithmetic_intensity(work, model::compulsory_bytes(gemm)), {}, {}, {}, {},
              {},    {}};
  // These kernels multiply on CUDA cores in f32, whatever the type of the operands.
  entry.roof = ceilings.f32_flops;
  entry.roof_is = "f32";
  const auto lower = [&](double bytes_per_s, double intensity, const char* name) {
    const double rate = model::attainable(ceilings.f32_flops, bytes_per_s, intensity);
    if (rate < entry.roof) {
      entry.roof = rate;
      entry.roof_is = name;
    }
  };
  lower(ceilings.dram_bytes_per_s, entry.dram_intensity, "DRAM");
  // Kernels without a step in k rely on L1, whose work the tile does not tell.
  if (variant.tile.k > 0) {
    entry.l2_intensity = model::arithmetic_intensity(work, model::sm_read_bytes(gemm, variant.tile));
    if (ceilings.l2_bytes_per_s) lower(*ceilings.l2_bytes_per_s, *entry.l2_intensity, "L2");
  }
  entry.shared_intensity = model::recorded_flop_per_shared_byte(std::string(rung.name()), name_of(variant.type),
                                                                to_string(variant.tile));
  if (entry.shared_intensity) {
    entry.shared_roof = model::attainable(ceilings.f32_flops, ceilings.shared_bytes_per_s, *entry.shared_intensity);
  }
  for (const model::MeasuredRate& rate : rates) {
    const bool same = rate.kernel == rung.name() && rate.type == name_of(variant.type) &&
                      rate.tile == to_string(variant.tile) && rate.size == arguments.size;
    if (same && rate.mode == arguments.mode) entry.measured = rate.flops;
  }
  return entry;
}

std::vector<Entry> entries_of(const Arguments& arguments, const model::Ceilings& ceilings,
                              const std::vector<model::MeasuredRate>& rates) {
  std::vector<Entry> entries;
  for (const Rung& rung : ladder())
    for (const RungVariant& variant : rung.variants)
      entries.push_back(entry_of(rung, variant, arguments, ceilings, rates));
  return entries;
}

Json json_of(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json to_json(const Entry& entry) {
  return {{"kernel", entry.rung->name()},
          {"type", name_of(entry.variant->type)},
          {"tile", to_string(entry.variant->tile)},
          {"dram_flop_per_byte", entry.dram_intensity},
          {"l2_flop_per_byte", json_of(entry.l2_intensity)},
          {"roof_flops", entry.roof},
          {"roof", entry.roof_is},
          {"shared_flop_per_byte", json_of(entry.shared_intensity)},
          {"shared_flops", json_of(entry.shared_roof)},
          {"measured_flops", json_of(entry.measured)}};
}

report::Table ceilings_table(const model::Ceilings& ceilings) {
  using report::Column;
  report::Table table({{"ceiling"}, {"rate", Column::number}, {"FLOP/B to reach f32", Column::number}});
  table.add_row({{"f32, CUDA cores"}, {fmt::format("{:.1f} TFLOP/s", ceilings.f32_flops * 1e-12)}});
  const auto bandwidth = [&](const char* name, const std::optional<double>& rate) {
    if (!rate) return table.add_row({{name}, {"not known"}});
    table.add_row(
        {{name}, {fmt::format("{:.2f} TB/s", *rate * 1e-12)}, {fmt::format("{:.1f}", ceilings.f32_flops / *rate)}});
  };
  bandwidth("shared memory", ceilings.shared_bytes_per_s);
  bandwidth("L2 to SMs", ceilings.l2_bytes_per_s);
  bandwidth("DRAM", ceilings.dram_bytes_per_s);
  return table;
}

report::Table entries_table(const std::vector<Entry>& entries) {
  using report::Column;
  constexpr int bar_width = 20;
  report::Table table({{"kernel"},
                       {"type"},
                       {"tile"},
                       {"DRAM", Column::number, "FLOP/B"},
                       {"L2", Column::number, "FLOP/B"},
                       {"shared", Column::number, "FLOP/B"},
                       {"shared", Column::number, "TFLOP/s"},
                       {"roof", Column::number, "TFLOP/s"},
                       {"measured", Column::number, "TFLOP/s"},
                       {"roof is"},
                       {"share", Column::number},
                       {""}});
  for (const Entry& e : entries) {
    const double share = e.measured ? *e.measured / e.roof : 0;
    const int bar = std::clamp(static_cast<int>(share * bar_width + 0.5), 0, bar_width);
    table.add_row({{std::string(e.rung->name())},
                   {name_of(e.variant->type)},
                   {to_string(e.variant->tile)},
                   {fmt::format("{:.0f}", e.dram_intensity)},
                   {e.l2_intensity ? fmt::format("{:.1f}", *e.l2_intensity) : "-"},
                   {e.shared_intensity ? fmt::format("{:.2f}", *e.shared_intensity) : "-"},
                   {e.shared_roof ? fmt::format("{:.1f}", *e.shared_roof * 1e-12) : "-"},
                   {fmt::format("{:.1f}", e.roof * 1e-12)},
                   {e.measured ? fmt::format("{:.1f}", *e.measured * 1e-12) : "-"},
                   {e.roof_is},
                   {e.measured ? fmt::format("{:.0f} %", 100 * share) : "-"},
                   {e.measured ? std::string(static_cast<std::size_t>(bar), '#') : ""}});
  }
  return table;
}

ExitCode roofline(const Arguments& arguments) {
  const model::Gpu gpu = chosen_gpu(arguments.gpu);
  const model::Ceilings ceilings = model::ceilings(gpu);
  const std::vector<Entry> entries = entries_of(arguments, ceilings, model::measured_rates(gpu));
  if (arguments.json) {
    Json rungs = Json::array();
    for (const Entry& entry : entries) rungs.push_back(to_json(entry));
    print({{"gpu", gpu.name},
           {"size", arguments.size},
           {"mode", arguments.mode},
           {"ceilings",
            {{"f32_flops", ceilings.f32_flops},
             {"shared_bytes_per_s", ceilings.shared_bytes_per_s},
             {"l2_bytes_per_s", json_of(ceilings.l2_bytes_per_s)},
             {"dram_bytes_per_s", ceilings.dram_bytes_per_s}}},
           {"rungs", rungs}});
    return success;
  }
  const bool colour = report::wants_colour(stdout);
  fmt::print("M = N = K = {}, beta = 0, on {} at {:.0f} MHz\n\n{}\n{}\n", arguments.size, gpu.name, gpu.clock_hz * 1e-6,
             ceilings_table(ceilings).render(colour), entries_table(entries).render(colour));
  const bool any = std::any_of(entries.begin(), entries.end(), [](const Entry& e) { return e.measured.has_value(); });
  fmt::print(
      "{}",
      report::paragraph(
          "The roof is the lowest of: f32; DRAM by its FLOP for each byte that must cross it once; L2 by its "
          "FLOP for each byte that the block tile makes the SMs read. Shared is what shared memory allows for the "
          "accesses as written, where results/ has their count: no roof, since the compiler merges "
          "neighbouring accesses into wider ones, but often the reason. " +
              (any ? fmt::format("Measured is a {}, from results/.", arguments.mode)
                   : std::string("results/ has no rate of this size and mode on this card.")),
          report::page_width));
  return success;
}

}  // namespace

Command add_roofline(CLI::App& program) {
  CLI::App* app = program.add_subcommand("roofline", "the ladder below a GPU's ceilings, with what was measured");
  const auto a = std::make_shared<Arguments>();
  app->add_option("--size", a->size, "M = N = K (4096)")->check(whole_number(1, most_predicted_size));
  add_gpu_options(*app, a->gpu);
  app->add_option("--mode", a->mode, "which measurement: burst or sustained (burst)")
      ->check(CLI::IsMember({"burst", "sustained"}))
      ->type_name("MODE");
  app->add_flag("--json", a->json, "print JSON");
  return {app, [a] { return roofline(*a); }};
}

}  // namespace lapidary::cli
