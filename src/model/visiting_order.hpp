#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/row_col.hpp"

namespace lapidary::model {

/// The order in which blocks visit the tiles of D. Blocks that run at the same time share rows of A and columns of B
/// in L2; the order decides how many.
struct Raster {
  enum Order : std::uint8_t {
    rows,     ///< row by row
    columns,  ///< column by column
    grouped,  ///< `group` tile rows at a time, column by column in them
    hilbert,  ///< along a Hilbert curve, over the part of its square that is in the matrix
  };
  Order order = rows;
  int group = 1;  ///< of `grouped`
};

/// "rows", "columns", "grouped:8", "hilbert".
std::string to_string(const Raster& raster);

/// @throws InvalidArgument naming those there are
Raster parse_raster(std::string_view text);

/// Stands in an order where a block has no tile of the matrix.
constexpr RowCol<int> no_tile = {-1, -1};

/// The tiles of a grid of `down` rows and `across` columns, each once, in the order in which they are visited.
/// @throws InvalidArgument if there are more than 2^26 of them, or none
std::vector<RowCol<int>> visiting_order(std::int64_t down, std::int64_t across, const Raster& raster);

/// The order of a kernel that chooses its tiles itself: of each position, counted from 0, the tile that is visited
/// there. What lies outside of the grid is kept as no_tile; the order ends with the last tile of the matrix.
/// @throws InvalidArgument if a tile is visited twice, or some are not among the first 4 * down * across + 1024
std::vector<RowCol<int>> visiting_order_by(std::int64_t down, std::int64_t across,
                                           const std::function<RowCol<int>(std::int64_t position)>& tile_at);

}  // namespace lapidary::model
