#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/json.hpp"
#include "cli/options.hpp"
#include "cli/picture.hpp"
#include "lens/ladder_roofline.hpp"
#include "pages/roofline_picture.hpp"
#include "report/table.hpp"

namespace lapidary::cli {
namespace {

using lens::RooflineEntry;

struct RooflineArguments {
  std::int64_t size = 4096;
  GpuChoice gpu;
  std::string mode = "burst";
  PictureFiles picture;
  bool json = false;
};

Json json_of(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json to_json(const RooflineEntry& entry) {
  return {{"kernel", entry.rung->name()},
          {"id", entry.kernel->id()},
          {"type", to_string(entry.kernel->kind)},
          {"tile", to_string(entry.kernel->tile)},
          {"dram_flop_per_byte", entry.dram_intensity},
          {"l2_flop_per_byte", json_of(entry.l2_intensity)},
          {"l1_flop_per_byte", json_of(entry.l1_intensity)},
          {"peak_flops", entry.peak},
          {"peak", entry.peak_is},
          {"roof_flops", entry.roof},
          {"roof", entry.roof_is},
          {"measured_flops", json_of(entry.measured)}};
}

/// The ceilings of what kernels multiply with, each once, the lowest first: that of CUDA cores and those of tensor
/// cores.
std::vector<std::pair<double, std::string>> peaks_of(const lens::Roofline& roofline) {
  std::set<std::pair<double, std::string>> peaks;
  for (const RooflineEntry& entry : roofline.entries)
    if (entry.peak_is != "f32") peaks.emplace(entry.peak, entry.peak_is);
  return {peaks.begin(), peaks.end()};
}

report::Table ceilings_table(const lens::Roofline& roofline) {
  const model::Ceilings& ceilings = roofline.ceilings;
  using report::Column;
  report::Table table({{"ceiling"}, {"rate", Column::number}, {"FLOP/B to reach f32", Column::number}});
  table.add_row({{"f32, CUDA cores"}, {fmt::format("{:.1f} TFLOP/s", ceilings.f32_flops * 1e-12)}});
  for (const auto& [rate, name] : peaks_of(roofline))
    table.add_row({{name + ", tensor cores"}, {fmt::format("{:.1f} TFLOP/s", rate * 1e-12)}});
  const auto bandwidth = [&](const char* name, const std::optional<double>& rate) {
    if (!rate) return table.add_row({{name}, {"not known"}});
    table.add_row(
        {{name}, {fmt::format("{:.2f} TB/s", *rate * 1e-12)}, {fmt::format("{:.1f}", ceilings.f32_flops / *rate)}});
  };
  bandwidth("L1 and shared memory", ceilings.shared_bytes_per_s);
  bandwidth("L2 to SMs", ceilings.l2_bytes_per_s);
  bandwidth("DRAM", ceilings.dram_bytes_per_s);
  return table;
}

report::Table entries_table(const std::vector<RooflineEntry>& entries) {
  using report::Column;
  constexpr int bar_width = 8;
  report::Table table({{"kernel"},
                       {"type"},
                       {"tile"},
                       {"DRAM", Column::number, "FLOP/B"},
                       {"L2", Column::number, "FLOP/B"},
                       {"L1", Column::number, "FLOP/B"},
                       {"roof", Column::number, "TFLOP/s"},
                       {"measured", Column::number, "TFLOP/s"},
                       {"roof is"},
                       {"share", Column::number},
                       {""}});
  for (const RooflineEntry& e : entries) {
    const double share = e.measured ? *e.measured / e.roof : 0;
    const int bar = std::clamp(static_cast<int>(share * bar_width + 0.5), 0, bar_width);
    table.add_row({{std::string(e.rung->name())},
                   {to_string(e.kernel->kind)},
                   {to_string(e.kernel->tile)},
                   {fmt::format("{:.0f}", e.dram_intensity)},
                   {e.l2_intensity ? fmt::format("{:.1f}", *e.l2_intensity) : "-"},
                   {e.l1_intensity ? fmt::format("{:.3g}", *e.l1_intensity) : "-"},
                   {fmt::format("{:.1f}", e.roof * 1e-12)},
                   {e.measured ? fmt::format("{:.1f}", *e.measured * 1e-12) : "-"},
                   {e.roof_is},
                   {e.measured ? fmt::format("{:.0f} %", 100 * share) : "-"},
                   {e.measured ? std::string(static_cast<std::size_t>(bar), '#') : ""}});
  }
  return table;
}

ExitCode roofline(const RooflineArguments& arguments) {
  const lens::Roofline roofline = lens::roofline(chosen_gpu(arguments.gpu), arguments.size, arguments.mode);
  const auto& [gpu, ceilings, size, mode, entries] = roofline;
  if (arguments.picture.wanted()) write(pages::roofline_picture(roofline), arguments.picture);
  if (arguments.json) {
    Json rungs = Json::array();
    for (const RooflineEntry& entry : entries) rungs.push_back(to_json(entry));
    print({{"gpu", gpu.name},
           {"size", size},
           {"mode", mode},
           {"ceilings",
            {{"f32_flops", ceilings.f32_flops},
             {"shared_bytes_per_s", ceilings.shared_bytes_per_s},
             {"l2_bytes_per_s", json_of(ceilings.l2_bytes_per_s)},
             {"dram_bytes_per_s", ceilings.dram_bytes_per_s}}},
           {"rungs", rungs}});
    return success;
  }
  const bool colour = report::wants_colour(stdout);
  fmt::print("M = N = K = {}, beta = 0, on {} at {:.0f} MHz\n\n{}\n{}\n", size, gpu.name, gpu.clock_hz * 1e-6,
             ceilings_table(roofline).render(colour), entries_table(entries).render(colour));
  const bool any = std::any_of(entries.begin(), entries.end(),
                               [](const RooflineEntry& e) { return e.measured.has_value(); });
  fmt::print(
      "{}",
      report::paragraph(
          "The roof is the lowest of: the peak of the cores that multiply; DRAM by its FLOP for each byte that must cross it once; L2 by its "
          "FLOP for each byte that the block tile makes the SMs read; L1, which is also shared memory, by its FLOP for "
          "each byte of the lines and wavefronts that the kernel makes it pass, 128 bytes each. Left out are kernels "
          "that multiply with what the card lacks or at a rate that no source states, and tiles that were not measured on it but for each kernel's first. " +
              (any ? fmt::format("Measured is a {}, from results/.", mode)
                   : std::string("results/ has no rate of this size and mode on this card.")),
          report::page_width));
  return success;
}

}  // namespace

Command add_roofline(App program) {
  App app = program.add_subcommand("roofline", "the ladder below a GPU's ceilings, with what was measured");
  const auto a = std::make_shared<RooflineArguments>();
  app.add_option("--size", a->size, "M = N = K (4096)").check(whole_number(1, most_predicted_size));
  add_gpu_options(app, a->gpu);
  app.add_option("--mode", a->mode, "which measurement: burst or sustained (burst)")
      .check(one_of({"burst", "sustained"}))
      .type_name("MODE");
  add_picture_options(app, a->picture);
  app.add_flag("--json", a->json, "print JSON");
  return {app, [a] { return roofline(*a); }};
}

}  // namespace lapidary::cli
