#pragma once
#include <array>

#include "kernels/split.hpp"
#include "kernels/wgmma/built.hpp"
#include "tile/wgmma_parts.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// A launch of a kernel of these parts in clusters of so many blocks as Config::split says by the tiles of D, K and the
/// multiprocessors, a cluster a tile; of single blocks, as many as Config::Walk says. @param kernel
/// wgmma_kernel<Config>, or one in its place
template <const RungInfo& rung, class Config, class... Parameters>
Prepared prepare_split(const Problem& problem, const Card& card, void (*kernel)(Parameters...)) {
  static_assert(Config::split.least_k >= Config::traits.tile.k,
                "every block has a step along K, with which its sums begin");
  const auto walk = walk_of<Config>(problem.M, problem.N, Config::traits.tile);
  const int tiles = walk.rows * walk.cols, blocks = Config::split.blocks(tiles, problem.K, card.multiprocessors);
  const int clusters = blocks > 1 ? tiles : walk.template grid<typename Config::Cluster>(card.multiprocessors);
  const std::int64_t all = std::int64_t{clusters} * blocks;
  LaunchShape shape = shape_of<Config>(rung, all, blocks);
  if constexpr (Config::split.fit > 1) {
    // Two launches that have room beside each other do not crowd.
    const std::int64_t share = KSplit::least_share(all, blocks, card.multiprocessors);
    if (share == 1 || 2 * all > Config::split.fit * card.multiprocessors)
      shape.shared_bytes = KSplit::shared_bytes(shape.shared_bytes, share);
  }
  return prepared_parts<Config>(shape, kernel, problem, walk);
}

template <const RungInfo& rung, class Config>
Prepared prepare_split(const Problem& problem, const Card& card) {
  return prepare_split<rung, Config>(problem, card, wgmma_kernel<Config>);
}

template <const RungInfo& rung, class Config>
constexpr BuiltKernel built_split() {
  BuiltKernel kernel = built_parts<Config>(prepare_split<rung, Config>);
  kernel.split = &Config::split;
  return kernel;
}

}  // namespace lapidary::inline LAPIDARY_BUILD
