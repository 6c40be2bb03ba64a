#pragma once
#include "kernels/wgmma/built.hpp"
#include "tile/wgmma_parts.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// So many blocks of clusters of `blocks`, a power of two up to 16, run at a time, one a multiprocessor. A cluster's
/// multiprocessors are neighbours, and what is left of a neighbourhood stays empty: of 132 multiprocessors
/// cudaOccupancyMaxActiveClusters has 132, 132, 120, 120 and 112.
constexpr std::int64_t room_for_clusters(int blocks, int multiprocessors) {
  return blocks <= 2 ? multiprocessors : blocks <= 8 ? multiprocessors * 10 / 11 : multiprocessors * 28 / 33;
}

/// As many blocks a tile, a power of two, as K has `most_parts` and as there is room for: room(blocks) is that of
/// blocks in clusters of so many.
template <class Room>
constexpr int split_by(std::int64_t tiles, std::int64_t most_parts, const Room& room) {
  int blocks = 1;
  while (2 * blocks <= OfOneTile::most && 2 * blocks <= most_parts && tiles * 2 * blocks <= room(2 * blocks))
    blocks *= 2;
  return blocks;
}

/// A launch of wgmma_kernel<Config> on one cluster a tile, of so many blocks as Config::split() says by the tiles of D,
/// K and the multiprocessors.
template <const RungInfo& rung, class Config>
Prepared prepare_split(const Problem& problem, const Card& card) {
  const auto g = gemm_of<typename Config::Element, typename Config::Result>(problem);
  const auto walk = walk_of<Config>(g.M, g.N, Config::traits.tile);
  const int tiles = walk.rows * walk.cols, blocks = Config::split(tiles, g.K, card.multiprocessors);
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
