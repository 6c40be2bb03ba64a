#pragma once
#include "device/shared.hpp"
#include "kernels/wgmma/built.hpp"
#include "ptx/fence.hpp"
#include "tile/global_tile.hpp"
#include "tile/mma_tile.hpp"
#include "tile/operand_tile.hpp"
#include "tile/pipeline.hpp"
#include "tile/wgmma_tile.hpp"

namespace lapidary::inline LAPIDARY_BUILD::wgmma_tma {

constexpr RungInfo info = {
    .name = "wgmma_tma",
    .parent = "mma_multistage",
    .idea = "a warpgroup multiplies what TMA has brought",
    .change =
        "One thread asks the Tensor Memory Accelerator for whole tiles, and four warps together multiply them from "
        "where they lie in shared memory",
    .why =
        "No thread computes addresses, copies elements or loads fragments: the tensor cores read both operands by "
        "themselves, at 1.55 times the rate that mma.sync reaches",
    .counter = "shared_load and shared_store go to zero: operands pass no register any more",
    .cost =
        "A swizzle of 128 bytes, and matrices whose bases and lines lie at multiples of 16 bytes; the warps that "
        "multiply also wait for each other before each copy",
    .exercise = "`lapidary descriptor 0x4000004000010240`: how far apart are rows 0 and 8 of A? Which bits say so?",
    .architecture = 90,
    .fallback = "mma_multistage",
};

template <KernelTraits t>
struct Config : WgmmaConfig<t, 1> {
  static constexpr int threads = 128;
};

template <class Config>
struct Storage {
  SharedArray<typename Config::Element, Config::stages * Config::A::size, 1024> a;  // (stages, BM, BK)
  SharedArray<typename Config::Element, Config::stages * Config::B::size, 1024> b;  // (stages, BN, BK)
  SharedArray<Mbarrier, Config::stages> full;
};

template <class Config, class T = typename Config::Element, class R = typename Config::Result>
__global__ void __launch_bounds__(Config::threads, 2)
    kernel(const __grid_constant__ typename Config::A::Map mapA, const __grid_constant__ typename Config::B::Map mapB,
           const Gemm<T, R> g) {
  using A = typename Config::A;
  using B = typename Config::B;
  using Tile = typename Config::Tile;
  constexpr int stages = Config::stages;
  auto& [sA, sB, full] = shared_storage<Storage<Config>>();
  const RowCol<std::int64_t> block = block_tile<Tile::BM, Tile::BN>(g.N);
  const int row = static_cast<int>(block.row), col = static_cast<int>(block.col);
  const int steps = static_cast<int>(ceil_div<std::int64_t>(g.K, Tile::BK));
  const bool first = threadIdx.x == 0;
  if (first) {
    for (int stage = 0; stage < stages; ++stage) mbarrier_init(full[stage], 1);
    fence_mbarrier_init();
  }
  __syncthreads();

  const auto load = [&](int step, int stage) {
    mbarrier_arrive_expect_tx(full[stage], A::bytes + B::bytes);
    A::copy(&sA[stage * A::size], mapA, row, step * Tile::BK, full[stage]);
    B::copy(&sB[stage * B::size], mapB, col, step * Tile::BK, full[stage]);
  };
  if (first)
    for (int step = 0; step < stages - 1 && step < steps; ++step) load(step, step);

  typename Tile::Accumulators rD;  // (BM, BN)
  RingPosition<stages> p;
  for (int step = 0; step < steps; ++step, p.advance()) {
    wait(full[p.stage], p.phase);
    Tile::multiply(rD, &sA[p.stage * A::size], &sB[p.stage * B::size], 0, step > 0);
    // The products of the step before are complete: in all warps, which release its stage.
    wgmma_wait_group<1>(rD);
    __syncthreads();
    if (first && step + stages - 1 < steps) load(step + stages - 1, p.stage == 0 ? stages - 1 : p.stage - 1);
  }
  wgmma_wait_group<0>(rD);
  store_products<Tile>(g, block, static_cast<int>(threadIdx.x), rD);
}

template <class Config>
Prepared prepare(const Problem& problem, const Card&) {
  const auto g = gemm_of<typename Config::Element, typename Config::Result>(problem);
  const LaunchShape shape = {.kernel = info.name,
                             .grid = tile_grid(g.M, g.N, Config::traits.tile),
                             .block = Config::threads,
                             .shared_bytes = sizeof(Storage<Config>)};
  return prepared(problem, shape, kernel<Config>, Config::A::map(problem, Matrix::A),
                  Config::B::map(problem, Matrix::B), g);
}

constexpr KernelTraits traits(const GemmKind& kind) { return {.tile = {128, 128, 64}, .kind = kind, .stages = 3}; }
constexpr auto build = [](auto t) { return BuiltKernel{t.value, refusal_of_operands, prepare<Config<t.value>>}; };
template <class Unit>
constexpr auto built_kernels = built_wgmma_kernels<Unit, traits>(build);

}  // namespace lapidary::inline LAPIDARY_BUILD::wgmma_tma
