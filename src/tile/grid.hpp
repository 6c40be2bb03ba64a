#pragma once
#include <cstdint>

#include "core/launch_shape.hpp"
#include "core/math.hpp"
#include "core/row_col.hpp"
#include "ptx/cuda.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// One block for each BM x BN tile of D. The grid has one dimension, because its second one ends at 65,535 blocks: too
/// few for a tall matrix.
inline Extent3 tile_grid(std::int64_t M, std::int64_t N, const TileShape& tile) {
  return ceil_div<std::int64_t>(M, tile.m) * ceil_div<std::int64_t>(N, tile.n);
}

/// The first element of this block's tile of D: tiles are walked row by row.
template <int BM, int BN>
LAPIDARY_DEVICE RowCol<std::int64_t> block_tile(std::int64_t N) {
  const unsigned tiles_across = static_cast<unsigned>(ceil_div<std::int64_t>(N, BN));
  return {static_cast<std::int64_t>(blockIdx.x / tiles_across) * BM,
          static_cast<std::int64_t>(blockIdx.x % tiles_across) * BN};
}

/// The number of this thread's warp in a block of one dimension, by an instruction that lets the compiler know that all
/// lanes have the same.
LAPIDARY_DEVICE int warp_of_block() { return __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 32, 0); }

}  // namespace lapidary::inline LAPIDARY_BUILD
