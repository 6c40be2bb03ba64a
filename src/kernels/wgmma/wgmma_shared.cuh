#pragma once
#include "core/cluster_places.hpp"
#include "kernels/wgmma/wgmma_overlapped.cuh"

namespace lapidary::inline LAPIDARY_BUILD::wgmma_shared {

constexpr RungInfo info = {
    .name = "wgmma_shared",
    .parent = "wgmma_overlapped",
    .idea = "clusters share both operands, for lines that begin anywhere",
    .change =
        "Clusters of 2 x 2 blocks in place of 2 x 1: each block copies half of its rows of A, too, and receives the others",
    .why =
        "Of rows of 128 bytes that begin at multiples of 16 all blocks together never received more than 47 in a "
        "nanosecond, of those at multiples of 128 over 120 (docs/tried.md). Of a product of 1432 x 1432 x 1432 in 16 "
        "bits the 96 tiles of 128 x 192 wait for 320 rows a step each; in clusters of 2 x 2 they copy 160",
    .counter = "reads of L2: half of those of A, as of B",
    .cost =
        "Where lines begin at multiples of 128 bytes copies are as quick as products, and there is nothing to gain; "
        "clusters of four hang over the edges of D as a whole, and have room on 120 of 132 multiprocessors",
    .exercise =
        "`lapidary gemm -m 1432 -n 1432 -k 1432 --type \"f16 RC\" --gpu h200`, then with 1408 three times: what is chosen "
        "where lines of A and B are whole?",
    .architecture = 90,
    .fallback = "mma_multistage",
};

/// No more clusters than run at the same time: one more would begin when all others end.
template <class Tiles>
struct InClusters : Tiles {
  template <class... Sizes>
  static InClusters over(const Sizes&... sizes) {
    return {Tiles::over(sizes...)};
  }
  template <class Cluster>
  int grid(int multiprocessors) const {
    return Tiles::template grid<Cluster>(multiprocessors_for({Cluster::down, Cluster::across}, multiprocessors));
  }
};

template <KernelTraits t>
struct Config : wgmma_overlapped::Config<t> {
  using Walk = InClusters<wgmma_persistent::TileByTile>;
};

/// Of tiles of 128 rows and `BN` columns, whose results are staged in so many slices at a time.
constexpr KernelTraits of(Type type, Order b, int BN, int stages, int slices = 2, int cols = 64) {
  KernelTraits t = wgmma_overlapped::smaller(BN, stages, type, b);
  t.cluster = {.down = 2, .across = 2};
  t.slices = slices;
  t.cols = cols;
  return t;
}
/// Of widths that leave few multiprocessors idle in the last round, of 30 clusters.
template <class... Types>
constexpr auto traits(Types... types) {
  constexpr Order row = Order::row_major, column = Order::column_major;
  return std::array{of(types, column, 144, 5, 2, 72)..., of(types, column, 64, 8)...,
                    of(types, column, 96, 7, 4, 24)...,  of(types, column, 128, 6)...,
                    of(types, column, 192, 4)...,        of(types, column, 240, 4, 2, 40)...,
                    of(types, column, 256, 4)...,        of(types, row, 128, 6)...,
                    of(types, row, 192, 4)...,           of(types, row, 256, 4)...};
}
constexpr auto all_traits = traits(Type::bf16, Type::f16);
constexpr auto build = [](auto t) { return built_wgmma<info, Config<t.value>>(); };
template <class Unit>
constexpr auto built_kernels = built_wgmma_list<Unit, all_traits>(build);

}  // namespace lapidary::inline LAPIDARY_BUILD::wgmma_shared
