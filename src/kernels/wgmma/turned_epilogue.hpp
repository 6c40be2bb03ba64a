#pragma once
#include <string>

#include "core/math.hpp"
#include "device/shared.hpp"
#include "kernels/wgmma/refusals.hpp"
#include "ptx/barrier.hpp"
#include "ptx/cp_async_bulk.hpp"
#include "ptx/fence.hpp"
#include "ptx/shared_pointer.hpp"
#include "ptx/warp.hpp"
#include "tile/grid.hpp"
#include "tile/tma_tile.hpp"
#include "tile/turned_slice.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// A warpgroup's results go through shared memory in slices of `rows` rows by 64 columns of D, `slices` at a time.
/// Where they do not divide the rows of a product, the last slice begins within the one before, and both store the
/// same.
template <class R, int warpgroups, int slices, int rows>
struct TurnedEpilogue {
  static constexpr bool finishes = false;
  using Slice = TurnedSlice<R, rows>;
  struct Storage {
    SharedArray<R, warpgroups * slices * Slice::size, 1024> staging;  // (warpgroups, slices, boxes, rows, span)
  };
  using Map = TensorMap;
  static std::string refusal(const Problem& problem) { return refusal_by_bulk_stores(problem, sizeof(R)); }
  /// Of boxes as `as` makes them of those of one D.
  template <class As>
  static Map map_of(const Problem& problem, const As& as) {
    return tensor_map(as(boxes_of_d<R>(problem, rows, Slice::span, Slice::layout)));
  }

  /// Stores those of a warpgroup, which begin at `origin`, each box by store(row, col, box), which one thread calls.
  /// Barriers 1 and up are used.
  template <class Tile, class Store>
  LAPIDARY_DEVICE static void stage(const RowCol<int>& origin, int thread, const typename Tile::Accumulators& rD,
                                    const Store& store, Storage& shared) {
    constexpr int products = Tile::Turned::across, of_product = Tile::BM / products;  // rows
    constexpr int down = ceil_div(of_product, rows), count = Tile::Turned::down * products * down;
    static_assert(rows <= of_product && slices <= count);
    const int warpgroup = warp_of_block() / 4;
    const auto barrier = 1 + static_cast<unsigned>(warpgroup);
    R* const staging = to_shared(&shared.staging[warpgroup * slices * Slice::size]);
    const bool issuer = thread % 128 < 32 && elect_sync();
#pragma unroll
    for (int s = 0; s < count; ++s) {
      const int i = s / (products * down), j = s / down % products, slice = s % down;
      const int begin = slice < down - 1 ? slice * rows : of_product - rows;
      R* const to = staging + s % slices * Slice::size;
      // The slice's last store has read it: that of the tile before, or of `slices` slices ago.
      if (issuer && s == 0) wait_for_all_but<0>();
      if (issuer && s >= slices) wait_for_all_but<slices - 1>();
      if (s == 0 || s >= slices) barrier_sync(barrier, 128);
      Slice::write(to, thread, rD[i][j], begin);
      fence_proxy_async();
      barrier_sync(barrier, 128);
      if (!issuer) continue;
#pragma unroll
      for (int box = 0; box < Slice::boxes; ++box)
        store(origin.row + j * of_product + begin, origin.col + i * 64 + box * Slice::span,
              to + box * rows * Slice::span);
      cp_async_bulk_commit_group();
    }
  }
  /// Shared memory stays until the stores have read it.
  LAPIDARY_DEVICE static void finish() {
    if (warp_of_block() % 4 == 0 && elect_sync()) wait_for_all_but<0>();
  }

 private:
  /// Until no more than so many of a thread's stores, the last ones, have yet to read shared memory.
  template <int last>
  LAPIDARY_DEVICE static void wait_for_all_but() {
    cp_async_bulk_wait_group_read<last>();
  }
};

}  // namespace lapidary::inline LAPIDARY_BUILD
