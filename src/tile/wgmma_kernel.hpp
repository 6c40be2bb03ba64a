#pragma once
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "core/cluster_places.hpp"
#include "core/gemm.hpp"
#include "core/math.hpp"
#include "device/launch.hpp"
#include "device/shared.hpp"
#include "ptx/compute_here.hpp"
#include "ptx/fence.hpp"
#include "tile/mma_tile.hpp"
#include "tile/pipeline.hpp"
#include "tile/quotient.hpp"

// A kernel of which some warps copy what others multiply, put together from parts. A configuration names them:
//
//     part      what it says                                   written where it is the idea, in
//     Roles     who copies, and who multiplies                 wgmma_specialized, wgmma_waves
//     Loop      how the two walk along K                       wgmma_specialized, wgmma_promoted, wgmma_split_k
//     Walk      which tiles of D a block takes                 wgmma_persistent, wgmma_split_k
//     Epilogue  how results get from registers to D            wgmma_staged, wgmma_fused, wgmma_staged_f32
//     Cluster   which blocks share what is copied              wgmma_cluster
//     Steps     in which order a tile's steps along K come     wgmma_energy
//     Start     what a block waits for before it reads         wgmma_overlapped
//
// Below are those that are no rung's idea, and what they work on.

namespace lapidary::inline LAPIDARY_BUILD {

/// Shared memory: a ring of stages, and what the epilogue has.
template <class Config>
struct WgmmaRing {
  using T = typename Config::Element;
  SharedArray<T, Config::stages * Config::A::size, 1024> a;  // (stages, BM, BK)
  SharedArray<T, Config::stages * Config::B::size, 1024> b;  // (stages, BN, BK)
  SharedArray<Mbarrier, Config::stages> full, empty;
};
template <class Config>
struct WgmmaStorage : WgmmaRing<Config>, Config::Epilogue::Storage {};

/// What a block's parts work on.
template <class Config>
struct WgmmaBlock {
  WgmmaStorage<Config>& shared;
  Pipeline<Config::stages> pipeline;
  const typename Config::A::Map& mapA;
  const typename Config::B::Map& mapB;
  int steps;  ///< along K
  int rank;   ///< in the cluster
};

/// One tile of D a block, row by row.
struct OneTile {
  static constexpr bool row_by_row = true;
  int rows, cols;  ///< of tiles

  static OneTile over(std::int64_t M, std::int64_t N, const TileShape& tile, const ClusterShape&) {
    return {static_cast<int>(ceil_div<std::int64_t>(M, tile.m)), static_cast<int>(ceil_div<std::int64_t>(N, tile.n))};
  }
  template <class Cluster>
  int grid(int) const {
    return rows * cols;
  }
  LAPIDARY_HD constexpr RowCol<int> tile(int number) const { return {number / cols, number % cols}; }
  LAPIDARY_HD constexpr bool has(int number) const { return number >= 0; }
  LAPIDARY_HD constexpr int next(int, int) const { return -1; }
};

/// Of a block that shares nothing with others.
struct Alone {
  static constexpr int down = 1, across = 1, blocks = 1, reached = 1;

  LAPIDARY_DEVICE static int rank() { return 0; }
  LAPIDARY_DEVICE static void sync() { __syncthreads(); }
  LAPIDARY_HD static constexpr RowCol<int> tile(const RowCol<int>& at, int) { return at; }

  template <class A, class Origin>
  LAPIDARY_DEVICE static void copy_a(typename A::T* to, const typename A::Map& map, const Origin& at, int k,
                                     Mbarrier& full, int, CallSite where = std::source_location::current()) {
    A::copy(to, map, at, k, full, where);
  }
  template <class B, class Origin>
  LAPIDARY_DEVICE static void copy_b(typename B::T* to, const typename B::Map& map, const Origin& at, int k,
                                     Mbarrier& full, int, CallSite where = std::source_location::current()) {
    B::copy(to, map, at, k, full, where);
  }
  /// Every block has a tile of D's.
  LAPIDARY_DEVICE static void skip_a(Mbarrier&, int) {}
  LAPIDARY_DEVICE static void skip_b(Mbarrier&, int) {}
  /// By all lanes of a warp, which has read the stage.
  template <class Pipeline>
  LAPIDARY_DEVICE static void release(const Pipeline& pipeline, const typename Pipeline::Position& p, int,
                                      CallSite where = std::source_location::current()) {
    if (threadIdx.x % 32 == 0) pipeline.release(p, where);
  }
  template <class Pipeline>
  LAPIDARY_DEVICE static void drain(const Pipeline&, const typename Pipeline::Position&) {}
};

/// Results go from registers to D.
template <class R>
struct DirectEpilogue {
  static constexpr bool finishes = false;
  struct Storage {};
  struct Map {};
  static Map map(const Problem&) { return {}; }
  static std::string refusal(const Problem&) { return {}; }

  template <class Tile, class T>
  LAPIDARY_DEVICE static void store(const Gemm<T, R>& g, const RowCol<std::int64_t>& origin, int thread,
                                    typename Tile::Accumulators& rD, const Map&, Storage&) {
    store_products<Tile>(g, origin, thread, rD);
  }
  LAPIDARY_DEVICE static void finish() {}
};

/// Each tile's steps from the first to the last.
struct Forwards {
  static constexpr bool there_and_back = false;
  LAPIDARY_HD static constexpr int at(int step, int, int) { return step; }
};

/// Nothing.
struct AtOnce {
  static constexpr bool overlaps = false;
  LAPIDARY_DEVICE static void wait() {}
};

/// A tile of which the compiler computes here where it is.
template <class At>
LAPIDARY_DEVICE At computed_here(At at) {
  compute_here(at.row);
  compute_here(at.col);
  return at;
}

/// A block whose barriers are ready, and that may read.
template <class Config, class T, class R>
LAPIDARY_DEVICE WgmmaBlock<Config> begin_block(const typename Config::A::Map& mapA, const typename Config::B::Map& mapB,
                                               const Gemm<T, R>& g) {
  using Tile = typename Config::Tile;
  using Cluster = typename Config::Cluster;
  auto& shared = shared_storage<WgmmaStorage<Config>>();
  const WgmmaBlock<Config> block = {shared,
                                    {&shared.full[0], &shared.empty[0]},
                                    mapA,
                                    mapB,
                                    static_cast<int>(ceil_div<std::int64_t>(g.K, Tile::BK)),
                                    Cluster::rank()};
  if (threadIdx.x == 0) {
    block.pipeline.init(Config::Roles::consumers / 32 * Cluster::reached);
    fence_mbarrier_init();
  }
  Cluster::sync();
  Config::Start::wait();
  return block;
}

/// The tiles of D that a block takes one after the other, by their numbers in Config::Walk. Which tile a number is
/// takes divisions; of the first one they are made here, while one warp makes the block's barriers ready.
/// @param early  if not, they are made where they are needed, and two registers are free until then
template <class Config, bool early = true>
struct TilesOfBlock {
  using Cluster = typename Config::Cluster;
  using Tile = typename Config::Tile;
  using At = decltype(Cluster::tile(std::declval<typename Config::Walk>().tile(0), 0));
  static constexpr std::int64_t endless = std::numeric_limits<std::int64_t>::max();
  /// Clusters go over the edges of D, and of each product's, as a whole, where tiles are in a grid.
  static constexpr bool hang_over = Cluster::down * Cluster::across > 1 && requires(const typename Config::Walk& walk) {
    walk.rows, walk.cols;
  };
  const typename Config::Walk& walk;
  const RowCol<std::int64_t> extent{endless, endless};  ///< of D, or of each product's
  const std::int64_t K = 0;                             ///< of the product
  const int rank = Cluster::rank();                     ///< of the block, in the cluster
  const int first = static_cast<int>(blockIdx.x) / Cluster::blocks,
            stride = static_cast<int>(gridDim.x) / Cluster::blocks;
  const bool has_first = early && threadIdx.x >= 32;
  const At first_tile = has_first ? computed_here(find(first)) : At{};
  const bool beyond = some_beyond();  ///< D has nothing of some tiles of clusters, which are passed

  LAPIDARY_DEVICE bool has(int number) const { return walk.has(number); }
  LAPIDARY_DEVICE int next(int number) const { return walk.next(number, stride); }
  LAPIDARY_DEVICE At tile(int number) const { return has_first && number == first ? first_tile : find(number); }

  /// Whether D has rows of a tile, and whether it has columns of it.
  LAPIDARY_DEVICE RowCol<bool> in_d(const At& at) const {
    if constexpr (hang_over) {
      if (!beyond) return {true, true};
      const int row = remainder_of(at.row, walk.rows * Cluster::down);
      const int col = remainder_of(at.col, walk.cols * Cluster::across);
      return {std::int64_t{row} * Tile::BM < extent.row, std::int64_t{col} * Tile::BN < extent.col};
    } else {
      return {true, true};
    }
  }
  /// Whether D has results of a tile. By nothing that the compiler was to compute at some place: it does not know of
  /// such a value that all lanes have the same, and where they could part, addresses go through registers of each lane.
  LAPIDARY_DEVICE bool has_results(int number) const {
    if (!beyond) return true;
    const RowCol<bool> in = in_d(find(number));
    return in.row && in.col;
  }

  /// Asks for the operands of all.
  template <class Position>
  LAPIDARY_DEVICE void load(const WgmmaBlock<Config>& block, Position& p) const {
    int round = 0;
    for (int number = first; has(number); number = next(number)) {
      const auto at = tile(number);
      if constexpr (hang_over)
        Config::Loop::load(block, p, at, round++, in_d(at));
      else
        Config::Loop::load(block, p, at, round++);
    }
    Cluster::drain(block.pipeline, p);
  }

 private:
  LAPIDARY_DEVICE At find(int number) const { return Cluster::tile(walk.tile(number), rank); }
  LAPIDARY_DEVICE bool some_beyond() const {
    if constexpr (hang_over)
      return K > std::int64_t{few_steps} * Tile::BK &&
             ((std::int64_t{walk.rows} * Cluster::down - 1) * Tile::BM >= extent.row ||
              (std::int64_t{walk.cols} * Cluster::across - 1) * Tile::BN >= extent.col);
    else
      return false;
  }
};

/// What Config::Epilogue has to know of where a tile is. It takes divisions, which are made here: where the compiler
/// would make them, behind the products, nothing else is left to do meanwhile.
template <class Config, class At>
LAPIDARY_DEVICE auto place_of(const At& tile, const typename Config::Epilogue::Map& map) {
  using Tile = typename Config::Tile;
  const At at = computed_here(tile);
  const RowCol<std::int64_t> origin = {std::int64_t{at.row} * Tile::BM, std::int64_t{at.col} * Tile::BN};
  if constexpr (requires { Config::Epilogue::place(origin, map); })
    return Config::Epilogue::place(origin, map);
  else
    return origin;
}

template <class Config, class T = typename Config::Element, class R = typename Config::Result>
__global__ void __launch_bounds__(Config::threads, 1)
    wgmma_kernel(const __grid_constant__ typename Config::A::Map mapA,
                 const __grid_constant__ typename Config::B::Map mapB,
                 const __grid_constant__ typename Config::Epilogue::Map mapD, const Gemm<T, R> g,
                 const typename Config::Walk walk) {
  using Tile = typename Config::Tile;
  const TilesOfBlock<Config> tiles = {walk, {g.M, g.N}, g.K};
  const auto block = begin_block<Config>(mapA, mapB, g);
  RingPosition<Config::stages> p;

  const auto produce = [&] { tiles.load(block, p); };
  const auto consume = [&](int warpgroup) {
    for (int number = tiles.first; tiles.has(number); number = tiles.next(number)) {
      if (!tiles.has_results(number)) {
        Config::Loop::pass(block, p);
        continue;
      }
      // In a function of their own, which is inlined, ptxas keeps the last tile's results for the next one, and spills.
      typename Tile::Accumulators rD;  // (WM, BN)
      const auto place = place_of<Config>(tiles.tile(number), mapD);
      if constexpr (Config::Epilogue::finishes) Config::Epilogue::template prefetch<Tile>(g, place, mapD);
      Config::Loop::multiply(block, p, rD, warpgroup);
      Config::Epilogue::template store<Tile>(g, place, static_cast<int>(threadIdx.x), rD, mapD, block.shared);
    }
    Config::Epilogue::finish();
  };
  Config::Roles::run(produce, consume);
}

}  // namespace lapidary::inline LAPIDARY_BUILD
