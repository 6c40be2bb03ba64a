#pragma once
#include "kernels/wgmma/wgmma_specialized.cuh"
#include "tile/raster.hpp"

namespace lapidary::inline LAPIDARY_BUILD::wgmma_persistent {

constexpr RungInfo info = {
    .name = "wgmma_persistent",
    .parent = "wgmma_specialized",
    .idea = "blocks stay, and take tile after tile",
    .change =
        "No more blocks than there are multiprocessors walk through the tiles of D, in groups of 16 rows; the producer "
        "goes on to the next tile while the consumers store this one",
    .why =
        "The first loads of a tile, and the launch of its block, hide behind the products and stores of the one "
        "before; tiles that are near each other in time share rows of A and columns of B in L2",
    .counter = "bytes from DRAM: by the order of the tiles; blocks: at most one a multiprocessor",
    .cost = "Tiles that do not come out even leave multiprocessors idle in the last round",
    .exercise = "`lapidary raster --kernel wgmma_persistent`: which height of a group has DRAM read the least?",
    .architecture = 90,
    .fallback = "mma_multistage",
};

/// Tile after tile, which `Tiles` has in order.
template <class Tiles>
struct TileAfterTile : Tiles {
  template <class... Sizes>
  static TileAfterTile over(const Sizes&... sizes) {
    return {Tiles::over(sizes...)};
  }
  /// No more blocks than as few rounds need: multiprocessors without a block leave their power to the others.
  template <class Cluster>
  int grid(int multiprocessors) const {
    const int rounds = ceil_div(this->tiles(), multiprocessors / Cluster::blocks);
    return ceil_div(this->tiles(), rounds) * Cluster::blocks;
  }
  LAPIDARY_HD constexpr bool has(int number) const { return number < this->tiles(); }
  LAPIDARY_HD constexpr int next(int number, int stride) const { return number + stride; }
};
/// In groups of 16 rows of them.
using TileByTile = TileAfterTile<GroupedTiles<16>>;

template <KernelTraits t>
struct Config : wgmma_specialized::Config<t> {
  using Walk = TileByTile;
};

constexpr auto build = [](auto t) { return built_wgmma<info, Config<t.value>>(); };
template <class Unit>
constexpr auto built_kernels = built_wgmma_kernels<Unit, wgmma_specialized::traits>(build);

}  // namespace lapidary::inline LAPIDARY_BUILD::wgmma_persistent
