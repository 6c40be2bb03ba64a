#pragma once
#include "kernels/simt/conflict_free.cuh"

namespace lapidary::inline LAPIDARY_BUILD::warp_tiles_sequential {

constexpr RungInfo info = {
    .name = "warp_tiles_sequential",
    .parent = "conflict_free",
    .idea = "each warp works on tiles of its own, one after the other",
    .change =
        "The block's tile is cut into tiles of WM x WN, one for a warp; a warp takes four that follow each "
        "other in a row, and a lane 4 x 4 results of each",
    .why =
        "Who reads what is decided for a warp, the unit that shared memory serves: its 32 lanes cover 16 rows and "
        "128 columns where a strip of threads covered 16 x 128 in another order",
    .counter =
        "shared_load: 1 vector of A and 4 of B for 64 multiply-adds. B's are 4 wavefronts each and A's 2: 18, "
        "which takes longer than the 16 clocks of the multiply-adds",
    .cost = "A long strip is the worst shape for reuse: 4 + 16 operands where a square of 64 results needs 16",
    .exercise =
        "`lapidary explain warp_tiles_sequential --predict`: which figure of vectorized's page tells you the answer "
        "before you see it?",
    .architecture = 80,
};

/// How the tiles of a block are dealt to its warps: tile t = warp * tiles + s, or t = s * warps + warp, for s = 0, 1,
/// ...
enum class Deal { sequential, strided };

template <int BM, int BN, int BK, int WM, int WN, Deal deal>
struct Config : conflict_free::Config<BM, BN, BK> {
  using Parent = conflict_free::Config<BM, BN, BK>;
  static constexpr int lanes_down = WM / 4, lanes_across = WN / 4, tiles_down = BM / WM, tiles_across = BN / WN;
  static constexpr int warps = Parent::threads / 32, tiles = tiles_down * tiles_across / warps;
  static_assert(lanes_down * lanes_across == 32, "a lane has 4 x 4 results of a tile");
  static_assert(deal == Deal::sequential ? tiles == tiles_across : warps % tiles_across == 0,
                "a warp's tiles lie in one row, or in one column");
  static constexpr int TM = deal == Deal::sequential ? 4 : 4 * tiles, TN = deal == Deal::sequential ? 4 * tiles : 4;

  LAPIDARY_HD static constexpr int tile_of(int warp, int s) {
    return deal == Deal::sequential ? warp * tiles + s : s * warps + warp;
  }
  // Results i of a column and j of a row come in fours, one four for each tile.
  LAPIDARY_HD static constexpr int row(int thread, int i) {
    return tile_of(thread / 32, i / 4) / tiles_across * WM + thread % 32 / lanes_across * 4 + i % 4;
  }
  LAPIDARY_HD static constexpr int col(int thread, int j) {
    return tile_of(thread / 32, j / 4) % tiles_across * WN + thread % lanes_across * 4 + j % 4;
  }
  LAPIDARY_HD static constexpr int a_read(int thread, int k, int i) { return offset_in<Parent::a>(k, row(thread, i)); }
  LAPIDARY_HD static constexpr int b_read(int thread, int k, int j) { return offset_in<Parent::b>(k, col(thread, j)); }
  static_assert(wavefronts(warp_access<float, 4>([](int lane) { return a_read(lane, 0, 0); })) == 2, "the minimum");
  static_assert(wavefronts(warp_access<float, 4>([](int lane) { return b_read(lane, 0, 0); })) == 4, "the minimum");
};

using Default = Config<128, 128, 8, 16, 32, Deal::sequential>;

template <class>
constexpr BuiltKernel built_kernels[] = {built<Default>(vectorized::prepare<Default, info>)};

}  // namespace lapidary::inline LAPIDARY_BUILD::warp_tiles_sequential
