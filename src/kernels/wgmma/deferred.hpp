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
  using Epilogue = typename Config::Epilogue;
  const TilesOfBlock<Config, false> tiles = {walk, {g.M, g.N}, g.K};
  const auto block = begin_block<Config>(mapA, mapB, g);
  RingPosition<Config::stages> p;

  const auto produce = [&] { tiles.load(block, p); };
  const auto consume = [&](int warpgroup) {
    typename Epilogue::template Held<Tile> held;
    const auto store = [&](int s) {
      if (held.origin.row >= 0) Epilogue::store_slice(held, s, mapD, block.shared);
    };
    auto at = tiles.tile(tiles.first);
    for (int number = tiles.first, next; tiles.has(number); number = next) {
      next = tiles.next(number);
      const auto first = [&] {
        // Which tile a number is takes divisions.
        if (tiles.has(next)) at = tiles.tile(next);
      };
      if (!tiles.has_results(number)) {
        Config::Loop::pass(block, p);
        first();
        continue;
      }
      Config::Widths::visit(
          at, [&]<class Wide>(std::type_identity<Wide>, RowCol<int> origin) __attribute__((always_inline)) {
            typename Wide::Accumulators rD;  // (WM, columns of the tile)
            origin.row += warpgroup * Wide::WM;
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
  return prepared_walk<Config>(rung, deferred_kernel<Config>, problem, card, walk);
}

template <const RungInfo& rung, class Config>
Prepared prepare_deferred(const Problem& problem, const Card& card) {
  return prepare_deferred<rung, Config>(problem, card, walk_of<Config>(problem.M, problem.N, Config::traits.tile));
}

template <const RungInfo& rung, class Config>
constexpr BuiltKernel built_deferred() {
  return built_parts<Config>(prepare_deferred<rung, Config>);
}

}  // namespace lapidary::inline LAPIDARY_BUILD
