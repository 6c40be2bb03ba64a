#pragma once
#include <algorithm>

#include "kernels/wgmma/wgmma_specialized.cuh"
#include "tile/raster.hpp"

namespace lapidary::inline LAPIDARY_BUILD::wgmma_persistent {

constexpr RungInfo info = {
    .name = "wgmma_persistent",
    .parent = "wgmma_specialized",
    .idea = "blocks stay, and take tile after tile",
    .change =
        "As many blocks as there are multiprocessors walk through the tiles of D, in groups of rows; the producer "
        "goes on to the next tile while the consumers store this one",
    .why =
        "The first loads of a tile, and the launch of its block, hide behind the products and stores of the one "
        "before; tiles that are near each other in time share rows of A and columns of B in L2",
    .counter = "bytes from DRAM: by the order of the tiles; blocks: one a multiprocessor",
    .cost = "Tiles that do not come out even leave multiprocessors idle in the last round",
    .exercise = "`lapidary raster -m 8192 -n 8192 -k 8192 --tile 128x256x64`: which height of a group reads the least?",
    .architecture = 90,
    .fallback = "mma_multistage",
};

using wgmma_specialized::Config, wgmma_specialized::Storage;

template <class Config, class T = typename Config::Element, class R = typename Config::Result>
__global__ void __launch_bounds__(Config::threads, 1)
    kernel(const __grid_constant__ typename Config::A::Map mapA, const __grid_constant__ typename Config::B::Map mapB,
           const Gemm<T, R> g, const TileRaster raster) {
  using A = typename Config::A;
  using B = typename Config::B;
  auto& [sA, sB, full, empty] = shared_storage<Storage<Config>>();
  const Pipeline<Config::stages> pipeline{&full[0], &empty[0]};
  RingPosition<Config::stages> p;
  const int steps = static_cast<int>(ceil_div<std::int64_t>(g.K, Config::BK));
  const int warp = warp_of_block(), lane = static_cast<int>(threadIdx.x) % 32;
  const int first = static_cast<int>(blockIdx.x), stride = static_cast<int>(gridDim.x);
  if (threadIdx.x == 0) {
    pipeline.init(Config::consumers / 32);
    fence_mbarrier_init();
  }
  __syncthreads();

  if (warp >= Config::consumers / 32) {
    setmaxnreg_dec<40>();
    if (warp > Config::consumers / 32 || !elect_sync()) return;
    for (int index = first; index < raster.tiles(); index += stride) {
      const auto [row, col] = raster.tile(index);
      for (int step = 0; step < steps; ++step, p.advance()) {
        pipeline.wait_empty(p);
        pipeline.expect(p, A::bytes + B::bytes);
        A::copy(&sA[p.stage * A::size], mapA, row * Config::BM, step * Config::BK, pipeline.full(p));
        B::copy(&sB[p.stage * B::size], mapB, col * Config::BN, step * Config::BK, pipeline.full(p));
      }
    }
  } else {
    setmaxnreg_inc<232>();
    for (int index = first; index < raster.tiles(); index += stride) {
      typename Config::Products rD;
      multiply_stages<Config>(rD, pipeline, p, &sA[0], &sB[0], warp / 4, steps, [&](const auto& stage) {
        if (lane == 0) pipeline.release(stage);
      });
      const auto [row, col] = raster.tile(index);
      const TileOrigin tile = {std::int64_t{row} * Config::BM, std::int64_t{col} * Config::BN};
      store_products<Config>(g, tile, static_cast<int>(threadIdx.x), rD);
    }
  }
}

struct Launch {
  template <class Config>
  static TileOrder::Corner tile_at(std::int64_t position, std::int64_t M, std::int64_t N) {
    const TileOrigin at = tile_origin(tile_raster(M, N, Config::tile, 8), Config::tile, position);
    return {at.row, at.col};
  }
  template <class Config>
  static Prepared prepare(const Problem& problem, [[maybe_unused]] const Card& card) {
    const auto g = gemm_of<typename Config::Element, typename Config::Result>(problem);
    const TileRaster raster = tile_raster(g.M, g.N, Config::tile, 8);
    const LaunchShape shape = {.kernel = info.name,
                               .grid = std::min(raster.tiles(), card.multiprocessors),
                               .block = Config::threads,
                               .shared_bytes = sizeof(Storage<Config>)};
    return prepared(problem, shape, kernel<Config>, Config::A::map(problem, Matrix::A),
                    Config::B::map(problem, Matrix::B), g, raster);
  }
};

template <class T, class R, Order a, Order b>
using Default = Config<128, 256, 64, 4, T, R, a, b>;
template <class>
constexpr auto built_kernels = built_wgmma_kernels<Default, Launch>();

}  // namespace lapidary::inline LAPIDARY_BUILD::wgmma_persistent
