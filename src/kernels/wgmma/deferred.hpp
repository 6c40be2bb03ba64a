#pragma once
#include <type_traits>

#include "kernels/wgmma/built.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// Of a configuration whose tiles have one width: calls call(type of the WgmmaTile, where it begins in D).
template <class Tile>
struct OneWidth {
  template <class Call>
  LAPIDARY_DEVICE static void visit(const RowCol<int>& at, Call&& call) {
    call(std::type_identity<Tile>(), RowCol<int>{at.row * Tile::BM, at.col * Tile::BN});
  }
};

/// wgmma_kernel, but that a tile's results are held until the next one's products run. The consumers' part of
/// Config::Loop is then given what stores slice s of them, and Config::Epilogue has Held, hold() and store_slice() in
/// place of store().
template <class Config, class T = typename Config::Element, class R = typename Config::Result>
__global__ void __launch_bounds__(Config::threads, 1)
    deferred_kernel(const __grid_constant__ typename Config::A::Map mapA,
                    const __grid_constant__ typename Config::B::Map mapB,
                    const __grid_constant__ typename Config::Epilogue::Map mapD, const Gemm<T, R> g,
                    const typename Config::Walk walk) {
  using Tile = typename Config::Tile;
  using Cluster = typename Config::Cluster;
  using Epilogue = typename Config::Epilogue;
  auto& shared = shared_storage<WgmmaStorage<Config>>();
  const int steps = static_cast<int>(ceil_div<std::int64_t>(g.K, Tile::BK));
  const WgmmaBlock<Config> block = {shared, {&shared.full[0], &shared.empty[0]}, mapA, mapB, steps, Cluster::rank()};
  RingPosition<Config::stages> p;
  if (threadIdx.x == 0) {
    block.pipeline.init(Config::Roles::consumers / 32 * Cluster::reached);
    fence_mbarrier_init();
  }
  Cluster::sync();
  Config::Start::wait();

  const int begin = static_cast<int>(blockIdx.x) / Cluster::blocks,
            stride = static_cast<int>(gridDim.x) / Cluster::blocks;
  const auto tile = [&](int number) { return Cluster::tile(walk.tile(number), block.rank); };
  const auto produce = [&] {
    int round = 0;
    for (int number = begin; walk.has(number); number = walk.next(number, stride))
      Config::Loop::load(block, p, tile(number), round++);
    Cluster::drain(block.pipeline, p);
  };
  const auto consume = [&](int warpgroup) {
    typename Epilogue::template Held<Tile> held;
    const auto store = [&](int s) {
      if (held.origin.row >= 0) Epilogue::store_slice(held, s, mapD, shared);
    };
    auto at = tile(begin);
    for (int number = begin, next; walk.has(number); number = next) {
      next = walk.next(number, stride);
      Config::Widths::visit(
          at, [&]<class Wide>(std::type_identity<Wide>, RowCol<int> origin) __attribute__((always_inline)) {
            typename Wide::Accumulators rD;  // (WM, columns of the tile)
            origin.row += warpgroup * Wide::WM;
            const auto first = [&] {
              // Which tile a number is takes divisions.
              if (walk.has(next)) at = tile(next);
            };
            Config::Loop::template multiply<Wide, held.across>(block, p, rD, warpgroup, first, store);
            Epilogue::template hold<Wide>(g, origin, rD, held);
          });
    }
#pragma unroll
    for (int s = 0; s < held.across; ++s) store(s);
    Epilogue::finish();
  };
  Config::Roles::run(produce, consume);
}

/// A launch of deferred_kernel<Config>.
template <const RungInfo& rung, class Config>
Prepared prepare_deferred(const Problem& problem, const Card& card, const typename Config::Walk& walk) {
  const auto g = gemm_of<typename Config::Element, typename Config::Result>(problem);
  const LaunchShape shape = {.kernel = rung.name,
                             .grid = walk.template grid<typename Config::Cluster>(card.multiprocessors),
                             .block = Config::threads,
                             .shared_bytes = sizeof(WgmmaStorage<Config>),
                             .cluster = Config::Cluster::blocks,
                             .overlaps = Config::Start::overlaps};
  return prepared(problem, shape, deferred_kernel<Config>, Config::A::map(problem, Matrix::A),
                  Config::B::map(problem, Matrix::B), Config::Epilogue::map(problem), g, walk);
}

template <const RungInfo& rung, class Config>
Prepared prepare_deferred(const Problem& problem, const Card& card) {
  return prepare_deferred<rung, Config>(problem, card, walk_of<Config>(problem.M, problem.N, Config::traits.tile));
}

template <const RungInfo& rung, class Config>
constexpr BuiltKernel built_deferred() {
  return {.traits = Config::traits,
          .refusal = refusal_of<Config>,
          .prepare = prepare_deferred<rung, Config>,
          .order = order_of<Config, Config::traits.tile>()};
}

}  // namespace lapidary::inline LAPIDARY_BUILD
