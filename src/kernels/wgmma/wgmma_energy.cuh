#pragma once
#include "kernels/wgmma/wgmma_cluster.cuh"

namespace lapidary::inline LAPIDARY_BUILD::wgmma_energy {

constexpr RungInfo info = {
    .name = "wgmma_energy",
    .parent = "wgmma_cluster",
    .idea = "fewer bytes, because power is the limit",
    .change =
        "Tiles of 256 x 192, and every other tile of a block walks K backwards, so that it begins with what the one "
        "before has left in L2",
    .why =
        "At the power limit a byte that is not moved is clock that is gained: 256 x 192 has 78 % of the bytes of "
        "128 x 256, and the walk there and back has fewer of them come from DRAM",
    .counter = "bytes into the multiprocessors and from DRAM; the SM clock under load goes up",
    .cost =
        "192 of 240 registers hold results, three stages instead of four, and a last round that leaves more "
        "multiprocessors idle; the order of a sum depends on the tile",
    .exercise = "`lapidary raster -m 8192 -n 8192 -k 8192 --tile 256x192x64`: what would 128x320 move?",
    .architecture = 90,
};

using wgmma_cluster::Config;

struct Launch : wgmma_cluster::Launch {
  static constexpr bool there_and_back = true;

  template <class Config>
  static void call(const Stream& stream, const GemmProblem& problem) {
    wgmma_cluster::launch<Config, info>(stream, problem, true);
  }
};

/// Results of 32 bits take the parent's tile: 192 of them a thread leave no register for where they are stored.
template <class T, class R, Order a, Order b>
using Default = std::conditional_t<sizeof(R) == 2, Config<256, 192, 64, 3, ClusterGrid<1, 2>, 2, T, R, a, b>,
                                   Config<128, 256, 64, 4, ClusterGrid<2, 1>, 1, T, R, a, b>>;
template <class>
constexpr auto variants = wgmma_variants<Default, Launch>(
    wgmma_variant<Config<256, 128, 64, 4, ClusterGrid<1, 2>, 2, bf16, bf16, Order::row_major, Order::column_major>,
                  Launch>(),
    wgmma_variant<Config<128, 320, 64, 3, ClusterGrid<2, 1>, 2, bf16, bf16, Order::row_major, Order::column_major>,
                  Launch>(),
    wgmma_variant<Config<128, 256, 64, 4, ClusterGrid<2, 1>, 1, bf16, bf16, Order::row_major, Order::column_major>,
                  Launch>());

}  // namespace lapidary::inline LAPIDARY_BUILD::wgmma_energy
