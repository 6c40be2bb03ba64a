#pragma once
#include "kernels/wgmma/wgmma_cluster.cuh"

namespace lapidary::inline LAPIDARY_BUILD::wgmma_overlapped {

constexpr RungInfo info = {
    .name = "wgmma_overlapped",
    .parent = "wgmma_cluster",
    .idea = "each launch begins while the one before it ends",
    .change =
        "Programmatic dependent launch: blocks start, set up their barriers and then wait for the kernel in front of "
        "them; and tiles of 128 x 64 keep all multiprocessors busy with small problems",
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

using wgmma_cluster::Config;

using Launch = wgmma_cluster::LaunchBy<info, false, true>;

template <int BN, int stages, class T, class R, Order a, Order b>
using Tile = Config<128, BN, 64, stages, ClusterGrid<2, 1>, 2, 64, T, R, a, b>;
template <class T, class R, Order a, Order b>
using Default = Tile<256, 4, T, R, a, b>;
template <int BN, int stages, class T, Order b>
using Small = Tile<BN, stages, T, T, Order::row_major, b>;
template <class>
constexpr auto built_kernels =
    built_wgmma_kernels<Default, Launch>(built_wgmma<Small<128, 6, bf16, Order::column_major>, Launch>(),
                                         built_wgmma<Small<64, 8, bf16, Order::column_major>, Launch>(),
                                         built_wgmma<Small<64, 8, bf16, Order::row_major>, Launch>(),
                                         built_wgmma<Small<64, 8, f16, Order::column_major>, Launch>());

}  // namespace lapidary::inline LAPIDARY_BUILD::wgmma_overlapped
