#pragma once
#include <cstdint>

#include "core/build.hpp"
#include "core/math.hpp"
#include "tile/grid.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// In which order the tiles of D are computed: `group` rows of tiles at a time, and these column by column. Tiles that
/// are computed at the same time then share both their rows of A and their columns of B, which come from L2 to all but
/// the first.
struct TileRaster {
  int rows, cols, group;  ///< in tiles

  LAPIDARY_HD constexpr int tiles() const { return rows * cols; }
  /// The tile, not its first element, of which the number is `index`.
  LAPIDARY_HD constexpr TileElement tile(int index) const {
    const int above = index / (group * cols) * group, rest = index % (group * cols);
    const int height = rows - above < group ? rows - above : group;
    return {above + rest % height, rest / height};
  }
};

/// Of all tiles of D.
inline TileRaster tile_raster(std::int64_t M, std::int64_t N, const TileShape& tile, int group) {
  return {static_cast<int>(ceil_div<std::int64_t>(M, tile.m)), static_cast<int>(ceil_div<std::int64_t>(N, tile.n)),
          group};
}

}  // namespace lapidary::inline LAPIDARY_BUILD
