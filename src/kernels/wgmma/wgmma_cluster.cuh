#pragma once
#include <algorithm>
#include <type_traits>

#include "device/shared.hpp"
#include "kernels/wgmma/launch.hpp"
#include "ptx/cluster.hpp"
#include "ptx/fence.hpp"
#include "ptx/warp.hpp"
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
};

/// Clusters of cluster_m x cluster_n blocks: A's tile is shared by those beside each other, B's by those below each
/// other. `slices` of each warpgroup's results are staged at a time.
template <int BM_, int BN_, int BK_, int stages_, int cluster_m_, int cluster_n_, int slices, class T, class R,
          Order a_order_, Order b_order_>
struct Config : WgmmaTile<TmaTile<T, major_of_a(a_order_), BM_, BK_, cluster_n_>,
                          TmaTile<T, major_of_b(b_order_), BN_, BK_, cluster_m_>, 2> {
  using Element = T;
  using Result = R;
  static constexpr Order a_order = a_order_, b_order = b_order_;
  static constexpr TileShape tile = {BM_, BN_, BK_};
  static constexpr int stages = stages_, consumers = 256, threads = consumers + 128;
  static constexpr int cluster_m = cluster_m_, cluster_n = cluster_n_, cluster = cluster_m * cluster_n;
  static constexpr bool staged = sizeof(R) == 2;
  using Epilogue = StagedEpilogue<R, slices>;
  static constexpr int staging = staged ? slices * Epilogue::slice : 0;  // of a warpgroup
  static_assert(!staged || wavefronts(warp_access<bf16, 8>([](int lane) { return Epilogue::write(lane, 0); })) == 4,
                "the minimum");
};

template <class Config>
struct Storage {
  SharedArray<typename Config::Element, Config::stages * Config::A::size, 1024> a;
  SharedArray<typename Config::Element, Config::stages * Config::B::size, 1024> b;
  SharedArray<typename Config::Result, std::max(2 * Config::staging, 1), 1024> d;
  SharedArray<Mbarrier, Config::stages> full, empty;
};

/// The tiles of D in clusters: those of a cluster are beside and below each other.
struct ClusterRaster : TileRaster {
  bool serpentine;  ///< whether every other tile of a block walks K backwards
};

template <class Config, class T = typename Config::Element, class R = typename Config::Result>
__global__ void __launch_bounds__(Config::threads, 1)
    kernel(const __grid_constant__ TensorMap mapA, const __grid_constant__ TensorMap mapB,
           const __grid_constant__ TensorMap mapD, const Gemm<T, R> g, const ClusterRaster raster) {
  using A = typename Config::A;
  using B = typename Config::B;
  constexpr int BK = Config::BK, cm = Config::cluster_m, cn = Config::cluster_n;
  auto& [sA, sB, sD, full, empty] = shared_storage<Storage<Config>>();
  const Pipeline<Config::stages> pipeline{&full[0], &empty[0]};
  RingPosition<Config::stages> p;
  const int steps = static_cast<int>(ceil_div<std::int64_t>(g.K, BK));
  const int warp = warp_of_block(), lane = static_cast<int>(threadIdx.x) % 32;
  const int rank = Config::cluster == 1 ? 0 : static_cast<int>(cluster_ctarank()), m = rank % cm, n = rank / cm;
  const int first = static_cast<int>(blockIdx.x) / Config::cluster;
  const int stride = static_cast<int>(gridDim.x) / Config::cluster;
  if (threadIdx.x == 0) {
    pipeline.init(Config::consumers / 32 * (cm + cn - 1));
    fence_mbarrier_init();
  }
  __syncthreads();
  if constexpr (Config::cluster > 1) {
    barrier_cluster_arrive();
    barrier_cluster_wait();
  }

  if (warp >= Config::consumers / 32) {
    setmaxnreg_dec<24>();
    if (warp > Config::consumers / 32 || !elect_sync()) return;
    // A goes to the blocks of this row of the cluster, B to those of this column.
    std::uint16_t beside = 0, below = 0;
    for (int j = 0; j < cn; ++j) beside |= 1 << (m + j * cm);
    for (int i = 0; i < cm; ++i) below |= 1 << (i + n * cm);
    bool back = false;
    for (int index = first; index < raster.tiles(); index += stride) {
      const auto [row, col] = raster.tile(index);
      for (int step = 0; step < steps; ++step, p.advance()) {
        const int k = (back ? steps - 1 - step : step) * BK;
        pipeline.wait_empty(p);
        pipeline.expect(p, A::bytes + B::bytes);
        A::copy(&sA[p.stage * A::size], mapA, (row * cm + m) * Config::BM, k, pipeline.full(p), n, beside);
        B::copy(&sB[p.stage * B::size], mapB, (col * cn + n) * Config::BN, k, pipeline.full(p), m, below);
      }
      back = raster.serpentine && !back;
    }
    if constexpr (Config::cluster > 1) pipeline.drain(p);
  } else {
    setmaxnreg_inc<240>();
    // Lane r releases a stage of block r, if that loads for this one.
    const bool releases = lane < Config::cluster && (lane % cm == m || lane / cm == n);
    for (int index = first; index < raster.tiles(); index += stride) {
      typename Config::Products rD;
      multiply_stages<Config>(rD, pipeline, p, &sA[0], &sB[0], warp / 4, steps, [&](const auto& stage) {
        if constexpr (Config::cluster > 1) {
          if (releases) pipeline.release(stage, static_cast<unsigned>(lane));
        } else {
          if (lane == 0) pipeline.release(stage);
        }
      });
      const auto [row, col] = raster.tile(index);
      const int at_row = (row * cm + m) * Config::BM, at_col = (col * cn + n) * Config::BN;
      if constexpr (Config::staged)
        Config::Epilogue::store(g, mapD, &sD[warp / 4 * Config::staging], 1 + warp / 4, at_row + warp / 4 * Config::WM,
                                at_col, rD);
      else
        store_products<Config>(g, {at_row, at_col}, static_cast<int>(threadIdx.x), rD);
    }
    // Shared memory stays until the stores have read it.
    if (Config::staged && warp % 4 == 0 && elect_sync()) cp_async_bulk_wait_group_read<0>();
  }
}

template <class Config, const RungInfo& rung = info>
void launch(const Stream& stream, const GemmProblem& problem, int group, bool serpentine) {
  const auto g = typed<typename Config::Element, typename Config::Result>(problem);
  if (!copied_by_tma(g)) return launch_unaligned(stream, problem);
  const TileShape tiles = {Config::tile.m * Config::cluster_m, Config::tile.n * Config::cluster_n, 0};
  const ClusterRaster raster = {tile_raster(g.M, g.N, tiles, group), serpentine};
  TensorMap mapD;
  if constexpr (Config::staged) {
    if (!Config::Epilogue::stores(g.D, g.ldd)) return launch_unaligned(stream, problem);
    mapD = Config::Epilogue::map(g.D, g.ldd, g.M, g.N);
  }
  const LaunchShape shape = {
      .kernel = rung.name,
      .grid = std::min(raster.tiles(), multiprocessors(stream) / Config::cluster) * Config::cluster,
      .block = Config::threads,
      .shared_bytes = sizeof(Storage<Config>),
      .cluster = Config::cluster};
  lapidary::launch(stream, shape, kernel<Config>, Config::A::map(g.A, g.lda, g.M, g.K),
                   Config::B::map(g.B, g.ldb, g.N, g.K), mapD, g, raster);
}

struct Launch {
  /// Clusters in groups of rows, and the blocks of each by rank.
  template <class Config>
  static TileOrder::Corner tile_at(std::int64_t position, std::int64_t M, std::int64_t N) {
    constexpr int cm = Config::cluster_m, cn = Config::cluster_n;
    const TileElement at = tile_raster(M, N, {Config::tile.m * cm, Config::tile.n * cn, 0}, 8)
                               .tile(static_cast<int>(position / Config::cluster));
    const int rank = static_cast<int>(position % Config::cluster);
    return {(std::int64_t{at.row} * cm + rank % cm) * Config::tile.m,
            (std::int64_t{at.col} * cn + rank / cm) * Config::tile.n};
  }

  template <class Config>
  static void call(const Stream& stream, const GemmProblem& problem) {
    launch<Config>(stream, problem, 8, false);
  }
};

template <class T, class R, Order a, Order b>
using Default = Config<128, 256, 64, 4, 2, 1, 1, T, R, a, b>;
template <class>
constexpr auto variants = wgmma_variants<Default, Launch>();

}  // namespace lapidary::inline LAPIDARY_BUILD::wgmma_cluster
