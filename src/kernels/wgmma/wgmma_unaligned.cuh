#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "kernels/wgmma/wgmma_split_k.cuh"
#include "ptx/barrier.hpp"
#include "tile/loaded_tile.hpp"
#include "tile/row_epilogue.hpp"

namespace lapidary::inline LAPIDARY_BUILD::wgmma_unaligned {

constexpr RungInfo info = {
    .name = "wgmma_unaligned",
    .parent = "wgmma_split_k",
    .idea = "eight warps load what bulk copies cannot",
    .change =
        "No thread asks for boxes any more: eight warps load the lines of A and B, each lane two neighbours of 16 bits, "
        "and write them to shared memory in the pattern of the swizzle, where wgmma finds them as before; results of a tile "
        "that a block has to itself go to D by rows, and wide tiles one after the other",
    .why =
        "Bulk copies begin at multiples of 16 bytes, and so must lines of a matrix that are copied; one whose lines do not "
        "is packed first, by a launch that takes longer than a small product as a whole",
    .counter = "loads of global memory: by all lanes of eight warps, where there were none",
    .cost =
        "An instruction loads 64 elements at most, and they pass through registers: 3103 x 534 x 2585 takes one and a half "
        "times as long as packing A and B and multiplying then; small products are what gains",
    .exercise =
        "`lapidary explain wgmma_unaligned -m 99 -n 99 -k 99`, then with 100 three times: how many instructions load "
        "where lines begin at multiples of 4 bytes?",
    .architecture = 90,
    .fallback = "mma_multistage",
};

/// Warpgroups multiply, and eight warps behind them load.
template <int warpgroups>
struct WarpsLoad {
  static constexpr int consumers = 128 * warpgroups, producers = 256, threads = consumers + producers;
};

/// One tile after the other where no tile is shared, so that the next one's lines come while results leave.
struct TilesOfClusters : wgmma_split_k::TileOfCluster {
  static TilesOfClusters over(std::int64_t M, std::int64_t N, const TileShape& tile, const ClusterShape& cluster) {
    return {TileOfCluster::over(M, N, tile, cluster)};
  }
  template <class Cluster>
  int grid(int multiprocessors) const {
    return rows * cols < multiprocessors ? rows * cols : multiprocessors;
  }
  LAPIDARY_DEVICE bool has(int number) const { return number / OfOneTile::ranks() < rows * cols; }
  LAPIDARY_DEVICE int next(int number, int stride) const { return number + stride; }
};

template <KernelTraits t>
struct Config : wgmma_split_k::Config<t, t.tile.m / 64> {
  using Parent = wgmma_split_k::Config<t, t.tile.m / 64>;
  using Roles = WarpsLoad<t.tile.m / 64>;
  using A = LoadedTile<typename Parent::Element, major_of_a(t.kind.a), t.tile.m, t.tile.k, Roles::producers>;
  using B = LoadedTile<typename Parent::Element, major_of_b(t.kind.b), t.tile.n, t.tile.k, Roles::producers>;
  using Tile = WgmmaTile<A, B, t.tile.m / 64>;
  static constexpr KSplit split = {.least_k = 64, .fit = t.tile.m == 64 ? 2 : 1};
  using Walk = std::conditional_t<split.fit == 1, TilesOfClusters, wgmma_split_k::TileOfCluster>;
  using Epilogue =
      ByRowsIfAlone<typename Parent::Epilogue, typename Parent::Result, t.tile.m / 16, std::min(t.tile.n, 64)>;
  static constexpr int threads = Roles::threads;
};

/// The walk of the producers along a block's part of K. All loads of a step are on their way at a time.
template <class Config, class Position, class T, class R>
LAPIDARY_DEVICE void produce(const WgmmaBlock<Config>& block, Position& p, const Gemm<T, R>& g, const RowCol<int>& at) {
  using A = typename Config::A;
  using B = typename Config::B;
  const int steps = Config::Loop::part_of(block).steps;
  const int begin = part_begin(block.steps, block.rank, Config::Cluster::ranks());
  const int thread = static_cast<int>(threadIdx.x) - Config::Roles::consumers;
  for (int step = 0; step < steps; ++step, p.advance()) {
    const std::int64_t k = std::int64_t{begin + step} * A::BK;
    typename A::Pairs a;
    typename B::Pairs b;
    A::load(a, g.A, g.lda, g.M, g.K, std::int64_t{at.row} * A::MN, k, thread);
    B::load(b, g.B, g.ldb, g.N, g.K, std::int64_t{at.col} * B::MN, k, thread);
    block.pipeline.wait_empty(p);
    A::write(a, &block.shared.a[p.stage * A::size], thread);
    B::write(b, &block.shared.b[p.stage * B::size], thread);
    fence_proxy_async();
    barrier_sync(1, Config::Roles::producers);  // all have written, for products to read
    if (thread == 0) mbarrier_arrive(block.pipeline.full(p));
  }
}

template <class Config, class T = typename Config::Element, class R = typename Config::Result>
__global__ void __launch_bounds__(Config::threads, Config::split.fit)
    kernel(const __grid_constant__ typename Config::A::Map mapA, const __grid_constant__ typename Config::B::Map mapB,
           const __grid_constant__ typename Config::Epilogue::Map mapD, const Gemm<T, R> g,
           const typename Config::Walk walk) {
  using Tile = typename Config::Tile;
  const TilesOfBlock<Config, false> tiles = {walk};
  auto block = begin_block<Config>(mapA, mapB, g);
  if (block.steps == 0) block.steps = 1;  // of zeros, with which sums begin
  const int warp = warp_of_block();
  RingPosition<Config::stages> p;
  int number = tiles.first;
  if (warp >= Config::Roles::consumers / 32) {
    do produce(block, p, g, tiles.tile(number));
    while (tiles.has(number = tiles.next(number)));
    return;
  }
  do {
    const RowCol<int> at = tiles.tile(number);
    typename Tile::Accumulators rD;
    Config::Loop::multiply(block, p, rD, warp / 4);
    const RowCol<std::int64_t> origin = {std::int64_t{at.row} * Tile::BM, std::int64_t{at.col} * Tile::BN};
    Config::Epilogue::template store<Tile>(g, origin, static_cast<int>(threadIdx.x), rD, mapD, block.shared);
  } while (tiles.has(number = tiles.next(number)));
}

/// 16 blocks count their parts of the steps along K in 31 bits.
constexpr std::int64_t most_k = std::int64_t{1} << 32;
inline std::string refusal(const Problem& problem) {
  const std::int64_t K = problem.K;
  return K <= most_k ? "" : "K is " + std::to_string(K) + "; this kernel takes at most " + std::to_string(most_k);
}

/// Small tiles have few elements to wait for, wide ones the fewest for each product.
template <class Kinds>
constexpr auto in_all_orders(Kinds kinds) {
  constexpr Order row = Order::row_major, column = Order::column_major;
  const auto of = [&](const TileShape& tile) {
    return of_kinds(tile, 3, kinds(row, row), kinds(row, column), kinds(column, row), kinds(column, column));
  };
  return joined(of({128, 128, 64}), of({64, 64, 64}), of({64, 32, 64}));
}
constexpr auto all_traits = joined(in_all_orders(kinds_of_16_bits), in_all_orders(kinds_with_f32));
template <class Config>
Prepared prepare(const Problem& problem, const Card& card) {
  return prepare_split<info, Config>(problem, card, kernel<Config>);
}
constexpr auto build = [](auto t) {
  using C = Config<t.value>;
  BuiltKernel built = built_parts<C>(prepare<C>);
  built.refusal = refusal;
  built.split = &C::split;
  return built;
};
template <class Unit>
constexpr auto built_kernels = built_wgmma_list<Unit, all_traits>(build);

}  // namespace lapidary::inline LAPIDARY_BUILD::wgmma_unaligned
