#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/json.hpp"
#include "cli/options.hpp"
#include "cli/picture.hpp"
#include "kernels/registry.hpp"
#include "lens/block_accesses.hpp"
#include "lens/rung_record.hpp"
#include "lens/tile_share.hpp"
#include "model/traffic.hpp"
#include "pages/tile_picture.hpp"
#include "report/table.hpp"

namespace lapidary::cli {
namespace {

using lens::Share;

struct TilesArguments {
  std::string kernel, tile;
  std::optional<std::string> type;
  int thread = 0;
  PictureFiles picture;
  bool json = false;
};

Json ranges_json(const std::vector<lens::Range>& ranges) {
  Json list = Json::array();
  for (const lens::Range& r : ranges) list.push_back({r.first, r.last});
  return list;
}

Json to_json(const Share& share) {
  return {{"results", share.results}, {"rows", ranges_json(share.rows)}, {"cols", ranges_json(share.cols)}};
}

void add_row(report::Table& table, const std::string& who, const Share& share) {
  table.add_row({{who},
                 {static_cast<std::uint64_t>(share.results)},
                 {fmt::format("{}", share.row_count)},
                 {fmt::format("{}", share.col_count)},
                 {fmt::format("{:.2f}", model::fma_per_load(share.row_count, share.col_count))},
                 {to_string(share.rows)},
                 {to_string(share.cols)}});
}

ExitCode tiles(const TilesArguments& a) {
  const Rung& rung = lens::known_rung(a.kernel);
  const GemmKind kind = a.type ? parse_kind(*a.type) : rung.kernels.front().kind;
  const KernelEntry& kernel = rung.kernel(kind, a.tile);
  const bool first = &kernel == &rung.kernels.front();
  const lens::TileOwners owners = first ? lens::owners_of(rung) : lens::tile_owners(kernel);
  const Share thread = lens::share_of_thread(owners, a.thread), warp = lens::share_of_warp(owners, a.thread / 32);
  const std::string title = fmt::format("{} {} in {}", rung.name(), to_string(kernel.tile), to_string(kind));
  if (a.picture.wanted()) write(pages::tile_picture(title, owners, a.thread), a.picture);
  if (a.json) {
    print({{"kernel", rung.name()},
           {"id", kernel.id()},
           {"type", to_string(kind)},
           {"tile", to_string(kernel.tile)},
           {"threads", owners.threads},
           {"warps", owners.warps()},
           {"thread", a.thread},
           {"thread_has", to_json(thread)},
           {"warp", a.thread / 32},
           {"warp_has", to_json(warp)}});
    return success;
  }
  using report::Column;
  report::Table table({{"of the tile of D"},
                       {"results", Column::number},
                       {"rows", Column::number},
                       {"columns", Column::number},
                       {"FMA a load", Column::number},
                       {"rows", Column::wrapped},
                       {"columns", Column::wrapped}});
  const TileShape& tile = kernel.tile;
  add_row(table, "block", {{{0, tile.m - 1}}, {{0, tile.n - 1}}, tile.m, tile.n, tile.m * tile.n});
  add_row(table, fmt::format("warp {} of {}", a.thread / 32, owners.warps()), warp);
  add_row(table, fmt::format("thread {} of {}", a.thread, owners.threads), thread);
  fmt::print("{}\n\n{}\n{}", title, table.render(report::wants_colour(stdout)),
             report::paragraph("FMA a load: multiply-adds for each element of A and B, if each is read once for all of "
                               "the results. Seen on the emulated machine: who stores which element.",
                               report::page_width));
  return success;
}

}  // namespace

Command add_tiles(App program) {
  App app = program.add_subcommand("tiles", "the block, warp and thread tiles of a kernel, with one thread marked");
  const auto a = std::make_shared<TilesArguments>();
  app.add_option("KERNEL", a->kernel, "its name; see lapidary list").required();
  app.add_option("--tile", a->tile, "which tile of the kernel (its first one)").type_name("TILE");
  add_type_option(app, a->type);
  app.add_option("--thread", a->thread, "the thread that is marked (0)").check(in_range(0, 1023));
  add_picture_options(app, a->picture);
  app.add_flag("--json", a->json, "print JSON");
  return {app, [a] { return tiles(*a); }};
}

}  // namespace lapidary::cli
