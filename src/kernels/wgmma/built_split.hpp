#pragma once
#include "kernels/split.hpp"
#include "kernels/wgmma/built.hpp"
#include "tile/wgmma_parts.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

static_assert(KSplit::most == OfOneTile::most);

/// A launch of wgmma_kernel<Config> on one cluster a tile, of so many blocks as Config::split says by the tiles of D,
/// K and the multiprocessors.
template <const RungInfo& rung, class Config>
Prepared prepare_split(const Problem& problem, const Card& card) {
  const auto g = gemm_of<typename Config::Element, typename Config::Result>(problem);
  const auto walk = walk_of<Config>(g.M, g.N, Config::traits.tile);
  const int tiles = walk.rows * walk.cols, blocks = Config::split.blocks(tiles, g.K, card.multiprocessors);
  const LaunchShape shape = {.kernel = rung.name,
                             .grid = std::int64_t{tiles} * blocks,
                             .block = Config::threads,
                             .shared_bytes = sizeof(WgmmaStorage<Config>),
                             .cluster = blocks,
                             .overlaps = Config::Start::overlaps};
  return prepared(problem, shape, wgmma_kernel<Config>, Config::A::map(problem, Matrix::A),
                  Config::B::map(problem, Matrix::B), Config::Epilogue::map(problem), g, walk);
}

template <const RungInfo& rung, class Config>
constexpr BuiltKernel built_split() {
  return {.traits = Config::traits,
          .refusal = refusal_of<Config>,
          .prepare = prepare_split<rung, Config>,
          .order = order_of<Config, Config::traits.tile>()};
}

}  // namespace lapidary::inline LAPIDARY_BUILD
