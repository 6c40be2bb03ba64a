#pragma once
#include "kernels/simt/multistage.cuh"
#include "kernels/split.hpp"
#include "ptx/grid.hpp"
#include "tile/cluster_sums.hpp"

namespace lapidary::inline LAPIDARY_BUILD::split_k {

constexpr RungInfo info = {
    .name = "split_k",
    .parent = "multistage",
    .idea = "small tiles, and a cluster for each: a part of K a block",
    .change =
        "Tiles of 32 x 32 to 128 x 64; up to 16 blocks, a cluster, have a part of K of the same one each, write their "
        "sums into each other's shared memory, and each adds up and stores its share; A and B are taken in any order; "
        "a launch begins while the one before it ends",
    .why =
        "A D of 64 x 64 is one tile of 128 x 128, a quarter of which it needs, and one multiprocessor walks all of K "
        "while 131 have nothing to do",
    .counter =
        "blocks: two or four a multiprocessor where K is long, not one a tile; FFMA: of small tiles, few of them beyond D",
    .cost =
        "Small tiles read more from L2 and from shared memory for each product; sums pass through shared memory, and all "
        "blocks of a tile wait for the last one",
    .exercise = "`lapidary explain split_k -m 64 -n 64 -k 16384`: how many blocks share K? And with `-n 2048`?",
    .architecture = 90,
    .fallback = "multistage",
};

/// multistage's tiles, of which `fit` blocks are meant to share a multiprocessor.
template <int BM, int BN, int BK, int WM, int WN, int TM, int TN, int fit, Order a, Order b>
struct Config : multistage::Config<BM, BN, BK, WM, WN, TM, TN, 4, fit, a, b> {
  static constexpr int groups_across = TN / 4;
  using Sums = ClusterSums<float, Config::threads / 32, TM * groups_across>;
  static constexpr KSplit split = {.least_k = 64, .fit = fit};
  static_assert(split.least_k >= Config::tile.k, "each block has a step");
};

template <class Config>
struct Storage : multistage::Storage<Config>, Config::Sums::Storage {};

template <class Config, bool vectorized>
__global__ void __launch_bounds__(Config::threads, Config::blocks) kernel(const Gemm<float> g) {
  constexpr int BM = Config::tile.m, BN = Config::tile.n, BK = Config::tile.k, across = Config::groups_across;
  auto& shared = shared_storage<Storage<Config>>();
  const int ranks = OfOneTile::ranks(), rank = OfOneTile::rank(), thread = static_cast<int>(threadIdx.x);
  const int number = static_cast<int>(blockIdx.x) / ranks,
            tiles_across = static_cast<int>(ceil_div<std::int64_t>(g.N, BN));
  const RowCol<std::int64_t> block = {std::int64_t{number / tiles_across} * BM,
                                      std::int64_t{number % tiles_across} * BN};
  const std::int64_t steps = ceil_div<std::int64_t>(g.K, BK), begin = part_begin(steps, rank, ranks) * BK;
  const std::int64_t end = rank + 1 < ranks ? part_begin(steps, rank + 1, ranks) * BK : g.K;
  if (ranks > 1) barrier_cluster_arrive_relaxed();  // others may write here from now on
  grid_launch_dependents();
  grid_wait();

  float rD[Config::TM][Config::TN] = {};
  multistage::multiply<Config, vectorized>(g, block, begin, end, &shared.a[0], &shared.b[0], rD);
  if (ranks == 1) return store_tile<Config, vectorized>(g, block, thread, rD);
  barrier_cluster_wait();
  Config::Sums::add_up(
      shared, thread, [&](int group) { return &rD[group / across][group % across * 4]; },
      [&](int group, int of, const float* sums) {
        store_results<vectorized>(g, block.row + Config::row(of, group / across),
                                  block.col + Config::col(of, group % across * 4), sums);
      });
}

template <class Config>
Prepared prepare(const Problem& problem, const Card& card) {
  const std::int64_t tiles = tile_grid(problem.M, problem.N, Config::tile).x;
  const int blocks = Config::split.blocks(tiles, problem.K, card.multiprocessors);
  const LaunchShape shape = {
      .kernel = info.name,
      .grid = tiles * blocks,
      .block = Config::threads,
      .shared_bytes = KSplit::shared_bytes(sizeof(Storage<Config>),
                                           KSplit::least_share(tiles * blocks, blocks, card.multiprocessors)),
      .cluster = blocks,
      .overlaps = true};
  return prepared(problem, shape, vectorizable(problem) ? kernel<Config, true> : kernel<Config, false>,
                  gemm_of<float>(problem));
}

template <Order a, Order b>
using Small = Config<32, 32, 16, 32, 16, 4, 4, 4, a, b>;
template <Order a, Order b>
using Middle = Config<64, 64, 16, 32, 32, 8, 4, 2, a, b>;
template <Order a, Order b>
using Tall = Config<128, 64, 16, 32, 64, 8, 8, 2, a, b>;

template <class Config>
constexpr BuiltKernel of() {
  BuiltKernel kernel = built<Config>(prepare<Config>);
  kernel.split = &Config::split;
  return kernel;
}
constexpr Order by_row = Order::row_major, by_column = Order::column_major;
template <class>
constexpr BuiltKernel built_kernels[] = {
    of<Middle<by_row, by_row>>(),       of<Small<by_row, by_row>>(),      of<Tall<by_row, by_row>>(),
    of<Middle<by_row, by_column>>(),    of<Small<by_row, by_column>>(),   of<Tall<by_row, by_column>>(),
    of<Middle<by_column, by_row>>(),    of<Small<by_column, by_row>>(),   of<Tall<by_column, by_row>>(),
    of<Middle<by_column, by_column>>(), of<Small<by_column, by_column>>()};

}  // namespace lapidary::inline LAPIDARY_BUILD::split_k
