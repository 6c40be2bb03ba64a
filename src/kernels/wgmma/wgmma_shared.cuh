#pragma once
#include "kernels/wgmma/wgmma_overlapped.cuh"

namespace lapidary::inline LAPIDARY_BUILD::wgmma_shared {

constexpr RungInfo info = {
    .name = "wgmma_shared",
    .parent = "wgmma_overlapped",
    .idea = "a cluster shares both operands, for crooked lines",
    .change =
        "Clusters of 2 x 2 and of 4 x 2 blocks in place of 2 x 1: each block copies half of its rows of A and half or a "
        "quarter of its columns of B, and receives the others",
    .why =
        "A row of a box that does not begin at a multiple of 128 bytes lies in two lines of L2, and what copies it is busy "
        "more than twice as long: with a leading dimension of 1432 elements of 16 bits a step of 128 x 192 x 64 takes as "
        "long as its 320 rows are copied, and not its products, unless others copy half of them",
    .counter = "reads of L2: half of those of A, and half or a quarter of those of B",
    .cost =
        "Where lines begin at multiples of 128 bytes copies are as quick as products, and there is nothing to gain; "
        "clusters of four and of eight fit 120 of 132 multiprocessors, and hang over the edges of D as a whole",
    .exercise =
        "`lapidary gemm -m 1432 -n 1432 -k 1432 --type \"f16 RC\" --gpu h200`, then with -k 1408: what is chosen where "
        "lines of A and B are whole?",
    .architecture = 90,
    .fallback = "mma_multistage",
};

/// Of tiles of 128 rows and `BN` columns, with as many stages as there is room for.
constexpr KernelTraits of(Type type, Order b, int BN, ClusterShape cluster) {
  KernelTraits t = wgmma_overlapped::smaller(BN, BN <= 72 ? 8 : BN == 128 ? 6 : BN == 144 ? 5 : 4, type, b);
  t.cluster = cluster;
  if (BN % 64 != 0) t.slices = 1, t.cols = 72;
  return t;
}
template <class... Types>
constexpr auto traits(Types... types) {
  constexpr Order row = Order::row_major, column = Order::column_major;
  constexpr ClusterShape four = {.down = 2, .across = 2}, eight = {.down = 4, .across = 2};
  return std::array{of(types, column, 144, eight)..., of(types, column, 72, eight)..., of(types, column, 64, four)...,
                    of(types, column, 128, four)...,  of(types, column, 192, four)..., of(types, row, 128, four)...,
                    of(types, row, 192, four)...,     of(types, row, 256, four)...};
}
constexpr auto all_traits = traits(Type::bf16, Type::f16);
constexpr auto build = [](auto t) { return built_wgmma<info, wgmma_overlapped::Config<t.value>>(); };
template <class Unit>
constexpr auto built_kernels = built_wgmma_list<Unit, all_traits>(build);

}  // namespace lapidary::inline LAPIDARY_BUILD::wgmma_shared
