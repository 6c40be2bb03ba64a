#pragma once
#include <string>
#include <vector>

#include "lens/block_accesses.hpp"
#include "report/svg.hpp"

namespace lapidary::lens {

/// First and last of neighbouring rows or columns.
struct Range {
  int first, last;

  bool operator==(const Range&) const = default;
};

/// "0-7, 64-71"
std::string to_string(const std::vector<Range>& ranges);

/// The rows and columns of the block's tile of D in which a thread, or a warp, has results, and how many it has.
struct Share {
  std::vector<Range> rows, cols;
  int row_count, col_count, results;
};

/// @throws InvalidArgument naming the threads there are
Share share_of_thread(const TileOwners& owners, int thread);
Share share_of_warp(const TileOwners& owners, int warp);

/// The tile of D that a block computes with the tiles of A and B that it takes, one thread and its warp marked in all
/// three; beside it the warp's share alone, with the lanes that have its results.
/// @throws InvalidArgument naming the threads there are
report::Svg tile_picture(const std::string& title, const TileOwners& owners, int thread);

}  // namespace lapidary::lens
