#include "model/visiting_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <utility>

#include "core/error.hpp"
#include "core/math.hpp"
#include "layout/require.hpp"

namespace lapidary::model {
namespace {

constexpr std::int64_t most_tiles = std::int64_t{1} << 26;

/// Where a Hilbert curve over a square of `side` cells, a power of two, is after `step` cells.
RowCol<int> hilbert_cell(int side, std::int64_t step) {
  int row = 0, col = 0;
  for (int s = 1; s < side; s *= 2) {
    const int bit_col = static_cast<int>(step / 2 & 1), bit_row = static_cast<int>((step ^ bit_col) & 1);
    if (bit_row == 0) {
      if (bit_col == 1) {
        row = s - 1 - row;
        col = s - 1 - col;
      }
      std::swap(row, col);
    }
    col += s * bit_col;
    row += s * bit_row;
    step /= 4;
  }
  return {row, col};
}

}  // namespace

std::string to_string(const Raster& raster) {
  switch (raster.order) {
    case Raster::rows: return "rows";
    case Raster::columns: return "columns";
    case Raster::grouped: return fmt::format("grouped:{}", raster.group);
    case Raster::hilbert: return "hilbert";
  }
  return "unknown";
}

Raster parse_raster(std::string_view text) {
  for (const Raster::Order order : {Raster::rows, Raster::columns, Raster::hilbert}) {
    if (text == to_string({order})) return {order};
  }
  constexpr std::string_view prefix = "grouped:";
  if (text.starts_with(prefix)) {
    const std::string_view number = text.substr(prefix.size());
    int group = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), group);
    if (error == std::errc() && end == number.data() + number.size() && group >= 1) return {Raster::grouped, group};
    throw InvalidArgument(fmt::format("'{}' is no group of tile rows; it is a whole number of at least 1", number));
  }
  throw InvalidArgument(
      fmt::format("no order is named '{}'; there are rows, columns, grouped:N as in grouped:8, hilbert", text));
}

std::vector<RowCol<int>> visiting_order(std::int64_t down, std::int64_t across, const Raster& raster) {
  require(down >= 1, "visiting_order: there is at least 1 row of tiles", down, 1);
  require(across >= 1, "visiting_order: there is at least 1 column of tiles", across, 1);
  require(down <= most_tiles / across, "visiting_order: there are at most 2^26 tiles; the rows of them", down,
          most_tiles / across);
  const int rows = static_cast<int>(down), cols = static_cast<int>(across);
  std::vector<RowCol<int>> order;
  order.reserve(static_cast<std::size_t>(down * across));
  const auto strips = [&](int height) {  // of rows, each of them column by column
    for (int top = 0; top < rows; top += std::min(height, rows - top))
      for (int col = 0; col < cols; ++col)
        for (int row = top; row < top + std::min(height, rows - top); ++row) order.push_back({row, col});
  };
  switch (raster.order) {
    case Raster::rows: strips(1); break;
    case Raster::columns: strips(rows); break;
    case Raster::grouped:
      require(raster.group >= 1, "visiting_order: a group has at least 1 row", raster.group, 1);
      strips(raster.group);
      break;
    case Raster::hilbert: {
      // Squares of the shorter side's length lie along the longer one. The curve enters a square at one end of its
      // first row (of its first column, if they lie below each other) and leaves it at the other, beside the next.
      const int longer = std::max(rows, cols);
      const int square = static_cast<int>(std::bit_ceil(static_cast<unsigned>(std::min(rows, cols))));
      for (int first = 0; first < longer; first += square) {
        for (std::int64_t step = 0; step < std::int64_t{square} * square; ++step) {
          RowCol<int> cell = hilbert_cell(square, step);
          if (rows > cols) std::swap(cell.row, cell.col);
          (rows > cols ? cell.row : cell.col) += first;
          if (cell.row < rows && cell.col < cols) order.push_back(cell);
        }
      }
    }
  }
  return order;
}

std::vector<RowCol<int>> visiting_order_by(std::int64_t down, std::int64_t across,
                                           const std::function<RowCol<int>(std::int64_t position)>& tile_at) {
  require(down >= 1, "visiting_order: there is at least 1 row of tiles", down, 1);
  require(across >= 1, "visiting_order: there is at least 1 column of tiles", across, 1);
  require(down <= most_tiles / across, "visiting_order: there are at most 2^26 tiles; the rows of them", down,
          most_tiles / across);
  std::vector<bool> seen(static_cast<std::size_t>(down * across));
  std::vector<RowCol<int>> order;
  const std::int64_t most = 4 * down * across + 1024;
  std::int64_t found = 0;
  for (std::int64_t position = 0; found < down * across; ++position) {
    if (position == most)
      throw InvalidArgument(fmt::format("the order visits {} of {} tiles in its first {} steps; it must visit all",
                                        found, down * across, most));
    const RowCol<int> tile = tile_at(position);
    const bool inside = tile.row >= 0 && tile.row < down && tile.col >= 0 && tile.col < across;
    order.push_back(inside ? tile : no_tile);
    if (!inside) continue;
    const auto at = static_cast<std::size_t>(tile.row * across + tile.col);
    if (seen[at])
      throw InvalidArgument(
          fmt::format("the order visits tile ({}, {}) twice; it must visit each once", tile.row, tile.col));
    seen[at] = true;
    ++found;
  }
  return order;
}

}  // namespace lapidary::model
