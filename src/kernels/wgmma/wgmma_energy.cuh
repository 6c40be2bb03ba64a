#pragma once
#include "kernels/wgmma/wgmma_cluster.cuh"

namespace lapidary::inline LAPIDARY_BUILD::wgmma_energy {

constexpr RungInfo info = {
    .name = "wgmma_energy",
    .parent = "wgmma_cluster",
    .idea = "fewer bytes, because power is the limit",
    .change =
        "Tiles of 256 x 200, whose results are staged in whole rows; and every other tile of a block walks K backwards, "
        "so that it begins with what the one before has left in L2",
    .why =
        "At the power limit a byte that is not moved is clock that is gained, and a multiprocessor that has no tile "
        "wins none: 256 x 200 has 76 % of the bytes of 128 x 256, and makes 10 rounds of 8192 x 8192 that are 99 % full",
    .counter = "bytes into the multiprocessors; the SM clock under load goes up",
    .cost =
        "200 of 240 registers hold results, three stages instead of four, and sizes whose last round is nearly empty: "
        "at 4096 x 4096 the parent is faster",
    .exercise =
        "`lapidary raster -m 8192 -n 8192 -k 8192 --tile 256x192x64`: how many rounds, and how full is the last?",
    .architecture = 90,
    .fallback = "mma_multistage",
};

using wgmma_cluster::Config;

using Launch = wgmma_cluster::LaunchBy<info, true, false>;

/// 200 columns that are neighbours, where B is row-major, take the room of 256: what is left is for slices of 40.
/// Results of 32 bits take the parent's tile: 200 of them a thread leave no register for where they are stored.
template <class T, class R, Order a, Order b>
using Default = std::conditional_t<sizeof(R) != 2, Config<128, 256, 64, 4, ClusterGrid<2, 1>, 2, 64, T, R, a, b>,
                                   Config<256, 200, 64, 3, ClusterGrid<2, 1>, b == Order::column_major ? 1 : 3,
                                          b == Order::column_major ? 200 : 40, T, R, a, b>>;
template <int BM, int BN, int stages, class Cluster, int slices>
using Other = Config<BM, BN, 64, stages, Cluster, slices, 64, bf16, bf16, Order::row_major, Order::column_major>;
/// Other widths than 16 bits are K-major, and rows of a stage have as many bytes.
template <class T>
using OtherWidth =
    Config<128, 256, 128 / sizeof(T), 4, ClusterGrid<2, 1>, 2, 64, T, float, Order::row_major, Order::column_major>;
template <class>
constexpr auto built_kernels = built_wgmma_kernels<Default, Launch>(
    built_wgmma<Other<256, 192, 3, ClusterGrid<1, 2>, 2>, Launch>(),
    built_wgmma<Other<128, 320, 3, ClusterGrid<2, 1>, 2>, Launch>(),
    built_wgmma<Other<128, 256, 4, ClusterGrid<2, 1>, 2>, Launch>(), built_wgmma<OtherWidth<tf32>, Launch>(),
    built_wgmma<OtherWidth<e4m3>, Launch>(), built_wgmma<OtherWidth<std::int8_t>, Launch>());

}  // namespace lapidary::inline LAPIDARY_BUILD::wgmma_energy
