#pragma once
#include "ptx/cluster.hpp"
#include "ptx/warp.hpp"
#include "tile/grid.hpp"
#include "tile/tma_tile.hpp"
#include "tile/wgmma_kernel.hpp"

// Further parts of kernels of specialized warps (tile/wgmma_kernel.hpp) that are no rung's idea.

namespace lapidary::inline LAPIDARY_BUILD {

/// Roles: warpgroups multiply, and one thread of a single warp behind them copies. Where sums are so few that all have
/// registers enough, none are dealt, and four warps are not needed for a thread that works.
template <int warpgroups>
struct OneWarpCopies {
  static constexpr int consumers = 128 * warpgroups, threads = consumers + 32;

  template <class Produce, class Consume>
  LAPIDARY_DEVICE static void run(const Produce& produce, const Consume& consume) {
    const int warp = warp_of_block();
    if (warp < consumers / 32)
      consume(warp / 4);
    else if (elect_sync())
      produce();
  }
};

/// Cluster: of blocks that work on one tile, and share nothing that they copy. How many they are is known at run time
/// alone.
struct OfOneTile : Alone {
  static constexpr int most = static_cast<int>(LaunchLimits::cluster);

  LAPIDARY_DEVICE static int rank() { return static_cast<int>(cluster_ctarank()); }
  LAPIDARY_DEVICE static int ranks() { return static_cast<int>(cluster_nctarank()); }
  /// A barrier of all threads of the cluster, behind which their blocks have begun, and their mbarriers too.
  LAPIDARY_DEVICE static void sync() {
    barrier_cluster_arrive_relaxed();
    barrier_cluster_wait();
  }
  /// Likewise, behind which all of them see what each has written before.
  LAPIDARY_DEVICE static void hand_over() {
    barrier_cluster_arrive();
    barrier_cluster_wait();
  }
};

/// Of 4 x 4 numbers, four of each of four lanes that are 4 apart, gives the lane that is t-th of them number t of every
/// lane. All lanes of the warp call it together.
LAPIDARY_DEVICE void transpose_across_quads(float (&numbers)[4], int thread) {
#pragma unroll
  for (int distance = 1; distance < 4; distance *= 2) {
    const bool upper = (thread / 4 & distance) != 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i & distance) continue;
      float &low = numbers[i], &high = numbers[i | distance];
      const float got = __shfl_xor_sync(0xffffffffu, upper ? low : high, 4 * distance);
      low = upper ? got : low;
      high = upper ? high : got;
    }
  }
}

}  // namespace lapidary::inline LAPIDARY_BUILD
