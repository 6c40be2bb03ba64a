#pragma once
#include "kernels/simt/vectorized.cuh"

namespace lapidary::inline LAPIDARY_BUILD::conflict_free {

constexpr RungInfo info = {
    .name = "conflict_free",
    .parent = "vectorized",
    .idea = "the layout for which no access conflicts, proved",
    .change =
        "A thread's 8 columns are two groups of 4, half a tile apart, and four elements of padding follow each "
        "row of A's tile",
    .why =
        "Eight lanes now read 128 neighbouring bytes of B, each bank once; and the two k that lanes of one warp "
        "store side by side lie 16 banks apart",
    .counter =
        "shared_load: B's reads fall from 8 wavefronts to 4, the minimum; shared_store: A's from 2 to 1. The "
        "excess of every line is 0, by static_assert",
    .cost =
        "A thread's results are two strips of a row and no longer one, which costs nothing: each is still a whole "
        "vector",
    .exercise = "`lapidary check conflict_free --puzzle`: a barrier or a guard is gone; find the line.",
    .architecture = 80,
};

template <int BM, int BN, int BK>
struct Config : vectorized::Config<BM, BN, BK> {
  using Parent = vectorized::Config<BM, BN, BK>;
  static constexpr Layout a = Layout({BK, BM}, {BM + 4, 1});

  LAPIDARY_HD static constexpr int a_write(int thread, int v, int e) {
    return offset_in<a>(Parent::GlobalA::element(thread, v).col + e, Parent::GlobalA::element(thread, v).row);
  }
  LAPIDARY_HD static constexpr int a_read(int thread, int k, int i) { return offset_in<a>(k, Parent::row(thread, i)); }
  static_assert(wavefronts(warp_access<float>([](int lane) { return a_write(lane, 0, 0); })) == 1, "the minimum");
  static_assert(wavefronts(warp_access<float, 4>([](int lane) { return a_read(lane, 0, 0); })) == 2, "the minimum");

  LAPIDARY_HD static constexpr int col(int thread, int j) { return thread % (BN / 8) * 4 + j / 4 * (BN / 2) + j % 4; }
  LAPIDARY_HD static constexpr int b_read(int thread, int k, int j) { return offset_in<Parent::b>(k, col(thread, j)); }
  static_assert(wavefronts(warp_access<float, 4>([](int lane) { return b_read(lane, 0, 0); })) == 4, "the minimum");
  static_assert(wavefronts(warp_access<float, 4>([](int lane) { return b_read(lane, 0, 4); })) == 4, "the minimum");
};

template <class>
constexpr BuiltKernel built_kernels[] = {built<Config<128, 128, 8>>(vectorized::prepare<Config<128, 128, 8>, info>)};

}  // namespace lapidary::inline LAPIDARY_BUILD::conflict_free
