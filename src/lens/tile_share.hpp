#pragma once
#include <string>
#include <vector>

#include "lens/block_accesses.hpp"

namespace lapidary::lens {

/// First and last of neighbouring rows or columns.
struct Range {
  int first, last;

  bool operator==(const Range&) const = default;
};

/// How many rows or columns they are.
int count_of(const std::vector<Range>& ranges);

/// "0-7, 64-71"
std::string to_string(const std::vector<Range>& ranges);

/// The rows and columns of the block's tile of D in which a thread, or a warp, has results, and how many it has.
struct Share {
  std::vector<Range> rows, cols;
  int row_count, col_count, results;

  /// As many results as rows times columns, in pieces or not.
  bool is_rectangle() const { return results == row_count * col_count; }
};

/// @throws InvalidArgument naming the threads there are
Share share_of_thread(const TileOwners& owners, int thread);
Share share_of_warp(const TileOwners& owners, int warp);
Share share_of_block(const TileOwners& owners);

}  // namespace lapidary::lens
