#pragma once
#include <cstdint>

#include "core/build.hpp"
#include "core/math.hpp"
#include "ptx/cuda.hpp"
#include "tile/grid.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// Which tile is number `number` if they are walked `group` rows of them at a time, column by column: blocks that run
/// at the same time then share rows of A as well as columns of B.
LAPIDARY_HD constexpr RowCol<int> grouped_tile(unsigned number, unsigned tiles_down, unsigned tiles_across,
                                               unsigned group) {
  const unsigned first = number / (group * tiles_across) * group, place = number % (group * tiles_across);
  const unsigned rows_left = tiles_down - first, rows = rows_left < group ? rows_left : group;
  return {static_cast<int>(first + place % rows), static_cast<int>(place / rows)};
}

/// The tile of this block in that order.
template <int BM, int BN, int group>
LAPIDARY_DEVICE RowCol<std::int64_t> block_tile_grouped(std::int64_t M, std::int64_t N) {
  const unsigned tiles_down = static_cast<unsigned>(ceil_div<std::int64_t>(M, BM));
  const unsigned tiles_across = static_cast<unsigned>(ceil_div<std::int64_t>(N, BN));
  const RowCol<int> tile = grouped_tile(blockIdx.x, tiles_down, tiles_across, group);
  return {static_cast<std::int64_t>(tile.row) * BM, static_cast<std::int64_t>(tile.col) * BN};
}

/// All tiles of D in that order, for blocks that take one after the other.
struct TileRaster {
  int rows, cols, group;  ///< in tiles

  LAPIDARY_HD constexpr int tiles() const { return rows * cols; }
  LAPIDARY_HD constexpr RowCol<int> tile(int number) const {
    return grouped_tile(static_cast<unsigned>(number), static_cast<unsigned>(rows), static_cast<unsigned>(cols),
                        static_cast<unsigned>(group));
  }
};
inline TileRaster tile_raster(std::int64_t M, std::int64_t N, const TileShape& tile, int group) {
  return {static_cast<int>(ceil_div<std::int64_t>(M, tile.m)), static_cast<int>(ceil_div<std::int64_t>(N, tile.n)),
          group};
}

/// The same as what a configuration says of its order, Config::Walk (kernels/built.hpp): of `rows_of_tiles` rows of
/// tiles at a time, of which clusters have some each.
template <int rows_of_tiles>
struct GroupedTiles : TileRaster {
  static constexpr bool row_by_row = false;
  static GroupedTiles over(std::int64_t M, std::int64_t N, const TileShape& tile, const ClusterShape& cluster) {
    const TileShape one = {tile.m * cluster.down, tile.n * cluster.across, tile.k};
    return {tile_raster(M, N, one, rows_of_tiles / cluster.down)};
  }
};

}  // namespace lapidary::inline LAPIDARY_BUILD
