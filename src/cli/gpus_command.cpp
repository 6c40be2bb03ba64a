#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/json.hpp"
#include "cli/options.hpp"
#include "model/gpu.hpp"
#include "model/roofline.hpp"
#include "report/table.hpp"

namespace lapidary::cli {
namespace {

struct GpusArguments {
  std::string name, file;
  bool json = false;
};

Json json_of(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json to_json(const model::Gpu& gpu) {
  const model::Ceilings ceilings = model::ceilings(gpu);
  return {{"name", gpu.name},
          {"results", gpu.results_folder()},
          {"aliases", gpu.aliases},
          {"compute_capability", gpu.compute_capability},
          {"sms", gpu.sms},
          {"clock_hz", gpu.clock_hz},
          {"f32_flops", ceilings.f32_flops},
          {"published_f16_flops", json_of(gpu.published_f16_flops)},
          {"shared_bytes_per_s", ceilings.shared_bytes_per_s},
          {"l2_bytes_per_s", json_of(ceilings.l2_bytes_per_s)},
          {"dram_bytes_per_s", gpu.dram_bytes_per_s},
          {"dram_read_measured_bytes_per_s", json_of(gpu.dram_read_measured_bytes_per_s)},
          {"l2_bytes", gpu.l2_bytes},
          {"l2_partitions", gpu.l2_partitions},
          {"dram_bytes", gpu.dram_bytes},
          {"shared_bytes_per_sm", gpu.shared_bytes_per_sm},
          {"shared_bytes_per_block", gpu.shared_bytes_per_block},
          {"registers_per_sm", gpu.registers_per_sm},
          {"max_warps_per_sm", gpu.max_warps_per_sm},
          {"max_blocks_per_sm", gpu.max_blocks_per_sm},
          {"power_limit_w", gpu.power_limit_w},
          {"uncertain", gpu.uncertain},
          {"note", gpu.note},
          {"source", gpu.source}};
}

/// A figure that is not certain has a question mark behind it.
std::string marked(const model::Gpu& gpu, const char* column, const std::string& figure) {
  return figure + (gpu.is_uncertain(column) ? "?" : "");
}

std::string in_tera(const std::optional<double>& value, int digits) {
  return value ? fmt::format("{:.{}f}", *value * 1e-12, digits) : "-";
}

report::Table table_of(const std::vector<model::Gpu>& gpus) {
  using report::Column;
  report::Table table({{"name"},
                       {"sm", Column::number},
                       {"SMs", Column::number},
                       {"MHz", Column::number},
                       {"f32", Column::number, "TFLOP/s"},
                       {"f16 tensor", Column::number, "TFLOP/s"},
                       {"DRAM", Column::number, "TB/s"},
                       {"L2", Column::number, "TB/s"},
                       {"shared", Column::number, "TB/s"},
                       {"L2 MiB", Column::number},
                       {"shared KiB", Column::number, "an SM"},
                       {"warps", Column::number, "an SM"}});
  for (const model::Gpu& gpu : gpus) {
    const model::Ceilings ceilings = model::ceilings(gpu);
    table.add_row({{gpu.name, report::Style::heading},
                   {fmt::format("{}", gpu.compute_capability)},
                   {marked(gpu, "sm_count", fmt::format("{}", gpu.sms))},
                   {marked(gpu, "boost_clock_mhz", fmt::format("{:.0f}", gpu.clock_hz * 1e-6))},
                   {marked(gpu, "fp32_lanes_per_sm", in_tera(ceilings.f32_flops, 1))},
                   {marked(gpu, "peak_f16_f32acc_tflops", in_tera(gpu.published_f16_flops, 0))},
                   {marked(gpu, "dram_gb_per_s", in_tera(ceilings.dram_bytes_per_s, 2))},
                   {in_tera(ceilings.l2_bytes_per_s, 1)},
                   {marked(gpu, "smem_bytes_per_clk_sm", in_tera(ceilings.shared_bytes_per_s, 1))},
                   {marked(gpu, "l2_mib", fmt::format("{:g}", static_cast<double>(gpu.l2_bytes) / (1 << 20)))},
                   {fmt::format("{}", gpu.shared_bytes_per_sm / 1024)},
                   {fmt::format("{}", gpu.max_warps_per_sm)}});
  }
  return table;
}

ExitCode gpus(const GpusArguments& arguments) {
  std::vector<model::Gpu> gpus = model::load_gpus(arguments.file);
  if (!arguments.name.empty()) gpus = {model::find_gpu(gpus, arguments.name)};
  if (arguments.json) {
    Json list = Json::array();
    for (const model::Gpu& gpu : gpus) list.push_back(to_json(gpu));
    print({{"gpus", list}});
    return success;
  }
  fmt::print("{}", table_of(gpus).render(report::wants_colour(stdout)));
  if (arguments.name.empty()) {
    fmt::print("\n{}", report::paragraph("Rates at the highest clock, f16 as published; L2 as measured where it was, "
                                         "otherwise by its width, and - where neither is known; ? behind what no "
                                         "source states. lapidary gpus NAME tells the sources.",
                                         report::page_width));
    return success;
  }
  const model::Gpu& gpu = gpus.front();
  fmt::print("\n");
  if (!gpu.note.empty()) fmt::print("{}", report::paragraph("note: " + gpu.note, report::page_width));
  fmt::print("{}", report::paragraph("source: " + gpu.source, report::page_width));
  return success;
}

}  // namespace

Command add_gpus(App program) {
  App app = program.add_subcommand("gpus", "the GPUs that predictions can be made for");
  const auto a = std::make_shared<GpusArguments>();
  app.add_option("NAME", a->name, "one of them, with its sources").type_name("");
  app.add_option("--gpu-file", a->file, "a table of your own, as docs/gpus.md tells; LAPIDARY_GPUS names one, too")
      .type_name("FILE");
  app.add_flag("--json", a->json, "print JSON");
  return {app, [a] { return gpus(*a); }};
}

}  // namespace lapidary::cli
