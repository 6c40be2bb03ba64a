#pragma once
#include <cstdint>
#include <string>

#include "core/launch_shape.hpp"
#include "core/math.hpp"
#include "core/problem.hpp"
#include "core/row_col.hpp"

namespace lapidary {

/// The rows and columns of tiles that a kernel's blocks go through: those of D, and where clusters hang over its edges
/// those beyond them, too.
inline RowCol<std::int64_t> tiles_of(const TileShape& tile, const ClusterShape& cluster, std::int64_t M,
                                     std::int64_t N) {
  return {ceil_div<std::int64_t>(M, tile.m * cluster.down) * cluster.down,
          ceil_div<std::int64_t>(N, tile.n * cluster.across) * cluster.across};
}

/// Why a kernel's blocks are too few for the tiles of a D that has elements, or its numbers of tiles too short; empty
/// if they are not.
/// @param in_an_order  of its own
inline std::string refusal_by_tiles(const TileShape& tile, const ClusterShape& cluster, bool in_an_order,
                                    const Problem& p) {
  // What walks in an order of its own multiplies the tiles of a row by the rows of a group, at most 16, in 32 bits; and
  // there is room for the step to a block's next tile, which is the grid.
  const std::int64_t most = (in_an_order ? std::int64_t{1} << 28 : std::int64_t{LaunchLimits::grid_x}) - 1024;
  const auto [rows, cols] = tiles_of(tile, cluster, p.M, p.N);
  if (rows <= most / cols) return {};
  return "D has " + std::to_string(rows) + " x " + std::to_string(cols) + " tiles of " + std::to_string(tile.m) +
         " x " + std::to_string(tile.n) + "; this kernel numbers at most " + std::to_string(most);
}

/// Why a card has too few multiprocessors for a cluster of a kernel's blocks; empty if it has not.
inline std::string refusal_by_multiprocessors(int multiprocessors, const ClusterShape& cluster,
                                              const std::string& kernel) {
  const int least = cluster.down * cluster.across;
  if (multiprocessors >= least) return {};
  return "the card has " + std::to_string(multiprocessors) + " multiprocessors; " + kernel + " needs " +
         std::to_string(least);
}

}  // namespace lapidary
