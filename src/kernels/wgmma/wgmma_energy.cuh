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

template <class Config>
void launch(const Stream& stream, const GemmProblem& problem) {
  wgmma_cluster::launch<Config, info>(stream, problem, 8, true);
}

constexpr Order row = Order::row_major, column = Order::column_major;
template <class T, class R, Order a, Order b, class C = Config<256, 192, 64, 3, 1, 2, 2, T, R, a, b>>
constexpr Variant plain = variant<C>(launch<C>);
template <class>
constexpr Variant variants[] = {plain<bf16, bf16, row, column>};

}  // namespace lapidary::inline LAPIDARY_BUILD::wgmma_energy
