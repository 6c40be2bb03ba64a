#pragma once
#include "ptx/cluster.hpp"
#include "ptx/warp.hpp"
#include "tile/grid.hpp"
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
  static constexpr int most = 16;

  LAPIDARY_DEVICE static int rank() { return static_cast<int>(cluster_ctarank()); }
  LAPIDARY_DEVICE static int ranks() { return static_cast<int>(cluster_nctarank()); }
  LAPIDARY_DEVICE static void sync() {
    barrier_cluster_arrive();
    barrier_cluster_wait();
  }
};

}  // namespace lapidary::inline LAPIDARY_BUILD
