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
        "themselves, at one and a half times the rate that mma.sync reaches",
    .counter = "shared_load and shared_store go to zero: operands pass no register any more",
    .cost =
        "A swizzle of 128 bytes, and matrices whose bases and lines lie at multiples of 16 bytes; the warps that "
        "multiply also wait for each other before each copy",
    .exercise = "`lapidary descriptor 0x4000004000010240`: how far apart are rows 0 and 8 of A? Which bits say so?",
    .architecture = 90,
    .fallback = "mma_multistage",
};

template <int BM_, int BN_, int BK_, int stages_, class T, class R, Order a_order_, Order b_order_>
struct Config : WgmmaTile<TmaTile<T, major_of_a(a_order_), BM_, BK_>, TmaTile<T, major_of_b(b_order_), BN_, BK_>, 1> {
  using Element = T;
  using Result = R;
  static constexpr Order a_order = a_order_, b_order = b_order_;
  static constexpr TileShape tile = {BM_, BN_, BK_};
  static constexpr int stages = stages_, threads = 128;
};

template <class Config>
struct Storage {
  SharedArray<typename Config::Element, Config::stages * Config::A::size, 1024> a;
  SharedArray<typename Config::Element, Config::stages * Config::B::size, 1024> b;
  SharedArray<Mbarrier, Config::stages> full;
};

template <class Config, class T = typename Config::Element, class R = typename Config::Result>
__global__ void __launch_bounds__(Config::threads, 2)
    kernel(const __grid_constant__ typename Config::A::Map mapA, const __grid_constant__ typename Config::B::Map mapB,
           const Gemm<T, R> g) {
  using A = typename Config::A;
  using B = typename Config::B;
  constexpr int stages = Config::stages;
  auto& [sA, sB, full] = shared_storage<Storage<Config>>();
  const TileOrigin block = block_tile<Config::BM, Config::BN>(g.N);
  const int row = static_cast<int>(block.row), col = static_cast<int>(block.col);
  const int steps = static_cast<int>(ceil_div<std::int64_t>(g.K, Config::BK));
  const bool first = threadIdx.x == 0;
  if (first) {
    for (int stage = 0; stage < stages; ++stage) mbarrier_init(full[stage], 1);
    fence_mbarrier_init();
  }
  __syncthreads();

  const auto load = [&](int step, int stage) {
    mbarrier_arrive_expect_tx(full[stage], A::bytes + B::bytes);
    A::copy(&sA[stage * A::size], mapA, row, step * Config::BK, full[stage]);
    B::copy(&sB[stage * B::size], mapB, col, step * Config::BK, full[stage]);
  };
  if (first)
    for (int step = 0; step < stages - 1 && step < steps; ++step) load(step, step);

  typename Config::Products rD;
  RingPosition<stages> p;
  for (int step = 0; step < steps; ++step, p.advance()) {
    wait(full[p.stage], p.phase);
    Config::multiply(rD, &sA[p.stage * A::size], &sB[p.stage * B::size], 0, step > 0);
    // The products of the step before are complete: in all warps, and its stage is free.
    wgmma_wait_group<1>(rD);
    __syncthreads();
    if (first && step + stages - 1 < steps) load(step + stages - 1, p.stage == 0 ? stages - 1 : p.stage - 1);
  }
  wgmma_wait_group<0>(rD);
  store_products<Config>(g, block, static_cast<int>(threadIdx.x), rD);
}

struct Launch {
  template <class Config>
  static Prepared prepare(const Problem& problem, [[maybe_unused]] const Card& card) {
    const auto g = gemm_of<typename Config::Element, typename Config::Result>(problem);
    const LaunchShape shape = {.kernel = info.name,
                               .grid = tile_grid(g.M, g.N, Config::tile),
                               .block = Config::threads,
                               .shared_bytes = sizeof(Storage<Config>)};
    return prepared(problem, shape, kernel<Config>, Config::A::map(problem, Matrix::A),
                    Config::B::map(problem, Matrix::B), g);
  }
};

template <class T, class R, Order a, Order b>
using Default = Config<128, 128, 64, 3, T, R, a, b>;
template <class>
constexpr auto built_kernels = built_wgmma_kernels<Default, Launch>();

}  // namespace lapidary::inline LAPIDARY_BUILD::wgmma_tma
