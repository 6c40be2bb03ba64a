#pragma once
#include <string>

#include "core/launch_shape.hpp"
#include "core/problem.hpp"

namespace lapidary {

/// Whether blocks that stream read A once, and not B: the one whose side of a tile is longer.
constexpr bool streams_a(const TileShape& tile) { return tile.m > tile.n; }

/// Rows of A, or columns of B, beside which the other matrix streams.
constexpr int most_beside_stream = 64;

/// The short side of D: its columns beside a stream of A, its rows beside one of B.
constexpr std::int64_t short_side(const TileShape& tile, const Problem& problem) {
  return streams_a(tile) ? problem.N : problem.M;
}
/// ... and of a tile of it, for each of which the stream is read once.
constexpr int short_side(const TileShape& tile) { return streams_a(tile) ? tile.n : tile.m; }

/// Why blocks that stream do not take a problem; empty if it is not its sizes.
inline std::string refusal_of_stream(const TileShape& tile, const Problem& problem) {
  const bool a = streams_a(tile);
  const std::int64_t size = short_side(tile, problem);
  if (size <= most_beside_stream) return "";
  return std::string(a ? "N" : "M") + " is " + std::to_string(size) + "; this kernel is for at most " +
         std::to_string(most_beside_stream) + (a ? " columns, and reads A" : " rows, and reads B") + " once for each " +
         std::to_string(short_side(tile));
}

}  // namespace lapidary
