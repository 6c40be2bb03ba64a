#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/json.hpp"
#include "cli/options.hpp"
#include "cli/picture.hpp"
#include "cli/type_names.hpp"
#include "core/error.hpp"
#include "lens/raster_comparison.hpp"
#include "model/l2_traffic.hpp"
#include "pages/raster_picture.hpp"
#include "report/table.hpp"
#include "report/text.hpp"

namespace lapidary::cli {
namespace {

using lens::RasterEntry;

struct RasterArguments {
  std::int64_t m = 8192, n = 8192, k = 8192;
  std::optional<std::string> kernel, tile, type;
  float beta = 0;
  std::optional<int> blocks_per_sm;
  std::optional<int> cluster;
  bool there_and_back = false;
  std::vector<std::string> orders;
  GpuChoice gpu;
  PictureFiles picture;
  bool json = false;
};

Json to_json(const RasterEntry& entry) {
  return {{"order", entry.name},
          {"l2_to_sm_bytes", entry.traffic.l2_to_sm_bytes},
          {"l2_read_bytes", entry.traffic.l2_read_bytes},
          {"dram_read_bytes", entry.traffic.dram_read_bytes},
          {"dram_write_bytes", entry.traffic.dram_write_bytes},
          {"hit_rate", entry.traffic.l2_to_sm_hit_rate}};
}

report::Table table_of(const std::vector<RasterEntry>& entries, double compulsory, const model::Gpu& gpu) {
  using report::Column;
  report::Table table({{"order"},
                       {"L2 to SMs", Column::number, "GB"},
                       {"L2 read", Column::number, "GB"},
                       {"DRAM read", Column::number, "GB"},
                       {"written", Column::number, "GB"},
                       {"compulsory", Column::number, "DRAM is"},
                       {"hit rate", Column::number},
                       {"ms of DRAM", Column::number}});
  const auto least = std::min_element(entries.begin(), entries.end(), [](const RasterEntry& a, const RasterEntry& b) {
    return a.traffic.dram_bytes() < b.traffic.dram_bytes();
  });
  for (const RasterEntry& entry : entries) {
    const model::RasterTraffic& t = entry.traffic;
    const bool best = entries.size() > 1 && t.dram_bytes() == least->traffic.dram_bytes();
    table.add_row({{entry.name, best ? report::Style::good : report::Style::plain},
                   {fmt::format("{:.2f}", t.l2_to_sm_bytes * 1e-9)},
                   {fmt::format("{:.2f}", t.l2_read_bytes * 1e-9)},
                   {fmt::format("{:.2f}", t.dram_read_bytes * 1e-9), best ? report::Style::good : report::Style::plain},
                   {fmt::format("{:.2f}", t.dram_write_bytes * 1e-9)},
                   {fmt::format("x {:.1f}", t.dram_bytes() / compulsory)},
                   {fmt::format("{:.1f} %", 100 * t.l2_to_sm_hit_rate)},
                   {fmt::format("{:.3f}", t.dram_bytes() / gpu.dram_bytes_per_s * 1e3)}});
  }
  return table;
}

/// The grid of tiles with the first wave and the second one in it; empty if it is too large for a page.
std::string map_of(std::int64_t down, std::int64_t across, std::vector<RowCol<int>> order, std::int64_t per_wave) {
  constexpr std::int64_t most_rows = 64;
  if (across > report::page_width || down > most_rows) return {};
  std::vector<std::string> lines(static_cast<std::size_t>(down), std::string(static_cast<std::size_t>(across), '.'));
  std::erase(order, model::no_tile);
  for (std::size_t i = 0; i < order.size() && i < static_cast<std::size_t>(2 * per_wave); ++i) {
    const RowCol<int>& at = order[i];
    lines[static_cast<std::size_t>(at.row)][static_cast<std::size_t>(at.col)] = i < static_cast<std::size_t>(per_wave)
                                                                                    ? '1'
                                                                                    : '2';
  }
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

/// Of operands and results alike, without a kernel. @throws InvalidArgument naming those there are
Type parse_element(std::string_view text) {
  const std::string_view name = known_type_name(text);
  for (const Type type : {Type::f32, Type::f16, Type::bf16})
    if (name == name_of(type)) return type;
  throw InvalidArgument(
      fmt::format("--type {}: operands and results are f32, f16 or bf16; a kernel's other types need --kernel", text));
}

/// Of a kernel whose blocks stay --blocks-per-sm would change nothing. @throws InvalidArgument if it was given
void require_blocks_per_sm_counts(const RasterArguments& arguments, const lens::RasterComparison& comparison) {
  const std::int64_t per_wave = comparison.waves.per_wave;
  if (arguments.blocks_per_sm && per_wave != std::int64_t{comparison.gpu.sms} * *arguments.blocks_per_sm)
    throw InvalidArgument(
        fmt::format("the blocks of {} stay, and its grid of {} decides how many tiles are under way, not "
                    "--blocks-per-sm; leave it out",
                    *arguments.kernel, per_wave));
}

ExitCode raster(const RasterArguments& arguments) {
  const model::Gpu gpu = chosen_gpu(arguments.gpu);
  lens::RasterQuestion question{gpu, {arguments.m, arguments.n, arguments.k}, {}, arguments.blocks_per_sm};
  std::string type = arguments.type.value_or("f32"), tile = arguments.tile.value_or("128x128x8");
  model::GemmShape& gemm = question.gemm;
  gemm.reads_c = arguments.beta != 0;
  if (arguments.kernel) {
    const Rung& rung = find_rung(*arguments.kernel);
    const GemmKind kind = arguments.type ? parse_kind(type) : rung.kernels.front().kind;
    question.kernel = &rung.kernel(kind, arguments.tile.value_or(""));
    type = to_string(kind);
    tile = to_string(question.kernel->tile);
    question.tile = question.kernel->tile;
    gemm.operand_bytes = size_of(kind.type);
    gemm.result_bytes = size_of(kind.result);
  } else {
    question.tile = parse_tile(tile);
    const Type element = parse_element(type);
    type = name_of(element);
    gemm.operand_bytes = gemm.result_bytes = size_of(element);
  }
  question.cluster = arguments.cluster;
  question.there_and_back = arguments.there_and_back;
  for (const std::string& order : arguments.orders) question.orders.push_back(model::parse_raster(order));
  const lens::RasterComparison comparison = lens::compare_rasters(question);
  require_blocks_per_sm_counts(arguments, comparison);
  const auto& waves = comparison.waves;
  const auto& entries = comparison.entries;
  const std::int64_t down = comparison.down, across = comparison.across;
  const double compulsory = comparison.compulsory_bytes;
  if (arguments.picture.wanted()) write(pages::raster_picture(comparison), arguments.picture);
  if (arguments.json) {
    Json list = Json::array();
    for (const RasterEntry& entry : entries) list.push_back(to_json(entry));
    print({{"gpu", gpu.name},
           {"m", gemm.M},
           {"n", gemm.N},
           {"k", gemm.K},
           {"type", type},
           {"tile", tile},
           {"cluster", comparison.cluster},
           {"tiles", down * across},
           {"blocks_per_wave", waves.per_wave},
           {"waves", waves.count},
           {"last_wave", waves.last},
           {"wave_efficiency", waves.efficiency},
           {"compulsory_bytes", compulsory},
           {"orders", list}});
    return success;
  }
  fmt::print("{} x {} x {} in {}, {} x {} tiles of {}, on {} with {}\n", gemm.M, gemm.N, gemm.K, type, down, across,
             tile, gpu.name, gpu.l2_text());
  // Blocks that stay are no more than as few rounds need.
  const double of_card = waves.efficiency * static_cast<double>(waves.per_wave) / gpu.sms;
  fmt::print("{} tiles, {} at a time: {} waves, the last one {} full, {} of all time used{}\n\n", down * across,
             waves.per_wave, waves.count, report::counted_percent(waves.last),
             report::counted_percent(waves.efficiency),
             waves.per_wave < gpu.sms
                 ? fmt::format(", of that of all {} multiprocessors {}", gpu.sms, report::counted_percent(of_card))
                 : "");
  fmt::print("{}", table_of(entries, compulsory, gpu).render(report::wants_colour(stdout)));
  if (entries.size() == 1) {
    const std::string map = map_of(down, across, entries.front().order, waves.per_wave);
    if (!map.empty()) fmt::print("\nthe tiles of the first two waves\n\n{}", map);
  }
  fmt::print(
      "\n{}",
      report::paragraph(
          "Simulated: one LRU cache, as large as one of L2's partitions, of which each keeps copies of what "
          "its multiprocessors read; blocks in lockstep along K. Blocks that drift apart are not; compare orders "
          "by it, not cards.",
          report::page_width));
  return success;
}

}  // namespace

Command add_raster(App program) {
  App app = program.add_subcommand("raster", "the order in which tiles are visited, and what L2 and DRAM make of it");
  const auto a = std::make_shared<RasterArguments>();
  app.add_option("-m", a->m, "rows of A and D (8192)").check(whole_number(1, most_predicted_size));
  app.add_option("-n", a->n, "columns of B and D (8192)").check(whole_number(1, most_predicted_size));
  app.add_option("-k", a->k, "columns of A, rows of B (8192)").check(whole_number(1, most_predicted_size));
  app.add_option("--kernel", a->kernel, "a name that `lapidary list` shows: its own order too, and its tile and type")
      .type_name("KERNEL");
  app.add_option("--tile", a->tile, "block tile, as in 128x128 or 128x128x8 (128x128x8, or the kernel's first one)")
      .type_name("TILE");
  app.add_option("--type", a->type, "f32, f16 or bf16 (f32), or one of the kernel's (its first one)").type_name("TYPE");
  app.add_option("--beta", a->beta, "C is read unless it is 0 (0)").check(finite_number());
  app.add_option(
         "--blocks-per-sm", a->blocks_per_sm,
         "blocks that an SM holds (as many as it has room for of the kernel's, or 1); not of a kernel whose blocks "
         "stay, as its grid decides")
      .check(in_range(1, 64));
  app.add_option("--cluster", a->cluster,
                 "blocks that get what they share by multicast, neighbours in the order (1, or the kernel's)")
      .check(in_range(1, 16));
  app.add_flag("--there-and-back", a->there_and_back, "every other wave walks K backwards");
  app.add_list("--order", a->orders,
               "rows, columns, grouped:N (N tile rows at a time, column by column) or hilbert; several, separated by "
               "commas (a choice of all). One alone is drawn")
      .type_name("ORDER");
  add_gpu_options(app, a->gpu);
  add_picture_options(app, a->picture);
  app.add_flag("--json", a->json, "print JSON");
  return {app, [a] { return raster(*a); }};
}

}  // namespace lapidary::cli
