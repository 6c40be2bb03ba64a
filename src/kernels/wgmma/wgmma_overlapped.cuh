#pragma once
#include "kernels/wgmma/wgmma_cluster.cuh"
#include "ptx/grid.hpp"

namespace lapidary::inline LAPIDARY_BUILD::wgmma_overlapped {

constexpr RungInfo info = {
    .name = "wgmma_overlapped",
    .parent = "wgmma_cluster",
    .idea = "each launch begins while the one before it ends",
    .change =
        "Programmatic dependent launch: blocks start, set up their barriers and then wait for the kernel in front of "
        "them; tiles of 128 x 64 are there too, for problems that are small enough to gain by it",
    .why =
        "From the last store of one kernel to the first load of the next there are two microseconds, as long as a third "
        "of a product of 1024 x 1024 x 1024",
    .counter = "none: time between kernels; 1024 x 1024 has 128 tiles of 128 x 64 for 132 multiprocessors, not 32",
    .cost =
        "A kernel may touch global memory only behind grid_wait(), and so may all that it calls; where a launch takes a "
        "tenth of a millisecond there is nothing to gain",
    .exercise =
        "`lapidary bench wgmma_cluster wgmma_overlapped --size 1024 --size 4096 --all-tiles`: where does it end to pay?",
    .architecture = 90,
    .fallback = "mma_multistage",
};

/// Behind the kernel in front of this one, and with the next one's blocks on their way.
struct Overlapped {
  static constexpr bool overlaps = true;
  LAPIDARY_DEVICE static void wait() {
    grid_launch_dependents();
    grid_wait();
  }
};

template <KernelTraits t>
struct Config : wgmma_cluster::Config<t> {
  using Start = Overlapped;
};

constexpr KernelTraits smaller(int BN, int stages, Type type, Order b) {
  KernelTraits t = wgmma_cluster::traits({type, type, Order::row_major, b});
  t.tile.n = BN;
  t.stages = stages;
  return t;
}
constexpr auto build = [](auto t) { return built_wgmma<info, Config<t.value>>(); };
template <class Unit>
constexpr auto built_kernels =
    built_wgmma_kernels<Unit, wgmma_cluster::traits, smaller(128, 6, Type::bf16, Order::column_major),
                        smaller(64, 8, Type::bf16, Order::column_major), smaller(64, 8, Type::bf16, Order::row_major),
                        smaller(64, 8, Type::f16, Order::column_major)>(build);

}  // namespace lapidary::inline LAPIDARY_BUILD::wgmma_overlapped
