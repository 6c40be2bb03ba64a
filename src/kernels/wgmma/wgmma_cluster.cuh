#pragma once
#include <algorithm>

#include "device/shared.hpp"
#include "kernels/wgmma/built.hpp"
#include "ptx/fence.hpp"
#include "ptx/grid.hpp"
#include "ptx/warp.hpp"
#include "tile/cluster_grid.hpp"
#include "tile/mma_tile.hpp"
#include "tile/operand_tile.hpp"
#include "tile/pipeline.hpp"
#include "tile/raster.hpp"
#include "tile/staged_epilogue.hpp"
#include "tile/wgmma_tile.hpp"

namespace lapidary::inline LAPIDARY_BUILD::wgmma_cluster {

constexpr RungInfo info = {
    .name = "wgmma_cluster",
    .parent = "wgmma_persistent",
    .idea = "blocks of a cluster share what they load",
    .change =
        "Two blocks beside each other each load half of the tile that both need, and the copy engine gives it to both; "
        "results leave through shared memory, by stmatrix and bulk stores",
    .why =
        "L2 is read once for both blocks, two thirds of the bytes; and bulk stores write whole lines while the "
        "warpgroup goes on to the next tile",
    .counter = "bytes read of L2: 2/3; global_store goes to zero",
    .cost =
        "A stage is free when the consumers of both blocks have released it: the slower block holds up the other; and "
        "no block may exit before its peers have arrived at its barriers",
    .exercise = "`lapidary explain wgmma_cluster`: which bytes does multicast save, and which does it not?",
    .architecture = 90,
    .fallback = "mma_multistage",
};

/// Of each warpgroup's results `slices` of `cols` columns are staged at a time.
template <int BM_, int BN_, int BK_, int stages_, class Cluster_, int slices, int cols, class T, class R,
          Order a_order_, Order b_order_, bool promotes = false>
struct Config : WgmmaTile<TmaTile<T, major_of_a(a_order_), BM_, BK_, Cluster_::across>,
                          TmaTile<T, major_of_b(b_order_), BN_, BK_, Cluster_::down>, 2, promotes> {
  using Element = T;
  using Result = R;
  using Cluster = Cluster_;
  static constexpr Order a_order = a_order_, b_order = b_order_;
  static constexpr TileShape tile = {BM_, BN_, BK_};
  static constexpr int stages = stages_, consumers = 256, threads = consumers + 128;
  using Epilogue = StagedEpilogue<R, slices, cols>;
};

template <class Config>
struct Storage {
  SharedArray<typename Config::Element, Config::stages * Config::A::size, 1024> a;
  SharedArray<typename Config::Element, Config::stages * Config::B::size, 1024> b;
  SharedArray<typename Config::Result, std::max(2 * Config::Epilogue::room, 1), 1024> d;
  SharedArray<Mbarrier, Config::stages> full, empty;
};

/// `raster` counts clusters; if `serpentine`, every other tile of a block walks K backwards.
template <class Config, class T = typename Config::Element, class R = typename Config::Result>
__global__ void __launch_bounds__(Config::threads, 1)
    kernel(const __grid_constant__ typename Config::A::Map mapA, const __grid_constant__ typename Config::B::Map mapB,
           const __grid_constant__ TensorMap mapD, const Gemm<T, R> g, const TileRaster raster, const bool serpentine) {
  using A = typename Config::A;
  using B = typename Config::B;
  using Cluster = typename Config::Cluster;
  auto& [sA, sB, sD, full, empty] = shared_storage<Storage<Config>>();
  const Pipeline<Config::stages> pipeline{&full[0], &empty[0]};
  RingPosition<Config::stages> p;
  const int steps = static_cast<int>(ceil_div<std::int64_t>(g.K, Config::BK)), rank = Cluster::rank();
  const int warp = warp_of_block(), lane = threadIdx.x % 32;
  const int first = blockIdx.x / Cluster::blocks, stride = gridDim.x / Cluster::blocks;
  if (threadIdx.x == 0) {
    pipeline.init(Config::consumers / 32 * Cluster::reached);
    fence_mbarrier_init();
  }
  Cluster::sync();
  // In a launch that overlaps with others (LaunchShape); otherwise there is nothing to wait for.
  grid_launch_dependents();
  grid_wait();

  if (warp >= Config::consumers / 32) {
    setmaxnreg_dec<24>();
    if (warp > Config::consumers / 32 || !elect_sync()) return;
    bool back = false;
    for (int index = first; index < raster.tiles(); index += stride, back = serpentine && !back) {
      const auto [row, col] = Cluster::tile(raster.tile(index), rank);
      for (int step = 0; step < steps; ++step, p.advance()) {
        const int k = (back ? steps - 1 - step : step) * Config::BK;
        pipeline.wait_empty(p);
        pipeline.expect(p, A::bytes + B::bytes);
        A::copy(&sA[p.stage * A::size], mapA, row * Config::BM, k, pipeline.full(p), Cluster::col(rank),
                Cluster::beside(rank));
        B::copy(&sB[p.stage * B::size], mapB, col * Config::BN, k, pipeline.full(p), Cluster::row(rank),
                Cluster::below(rank));
      }
    }
    pipeline.drain(p);  // peers still arrive here
  } else {
    setmaxnreg_inc<240>();
    for (int index = first; index < raster.tiles(); index += stride) {
      typename Config::Products rD;
      multiply_stages<Config>(rD, pipeline, p, &sA[0], &sB[0], warp / 4, steps, [&](const auto& stage) {
        // Each lane releases the stage of one block whose copies come here.
        if (lane < Cluster::blocks && Cluster::reaches(lane, rank))
          pipeline.release(stage, static_cast<unsigned>(lane));
      });
      const auto [row, col] = Cluster::tile(raster.tile(index), rank);
      Config::Epilogue::template store<Config>(g, mapD, &sD[0], row * Config::BM, col * Config::BN, rD);
    }
    Config::Epilogue::finish();
  }
}

template <const RungInfo& rung, bool serpentine, bool overlaps>
struct LaunchBy {
  static constexpr int group = 8;  // rows of clusters
  static constexpr bool there_and_back = serpentine;
  template <class Config>
  static TileOrder::Corner tile_at(std::int64_t position, std::int64_t M, std::int64_t N) {
    using Cluster = typename Config::Cluster;
    const auto cluster = Cluster::raster(M, N, Config::tile, group).tile(static_cast<int>(position / Cluster::blocks));
    const TileElement at = Cluster::tile(cluster, static_cast<int>(position % Cluster::blocks));
    return {std::int64_t{at.row} * Config::BM, std::int64_t{at.col} * Config::BN};
  }
  template <class Config>
  static std::string refusal(const Problem& problem) {
    const std::string of_operands = refusal_of_operands(problem);
    return of_operands.empty() ? Config::Epilogue::refusal(problem) : of_operands;
  }
  template <class Config>
  static Prepared prepare(const Problem& problem, [[maybe_unused]] const Card& card) {
    using Cluster = typename Config::Cluster;
    const auto g = gemm_of<typename Config::Element, typename Config::Result>(problem);
    const TileRaster raster = Cluster::raster(g.M, g.N, Config::tile, group);
    const LaunchShape shape = {.kernel = rung.name,
                               .grid = Cluster::grid(raster, card.multiprocessors),
                               .block = Config::threads,
                               .shared_bytes = sizeof(Storage<Config>),
                               .cluster = Cluster::blocks,
                               .overlaps = overlaps};
    return prepared(problem, shape, kernel<Config>, Config::A::map(problem, Matrix::A),
                    Config::B::map(problem, Matrix::B), Config::Epilogue::map(problem), g, raster, serpentine);
  }
};
using Launch = LaunchBy<info, false, false>;

template <class T, class R, Order a, Order b>
using Default = Config<128, 256, 64, 4, ClusterGrid<2, 1>, 2, 64, T, R, a, b>;
template <class>
constexpr auto built_kernels = built_wgmma_kernels<Default, Launch>();

}  // namespace lapidary::inline LAPIDARY_BUILD::wgmma_cluster
