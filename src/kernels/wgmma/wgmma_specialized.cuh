#pragma once
#include "kernels/wgmma/built.hpp"
#include "ptx/warp.hpp"
#include "tile/wgmma_kernel.hpp"

namespace lapidary::inline LAPIDARY_BUILD::wgmma_specialized {

constexpr RungInfo info = {
    .name = "wgmma_specialized",
    .parent = "wgmma_tma",
    .idea = "one warp copies, two warpgroups multiply",
    .change =
        "A producer warp fills a ring of stages and two consumer warpgroups empty it; they meet at mbarriers alone, "
        "and the producer's registers go to the consumers",
    .why =
        "Nobody who multiplies waits for a barrier of the block or starts a copy, and a tile of 128 x 256 has three "
        "quarters of the bytes of 128 x 128 for each product",
    .counter = "barriers of the block (BAR) in the main loop: none; bytes into the multiprocessor: 3/4",
    .cost =
        "A block fills the multiprocessor: while it stores its results, no other one multiplies; and four warps of "
        "which one thread works",
    .exercise =
        "`lapidary check wgmma_specialized --puzzle`, a few times: what ends in a deadlock, and what in a race?",
    .architecture = 90,
    .fallback = "mma_multistage",
};

/// The first threads of a block multiply, by warpgroups. One thread of the four warps behind them copies; registers are
/// dealt to four warps at a time, and so there are four.
template <int warpgroups>
struct Specialized {
  static constexpr int consumers = 128 * warpgroups, threads = consumers + 128;

  template <class Produce, class Consume>
  LAPIDARY_DEVICE static void run(const Produce& produce, const Consume& consume) {
    const int warp = warp_of_block();
    if (warp >= consumers / 32) {
      setmaxnreg_dec<24>();
      if (warp > consumers / 32 || !elect_sync()) return;
      produce();
    } else {
      setmaxnreg_inc<240>();
      consume(warp / 4);
    }
  }
};

/// The walk along K of a tile, from position p of the ring on.
struct MainLoop {
  static constexpr bool promotes = false;

  /// Asks for the operands of the tile `at` of D, as soon as stages are free: for rows of A and columns of B that D
  /// has.
  template <class Config, class Position>
  LAPIDARY_DEVICE static void load(const WgmmaBlock<Config>& block, Position& p, const RowCol<int>& at, int round,
                                   const RowCol<bool>& in_d = {true, true}) {
    using A = typename Config::A;
    using B = typename Config::B;
    using Cluster = typename Config::Cluster;
    const auto of_a = A::origin(block.mapA, at.row * A::MN);
    const auto of_b = B::origin(block.mapB, at.col * B::MN);
    const auto copy_a = [&](int k, Mbarrier& full) {
      Cluster::template copy_a<A>(&block.shared.a[p.stage * A::size], block.mapA, of_a, k, full, block.rank);
    };
    const auto copy_b = [&](int k, Mbarrier& full) {
      Cluster::template copy_b<B>(&block.shared.b[p.stage * B::size], block.mapB, of_b, k, full, block.rank);
    };
    // Of small tiles a step's products take a hundred cycles, in which its copies have to be asked for.
    if (in_d.row && in_d.col) {
      for_each_stage(block, p, round, A::bytes + B::bytes, [&](int k, Mbarrier& full) {
        copy_a(k, full);
        copy_b(k, full);
      });
    } else {
      const int bytes = (in_d.row ? A::bytes : Cluster::across - 1) + (in_d.col ? B::bytes : Cluster::down - 1);
      for_each_stage(block, p, round, bytes, [&](int k, Mbarrier& full) {
        in_d.row ? copy_a(k, full) : Cluster::skip_a(full, block.rank);
        in_d.col ? copy_b(k, full) : Cluster::skip_b(full, block.rank);
      });
    }
  }

  /// Calls copy(where along k, the stage's full barrier) for each step of a tile, when its stage is free: so many bytes
  /// come.
  template <class Config, class Position, class Copy>
  LAPIDARY_DEVICE static void for_each_stage(const WgmmaBlock<Config>& block, Position& p, int round, int bytes,
                                             Copy&& copy) {
    for (int step = 0; step < block.steps; ++step, p.advance()) {
      const int k = Config::Steps::at(step, block.steps, round) * Config::A::BK;
      block.pipeline.wait_empty(p);
      block.pipeline.expect(p, static_cast<unsigned>(bytes));
      copy(k, block.pipeline.full(p));
    }
  }

  /// Lets pass what other blocks of the cluster need, for a tile of which D has nothing.
  template <class Config, class Position>
  LAPIDARY_DEVICE static void pass(const WgmmaBlock<Config>& block, Position& p) {
    for (int step = 0; step < block.steps; ++step, p.advance()) {
      block.pipeline.wait_full(p);
      // A few lanes release for all: of a stage that was filled twice since, the others would wait for a third time.
      __syncwarp();
      Config::Cluster::release(block.pipeline, p, block.rank);
    }
  }

  /// Multiplies stage after stage as they come. While the products of one are computed, those of the next are started.
  template <class Config, class Position>
  LAPIDARY_DEVICE static void multiply(const WgmmaBlock<Config>& block, Position& p,
                                       typename Config::Tile::Accumulators& rD, int warpgroup) {
    using Tile = typename Config::Tile;
    // Each warp for itself: its own products are complete.
    const auto release = [&](const Position& stage) { Config::Cluster::release(block.pipeline, stage, block.rank); };
    Position before = p;
    for (int step = 0; step < block.steps; ++step) {
      block.pipeline.wait_full(p);
      Tile::multiply(rD, &block.shared.a[p.stage * Tile::A::size], &block.shared.b[p.stage * Tile::B::size], warpgroup,
                     step > 0);
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
struct Config : WgmmaConfig<t, 2> {
  using Roles = Specialized<2>;
  using Loop = MainLoop;
  using Walk = OneTile;
  using Epilogue = DirectEpilogue<ElementOf<t.kind.result>>;
  using Cluster = Alone;
  using Steps = Forwards;
  using Start = AtOnce;
  static constexpr int threads = Roles::threads;
};

constexpr KernelTraits traits(const GemmKind& kind) { return {.tile = {128, 256, 64}, .kind = kind, .stages = 4}; }
constexpr auto build = [](auto t) { return built_wgmma<info, Config<t.value>>(); };
template <class Unit>
constexpr auto built_kernels = built_wgmma_kernels<Unit, traits>(build);

}  // namespace lapidary::inline LAPIDARY_BUILD::wgmma_specialized
