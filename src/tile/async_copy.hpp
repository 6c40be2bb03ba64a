#pragma once
#include "ptx/cp_async.hpp"
#include "ptx/cuda.hpp"
#include "tile/global_tile.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// Starts the copies of one thread's part of a tile to shared memory, zeros past the edges: `place(v)` is where its
/// access number v goes. A tile of which all is inside the matrix, `whole`, needs no comparisons.
template <bool whole, class T, int ROWS, int COLS, int threads, int width, class Place>
LAPIDARY_DEVICE void copy_tile_async(const GlobalTile<T, ROWS, COLS, threads, width>& tile, int rows, int cols,
                                     Place&& place) {
  constexpr int bytes = width * sizeof(T);
#pragma unroll
  for (int v = 0; v < tile.count; ++v)
    cp_async<bytes>(&place(v), tile.address(v), whole || tile.inside(v, rows, cols) ? bytes : 0);
}

}  // namespace lapidary::inline LAPIDARY_BUILD
