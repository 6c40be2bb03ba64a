#pragma once
#include "ptx/cp_async.hpp"
#include "ptx/cuda.hpp"
#include "tile/global_tile.hpp"
#include "tile/operand_tile.hpp"

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

/// Starts part number `part` of `parts` of the copies of an operand's tile likewise, of 128 bits if the problem is
/// `vectorizable`. Where it is not, cp.async lacks the alignment: what this returns from has then been copied.
template <bool vectorized, int parts, class T, Major major, int BX, int BK, int threads, class Place>
LAPIDARY_DEVICE void copy_part_async(const OperandTile<T, major, BX, BK, threads>& tile, int part, int x_left,
                                     int k_left, Place&& place) {
  constexpr int copies = OperandTile<T, major, BX, BK, threads>::count, count = copies / parts;
  static_assert(copies % parts == 0);
  if constexpr (vectorized) {
#pragma unroll
    for (int v = part * count; v < (part + 1) * count; ++v)
      cp_async<16>(&place(v), tile.address(v), tile.inside(v, x_left, k_left) ? 16 : 0);
  } else {
    // One after the other, as each takes many registers.
#pragma unroll 1
    for (int v = part * count; v < (part + 1) * count; ++v)
      store_vector<packed<T>>(place(v), tile.template load_vector<false>(v, x_left, k_left).element);
  }
}

}  // namespace lapidary::inline LAPIDARY_BUILD
