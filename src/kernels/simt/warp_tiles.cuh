#pragma once
#include "kernels/simt/warp_tiles_sequential.cuh"
#include "tile/warp_tile.hpp"

namespace lapidary::inline LAPIDARY_BUILD::warp_tiles {

constexpr RungInfo info = {
    .name = "warp_tiles",
    .parent = "warp_tiles_sequential",
    .idea = "warp tiles dealt like cards: a warp's lie in one column",
    .change = "A warp's next tile is not the neighbour of its last one but the one eight further on, below it",
    .why =
        "All four tiles share their columns, so the expensive operand is read once: B's vectors take 4 wavefronts, "
        "A's, which several lanes share, only 2",
    .counter =
        "shared_load: the same 5 vectors for 64 multiply-adds, now 4 of A and 1 of B: 12 wavefronts instead of "
        "18, fewer than the 16 clocks of the multiply-adds",
    .cost = "Nothing: only the numbers of the tiles change",
    .exercise =
        "`lapidary explain warp_tiles --tile 128x128x16`: reads for each multiply-add stay as they are; what does a "
        "deeper tile save?",
    .architecture = 80,
};

template <int BM, int BN, int BK, int WM, int WN>
using Config = warp_tiles_sequential::Config<BM, BN, BK, WM, WN, warp_tiles_sequential::Deal::strided>;

using Default = Config<128, 128, 8, 16, 32>;

/// One large tile a warp, and lanes in pairs (tile/warp_tile.hpp): what hands of cards lead to when the aim is the
/// fewest wavefronts. 4 vectors for 64 multiply-adds, of 2 wavefronts each.
template <int BM, int BN, int BK, int WM, int WN>
struct Paired : vectorized::Config<BM, BN, BK> {
  using Parent = vectorized::Config<BM, BN, BK>;
  using Results = WarpTile<BN, WM, WN, Parent::TM, Parent::TN>;
  static constexpr Layout a = Layout({BK, BM}, {BM + 4, 1});

  LAPIDARY_HD static constexpr int a_write(int thread, int v, int e) {
    return offset_in<a>(Parent::GlobalA::element(thread, v).col + e, Parent::GlobalA::element(thread, v).row);
  }
  LAPIDARY_HD static constexpr int row(int thread, int i) { return Results::row(thread, i); }
  LAPIDARY_HD static constexpr int col(int thread, int j) { return Results::col(thread, j); }
  LAPIDARY_HD static constexpr int a_read(int thread, int k, int i) { return offset_in<a>(k, row(thread, i)); }
  LAPIDARY_HD static constexpr int b_read(int thread, int k, int j) { return offset_in<Parent::b>(k, col(thread, j)); }
  static_assert(wavefronts(warp_access<float>([](int lane) { return a_write(lane, 0, 0); })) == BK / 8, "1 for BK = 8");
  static_assert(wavefronts(warp_access<float, 4>([](int lane) { return a_read(lane, 0, 0); })) == 2, "the minimum");
  static_assert(wavefronts(warp_access<float, 4>([](int lane) { return b_read(lane, 0, 0); })) == 2, "the minimum");
};

using Large = Paired<128, 128, 16, 32, 64>;

template <class>
constexpr BuiltKernel built_kernels[] = {built<Default>(vectorized::prepare<Default, info>),
                                         built<Large>(vectorized::prepare<Large, info>)};

}  // namespace lapidary::inline LAPIDARY_BUILD::warp_tiles
