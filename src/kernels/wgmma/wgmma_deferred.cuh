#pragma once
#include "kernels/wgmma/deferred.hpp"
#include "kernels/wgmma/wgmma_energy.cuh"
#include "kernels/wgmma/wgmma_overlapped.cuh"

namespace lapidary::inline LAPIDARY_BUILD::wgmma_deferred {

constexpr RungInfo info = {
    .name = "wgmma_deferred",
    .parent = "wgmma_overlapped",
    .idea = "results leave while the next tile is multiplied",
    .change =
        "A tile's results are rounded and kept, two a register; they are staged and stored slice by slice between the "
        "first steps of the next tile, whose products are on their way; steps go there and back as in wgmma_energy",
    .why = "The parent's tensor cores rest until a tile's last slice is staged, here until its results are rounded",
    .counter = "none: the same accesses in another order; of all cycles tensor cores work in more",
    .cost =
        "64 registers beside the 128 of the next tile's sums; a block's last tile still leaves by itself, and tensor cores "
        "still rest while sums are rounded",
    .exercise = "`lapidary check wgmma_deferred --puzzle`, a few times: which slices leave too late, and which never?",
    .architecture = 90,
    .fallback = "mma_multistage",
};

/// Results are staged as in wgmma_staged, and until then held in registers.
template <class R, int slices, int cols>
struct DeferredEpilogue : wgmma_staged::StagedEpilogue<R, 2, slices, cols> {
  using Staged = wgmma_staged::StagedEpilogue<R, 2, slices, cols>;

  /// Of a warpgroup's results, as stmatrix takes them.
  template <class Tile>
  struct Held {
    static constexpr int across = Tile::BN / cols;
    RowCol<int> origin = {-1, 0};               // in D; no row: nothing is held
    std::uint32_t pairs[across][cols / 16][4];  // (slices of the tile, 16 columns, 4 matrices)
    static_assert(Tile::WM == Staged::rows && Tile::BN % cols == 0 && across % slices == 0);

    LAPIDARY_DEVICE int col(int s) const { return origin.col + s * cols; }
  };

  /// Scales and rounds a warpgroup's results, which begin at `origin` of D.
  template <class Tile, class T>
  LAPIDARY_DEVICE static void hold(const Gemm<T, R>& g, const RowCol<int>& origin, typename Tile::Accumulators& rD,
                                   Held<Tile>& held) {
    scale_warpgroup(g, origin, rD);
#pragma unroll
    for (int s = 0; s < held.across; ++s) round(&rD[0][0][s * cols / 2], held.pairs[s]);
    held.origin = origin;
  }
  LAPIDARY_DEVICE static void round(const float* sums, std::uint32_t (&pairs)[cols / 16][4]) {
#pragma unroll
    for (int pair = 0; pair < cols / 4; ++pair) {
      const R both[] = {from_float<R>(sums[2 * pair]), from_float<R>(sums[2 * pair + 1])};
      __builtin_memcpy(&pairs[pair / 4][pair % 4], both, sizeof(both));
    }
  }

  /// Stages and stores slice s of what is held.
  template <class Held>
  LAPIDARY_DEVICE static void store_slice(const Held& held, int s, const TensorMap& map,
                                          typename Staged::Storage& shared) {
    const int thread = static_cast<int>(threadIdx.x), warpgroup = warp_of_block() / 4;
    const auto barrier = 1 + static_cast<unsigned>(warpgroup);
    R* const to = &shared.staging[(warpgroup * slices + s % slices) * Staged::slice];
    const bool issuer = thread % 128 < 32 && elect_sync();
    // The slice's last store, `slices` slices ago, has read it.
    if (issuer) cp_async_bulk_wait_group_read<slices - 1>();
    barrier_sync(barrier, 128);
#pragma unroll
    for (int q = 0; q < cols / 16; ++q) stmatrix<4>(to + at(thread, q), held.pairs[s][q]);
    fence_proxy_async();
    barrier_sync(barrier, 128);
    if (!issuer) return;
    cp_async_bulk_tensor_store(map, Coordinates{held.col(s), held.origin.row}, to);
    cp_async_bulk_commit_group();
  }

  /// Slice::at from one register for all q: sums and results leave few.
  LAPIDARY_HD static constexpr int at(int thread, int q) { return Staged::Slice::at(thread, 0) ^ q * 16; }
};
static_assert([]<class Epilogue>(Epilogue) {
  for (int i = 0; i < 4 * 128; ++i)
    if (Epilogue::at(i % 128, i / 128) != Epilogue::Slice::at(i % 128, i / 128)) return false;
  return true;
}(DeferredEpilogue<bf16, 2, 64>()));

/// Walks along K as before, and between its steps does something else.
struct DeferringLoop : wgmma_specialized::MainLoop {
  /// Calls first() while the products of a tile's first step are computed, and store(s) for each s < count, one a step,
  /// during the next ones. Of a tile that has no more than `count` steps all are called before.
  template <class Tile, int count, class Config, class Position, class First, class Store>
  LAPIDARY_DEVICE static void multiply(const WgmmaBlock<Config>& block, Position& p, typename Tile::Accumulators& rD,
                                       int warpgroup, const First& first, const Store& store) {
    const auto release = [&](const Position& stage) { Config::Cluster::release(block.pipeline, stage, block.rank); };
    Position before = p;
    const auto start = [&](bool accumulate) {
      block.pipeline.wait_full(p);
      Tile::multiply(rD, &block.shared.a[p.stage * Config::A::size], &block.shared.b[p.stage * Config::B::size],
                     warpgroup, accumulate);
    };
    const auto end = [&] {
      wgmma_wait_group<1>(rD);
      release(before);
      before = p;
      p.advance();
    };
    const bool between = block.steps > count;
    if (!between)
#pragma unroll
      for (int s = 0; s < count; ++s) store(s);
    start(false);
    first();
    p.advance();
    int step = 1;
    if (between)
#pragma unroll
      for (; step <= count; ++step) {
        start(true);
        store(step - 1);
        end();
      }
    for (; step < block.steps; ++step) {
      start(true);
      end();
    }
    wgmma_wait_group<0>(rD);
    release(before);
  }
};

template <KernelTraits t>
struct Config : wgmma_overlapped::Config<t> {
  using Steps = wgmma_energy::ThereAndBack;
  using Loop = DeferringLoop;
  using Widths = OneWidth<typename wgmma_overlapped::Config<t>::Tile>;
  using Epilogue = DeferredEpilogue<ElementOf<t.kind.result>, t.slices, t.cols>;
};

constexpr KernelTraits of(Type type, Order b) { return wgmma_cluster::traits({type, type, Order::row_major, b}); }
constexpr std::array all_traits = {of(Type::bf16, Order::column_major), of(Type::bf16, Order::row_major),
                                   of(Type::f16, Order::column_major), of(Type::f16, Order::row_major)};
constexpr auto build = [](auto t) { return built_deferred<info, Config<t.value>>(); };
template <class Unit>
constexpr auto built_kernels = built_wgmma_list<Unit, all_traits>(build);

}  // namespace lapidary::inline LAPIDARY_BUILD::wgmma_deferred
