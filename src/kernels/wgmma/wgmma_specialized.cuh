#pragma once
#include "device/shared.hpp"
#include "kernels/wgmma/built.hpp"
#include "ptx/fence.hpp"
#include "ptx/warp.hpp"
#include "tile/mma_tile.hpp"
#include "tile/operand_tile.hpp"
#include "tile/pipeline.hpp"
#include "tile/wgmma_tile.hpp"

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
    .counter = "barrier instructions in the main loop: none; bytes into the multiprocessor: 3/4",
    .cost =
        "A block fills the multiprocessor: while it stores its results, no other one multiplies; and four warps of "
        "which one thread works",
    .exercise =
        "`lapidary check wgmma_specialized --puzzle`: what happens where a consumer does not release its stage?",
    .architecture = 90,
    .fallback = "mma_multistage",
};

template <int BM_, int BN_, int BK_, int stages_, class T, class R, Order a_order_, Order b_order_>
struct Config : WgmmaTile<TmaTile<T, major_of_a(a_order_), BM_, BK_>, TmaTile<T, major_of_b(b_order_), BN_, BK_>, 2> {
  using Element = T;
  using Result = R;
  static constexpr Order a_order = a_order_, b_order = b_order_;
  static constexpr TileShape tile = {BM_, BN_, BK_};
  static constexpr int stages = stages_, consumers = 256, threads = consumers + 128;
};

template <class Config>
struct Storage {
  SharedArray<typename Config::Element, Config::stages * Config::A::size, 1024> a;
  SharedArray<typename Config::Element, Config::stages * Config::B::size, 1024> b;
  SharedArray<Mbarrier, Config::stages> full, empty;
};

template <class Config, class T = typename Config::Element, class R = typename Config::Result>
__global__ void __launch_bounds__(Config::threads, 1)
    kernel(const __grid_constant__ typename Config::A::Map mapA, const __grid_constant__ typename Config::B::Map mapB,
           const Gemm<T, R> g) {
  using A = typename Config::A;
  using B = typename Config::B;
  auto& [sA, sB, full, empty] = shared_storage<Storage<Config>>();
  const Pipeline<Config::stages> pipeline{&full[0], &empty[0]};
  RingPosition<Config::stages> p;
  const TileOrigin block = block_tile<Config::BM, Config::BN>(g.N);
  const int steps = static_cast<int>(ceil_div<std::int64_t>(g.K, Config::BK));
  const int warp = warp_of_block(), lane = static_cast<int>(threadIdx.x) % 32;
  if (threadIdx.x == 0) {
    pipeline.init(Config::consumers / 32);
    fence_mbarrier_init();
  }
  __syncthreads();

  if (warp >= Config::consumers / 32) {
    setmaxnreg_dec<40>();
    if (warp > Config::consumers / 32 || !elect_sync()) return;
    const int row = static_cast<int>(block.row), col = static_cast<int>(block.col);
    for (int step = 0; step < steps; ++step, p.advance()) {
      pipeline.wait_empty(p);
      pipeline.expect(p, A::bytes + B::bytes);
      A::copy(&sA[p.stage * A::size], mapA, row, step * Config::BK, pipeline.full(p));
      B::copy(&sB[p.stage * B::size], mapB, col, step * Config::BK, pipeline.full(p));
    }
  } else {
    setmaxnreg_inc<232>();
    typename Config::Products rD;
    multiply_stages<Config>(rD, pipeline, p, &sA[0], &sB[0], warp / 4, steps, [&](const auto& stage) {
      if (lane == 0) pipeline.release(stage);  // each warp for itself: its own products are complete
    });
    store_products<Config>(g, block, static_cast<int>(threadIdx.x), rD);
  }
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
using Default = Config<128, 256, 64, 4, T, R, a, b>;
template <class>
constexpr auto built_kernels = built_wgmma_kernels<Default, Launch>();

}  // namespace lapidary::inline LAPIDARY_BUILD::wgmma_specialized
