#pragma once
#include "kernels/wgmma/wgmma_cluster.cuh"

namespace lapidary::inline LAPIDARY_BUILD::wgmma_energy {

constexpr RungInfo info = {
    .name = "wgmma_energy",
    .parent = "wgmma_cluster",
    .idea = "fewer bytes, because power is the limit",
    .change =
        "Tiles of 256 x 200 where results have 16 bits; and every other tile of a block walks K backwards, so that it "
        "begins with what the one before has left in L2",
    .why =
        "At the power limit a byte that is not moved is clock that is gained, and a multiprocessor that has no tile "
        "wins none: 256 x 200 has 76 % of the bytes of 128 x 256, and makes 10 rounds of 8192 x 8192 that are 99 % full",
    .counter = "bytes into the multiprocessors; the SM clock under load goes up",
    .cost =
        "200 of 240 registers hold results, three stages instead of four, and sizes that 200 columns do not come out "
        "with: at 4096 x 4096 three rounds leave 20 multiprocessors without a block, and the parent is faster",
    .exercise =
        "`lapidary raster --kernel wgmma_energy`, then `--kernel wgmma_cluster`: how many rounds, how full is the last?",
    .architecture = 90,
    .fallback = "mma_multistage",
};

/// Every other tile of a block is walked from the last step to the first.
struct ThereAndBack {
  static constexpr bool there_and_back = true;
  LAPIDARY_HD static constexpr int at(int step, int steps, int round) {
    return round % 2 == 0 ? step : steps - 1 - step;
  }
};

template <KernelTraits t>
struct Config : wgmma_cluster::Config<t> {
  using Steps = ThereAndBack;
};

/// 200 columns that are neighbours, where B is row-major, take the room of 256: what is left is for slices of 40.
/// Results of 32 bits take the parent's tile: 200 of them a thread leave no register for where they are stored.
constexpr KernelTraits traits(const GemmKind& kind) {
  KernelTraits t = wgmma_cluster::traits(kind);
  if (size_of(kind.result) != 2) return t;
  t.tile = {256, 200, 64};
  t.stages = 3;
  t.slices = kind.b == Order::column_major ? 1 : 3;
  t.cols = kind.b == Order::column_major ? 200 : 40;
  return t;
}
constexpr KernelTraits other(TileShape tile, int stages, ClusterShape cluster) {
  return {.tile = tile,
          .kind = {Type::bf16, Type::bf16, Order::row_major, Order::column_major},
          .stages = stages,
          .cluster = cluster,
          .slices = 2,
          .cols = 64};
}
/// Other widths than 16 bits are K-major, and rows of a stage have as many bytes.
constexpr KernelTraits other_width(Type type, Type result = Type::f32) {
  KernelTraits t = wgmma_cluster::traits({type, result, Order::row_major, Order::column_major});
  t.tile.k = 128 / size_of(type);
  return t;
}
constexpr auto build = [](auto t) { return built_wgmma<info, Config<t.value>>(); };
template <class Unit>
constexpr auto built_kernels = built_wgmma_kernels<
    Unit, traits, other({256, 192, 64}, 3, {1, 2}), other({128, 320, 64}, 3, {2, 1}), other({128, 256, 64}, 4, {2, 1}),
    other_width(Type::tf32), other_width(Type::e4m3), other_width(Type::s8), other_width(Type::s8, Type::s32)>(build);

}  // namespace lapidary::inline LAPIDARY_BUILD::wgmma_energy
