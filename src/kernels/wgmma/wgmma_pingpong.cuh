#pragma once
#include "kernels/wgmma/wgmma_shared.cuh"
#include "ptx/barrier.hpp"

namespace lapidary::inline LAPIDARY_BUILD::wgmma_pingpong {

constexpr RungInfo info = {
    .name = "wgmma_pingpong",
    .parent = "wgmma_shared",
    .idea = "warpgroups take tiles in turns",
    .change =
        "Each of two warpgroups has whole tiles of its own, every other one of the block's: it begins with the products "
        "of one when the other has started the last ones of its own, and stores results while that one multiplies",
    .why =
        "Where K is short a tile's results take as long to leave as its products take, and until then tensor cores rest",
    .counter = "none: the same accesses in another order; of all cycles tensor cores work in more",
    .cost =
        "A warpgroup holds the sums of a whole tile, in 240 registers a thread those of 128 x 208 at most; a block that "
        "has a single tile has one warpgroup for it",
    .exercise = "`lapidary check wgmma_pingpong --puzzle`, a few times: what happens to those who go on out of turn?",
    .architecture = 90,
    .fallback = "mma_multistage",
};

/// Two warpgroups, each stage being for one of them.
struct Roles : wgmma_specialized::Specialized<2> {
  static constexpr int consumers = 128;
};

/// At whose barrier a warpgroup waits for its turn to multiply, and at whose it gives the next one. A wait for a stage
/// tells the next time round from this one, but not from the one after it: who waits for a stage while the other
/// warpgroup has yet to wait for those in front of it could take for its own what is the other's.
struct Turns {
  static constexpr unsigned first = 3;  // of the barriers, behind those of StagedEpilogue

  LAPIDARY_DEVICE static void wait(int warpgroup) { barrier_sync(first + static_cast<unsigned>(warpgroup), 256); }
  LAPIDARY_DEVICE static void give(int warpgroup) { barrier_arrive(first + static_cast<unsigned>(warpgroup), 256); }
};

struct Loop : wgmma_specialized::MainLoop {
  /// Calls last() when the last products have been started.
  template <class Config, class Position, class Last>
  LAPIDARY_DEVICE static void multiply(const WgmmaBlock<Config>& block, Position& p,
                                       typename Config::Tile::Accumulators& rD, const Last& last) {
    using Tile = typename Config::Tile;
    const auto release = [&](const Position& stage) { Config::Cluster::release(block.pipeline, stage, block.rank); };
    Position before = p;
    for (int step = 0; step < block.steps; ++step) {
      block.pipeline.wait_full(p);
      Tile::multiply(rD, &block.shared.a[p.stage * Tile::A::size], &block.shared.b[p.stage * Tile::B::size], 0,
                     step > 0);
      if (step + 1 == block.steps) last();
      wgmma_wait_group<1>(rD);
      if (step > 0) release(before);
      before = p;
      p.advance();
    }
    wgmma_wait_group<0>(rD);
    release(before);
  }
};

template <KernelTraits t>
struct Config : wgmma_shared::Config<t> {
  using Parent = wgmma_shared::Config<t>;
  using Tile = WgmmaTile<typename Parent::A, typename Parent::B, 1>;
  using Roles = wgmma_pingpong::Roles;
  using Loop = wgmma_pingpong::Loop;
  using Epilogue =
      std::conditional_t<Parent::pairs, wgmma_staged_f32::PairedEpilogue<typename Parent::Result, 2, t.slices, t.cols>,
                         wgmma_staged::StagedEpilogue<typename Parent::Result, 2, t.slices, t.cols, t.tile.n % t.cols>>;
  static constexpr int threads = Roles::threads;
};

template <class Config, class T = typename Config::Element, class R = typename Config::Result>
__global__ void __launch_bounds__(Config::threads, 1)
    pingpong_kernel(const __grid_constant__ typename Config::A::Map mapA,
                    const __grid_constant__ typename Config::B::Map mapB,
                    const __grid_constant__ typename Config::Epilogue::Map mapD, const Gemm<T, R> g,
                    const typename Config::Walk walk) {
  using Tile = typename Config::Tile;
  const TilesOfBlock<Config> tiles = {walk, {g.M, g.N}, g.K};
  const auto block = begin_block<Config>(mapA, mapB, g);
  RingPosition<Config::stages> p;

  const auto produce = [&] { tiles.load(block, p); };
  const auto consume = [&](int warpgroup) {
    int number = tiles.first;
    if (warpgroup == 1) {
      Turns::give(0);
      number = tiles.next(number);
      p.advance(block.steps);
    }
    for (int other; tiles.has(number); number = tiles.next(other)) {
      other = tiles.next(number);
      const auto give = [&] {
        if (tiles.has(other)) Turns::give(1 - warpgroup);
      };
      if (!tiles.has_results(number)) {
        Turns::wait(warpgroup);
        Config::Loop::pass(block, p);
        give();
        p.advance(block.steps);
        continue;
      }
      typename Tile::Accumulators rD;  // (BM, BN)
      const auto place = place_of<Config>(tiles.tile(number), mapD);
      Turns::wait(warpgroup);
      Config::Loop::multiply(block, p, rD, give);
      // Past the stages of the other one's tile.
      p.advance(block.steps);
      Config::Epilogue::template store<Tile>(g, place, static_cast<int>(threadIdx.x), rD, mapD, block.shared);
    }
    Config::Epilogue::finish();
  };
  Config::Roles::run(produce, consume);
}

template <class Config>
Prepared prepare(const Problem& problem, const Card& card) {
  return prepared_walk<Config>(info, pingpong_kernel<Config>, problem, card,
                               walk_of<Config>(problem.M, problem.N, Config::traits.tile));
}

constexpr KernelTraits of(const GemmKind& kind, const MenuTile& tile) {
  KernelTraits t = wgmma_shared::of(kind, tile);
  // What both warpgroups stage is as much as of a tile of 128 rows.
  t.stages = wgmma_waves::of(kind, tile.BM, tile.BN, tile.slices * 128 / tile.BM, tile.cols).stages;
  return t;
}
/// Clusters of eight where lines begin anywhere, and what fills rounds that wgmma_shared's tiles leave half empty.
constexpr MenuTile column_major_b[] = {{128, 176, 2, 32},       {128, 160, 2, 32, 2, 4}, {128, 144, 2, 32, 2, 4},
                                       {128, 128, 2, 64, 2, 4}, {128, 128, 2, 64, 4, 2}, {64, 208, 2, 32, 1, 2}};
/// Results of 32 bits, which take twice as long to leave.
constexpr MenuTile wide[] = {{128, 128, 2, 24, 2, 1}, {128, 160, 1, 40, 2, 1}};
constexpr Order row = Order::row_major, column = Order::column_major;
constexpr auto all_traits = joined(
    menu_of(of, kinds_of_16_bits(row, column), column_major_b),
    menu_of(of, joined(kinds_with_f32(row, column), kinds_with_f32(row, row), kinds_with_f32(column, row)), wide));
constexpr auto build = [](auto t) { return built_parts<Config<t.value>>(prepare<Config<t.value>>); };
template <class Unit>
constexpr auto built_kernels = built_wgmma_list<Unit, all_traits>(build);

}  // namespace lapidary::inline LAPIDARY_BUILD::wgmma_pingpong
