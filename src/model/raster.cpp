#include "model/raster.hpp"

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

/// A cache of panels of different sizes that evicts the least recently used ones: a list in that order, threaded
/// through an array with an entry for each panel there is.
class Lru {
 public:
  Lru(std::size_t panels, std::int64_t capacity) : entries_(panels + 1), capacity_(capacity) {
    entries_[end()] = {end(), end(), 0};
  }

  /// Uses a panel; whether it was there. One larger than the cache never is.
  bool use(std::size_t panel, std::int64_t bytes) {
    Entry& entry = entries_[panel];
    const bool hit = entry.bytes > 0;
    if (hit) {
      unlink(panel);
      used_ -= entry.bytes;
    }
    while (used_ + bytes > capacity_ && entries_[end()].next != end()) {
      const std::size_t oldest = entries_[end()].next;
      unlink(oldest);
      used_ -= entries_[oldest].bytes;
      entries_[oldest].bytes = 0;
    }
    entry.bytes = bytes <= capacity_ ? bytes : 0;
    if (entry.bytes == 0) return hit;
    const std::size_t newest = entries_[end()].previous;
    entry.previous = newest;
    entry.next = end();
    entries_[newest].next = entries_[end()].previous = static_cast<std::uint32_t>(panel);
    used_ += bytes;
    return hit;
  }

 private:
  struct Entry {
    std::uint32_t previous = 0, next = 0;
    std::int64_t bytes = 0;  ///< 0: not in the cache
  };

  std::uint32_t end() const { return static_cast<std::uint32_t>(entries_.size() - 1); }

  void unlink(std::size_t panel) {
    const Entry& entry = entries_[panel];
    entries_[entry.previous].next = entry.next;
    entries_[entry.next].previous = entry.previous;
  }

  std::vector<Entry> entries_;
  std::int64_t capacity_, used_ = 0;
};

/// Numbers in the order in which they first occur, and each of them once.
class Distinct {
 public:
  explicit Distinct(std::int64_t below) : seen_(static_cast<std::size_t>(below), -1) {}

  void clear() {
    ++round_;
    values_.clear();
  }
  void add(int value) {
    if (seen_[static_cast<std::size_t>(value)] == round_) return;
    seen_[static_cast<std::size_t>(value)] = round_;
    values_.push_back(value);
  }
  const std::vector<int>& values() const { return values_; }

 private:
  std::vector<int> seen_, values_;
  int round_ = 0;
};

/// A side of a matrix, cut into pieces of which the last may be shorter.
struct Pieces {
  std::int64_t size, piece;

  std::int64_t count() const { return ceil_div(size, piece); }
  std::int64_t length(std::int64_t index) const { return std::min(piece, size - index * piece); }
};

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

RasterTraffic simulate_l2(const GemmShape& gemm, const TileShape& tile, const Raster& raster,
                          const L2Machine& machine) {
  for (const std::int64_t size : {gemm.M, gemm.N})
    require(size >= 1, "simulate_l2: M, N and K are at least 1", size, 1);
  for (const int side : {tile.m, tile.n})
    require(side >= 1, "simulate_l2: a tile has at least 1 row and column", side, 1);
  const std::int64_t down = ceil_div<std::int64_t>(gemm.M, tile.m), across = ceil_div<std::int64_t>(gemm.N, tile.n);
  return simulate_l2(gemm, tile, Visits{visiting_order(down, across, raster)}, machine);
}

RasterTraffic simulate_l2(const GemmShape& gemm, const TileShape& tile, const Visits& visits,
                          const L2Machine& machine) {
  for (const std::int64_t size : {gemm.M, gemm.N, gemm.K}) {
    require(size >= 1, "simulate_l2: M, N and K are at least 1", size, 1);
  }
  for (const int side : {tile.m, tile.n})
    require(side >= 1, "simulate_l2: a tile has at least 1 row and column", side, 1);
  require(tile.k >= 0, "simulate_l2: a tile's k is not negative", tile.k, 0);
  require(visits.cluster >= 1, "simulate_l2: a cluster has at least 1 block", visits.cluster, 1);
  require(machine.resident_blocks >= 1, "simulate_l2: at least 1 block runs", machine.resident_blocks, 1);
  require(machine.l2_bytes >= 0, "simulate_l2: the cache's bytes are not negative", machine.l2_bytes, 0);
  constexpr std::int64_t usual_k = 64, most_panels = std::int64_t{1} << 24;
  const std::int64_t k = tile.k == 0 ? usual_k : tile.k;
  const Pieces rows{gemm.M, tile.m}, cols{gemm.N, tile.n};
  const std::int64_t most_steps = std::clamp<std::int64_t>(most_panels / (rows.count() + cols.count()), 1, 256);
  const Pieces steps{gemm.K, k * ceil_div(ceil_div(gemm.K, k), most_steps)};
  const std::vector<RowCol<int>>& order = visits.order;

  // Panels of A, then of B, each a row or column of tiles by steps; then tiles of D, and of C.
  const auto count = [](std::int64_t number) { return static_cast<std::size_t>(number); };
  const std::size_t first_b = count(rows.count() * steps.count()),
                    first_d = first_b + count(cols.count() * steps.count());
  const std::size_t first_c = first_d + order.size();
  Lru l2(first_c + (gemm.reads_c ? order.size() : 0), machine.l2_bytes);
  Distinct used_rows(rows.count()), used_cols(cols.count());

  RasterTraffic traffic;
  const auto read = [&](std::size_t panel, std::int64_t bytes) {
    if (!l2.use(panel, bytes)) traffic.dram_read_bytes += static_cast<double>(bytes);
  };
  bool backwards = false;
  for (std::size_t begin = 0; begin < order.size(); backwards = visits.there_and_back && !backwards) {
    const std::size_t end = std::min(order.size() - begin, count(machine.resident_blocks)) + begin;
    used_rows.clear();
    used_cols.clear();
    for (std::size_t i = begin; i < end; ++i) {
      if (order[i] == no_tile) continue;
      used_rows.add(order[i].row);
      used_cols.add(order[i].col);
    }
    for (std::int64_t walked = 0; walked < steps.count(); ++walked) {
      const std::int64_t step = backwards ? steps.count() - 1 - walked : walked;
      const std::int64_t bytes = steps.length(step) * gemm.operand_bytes;
      for (const int row : used_rows.values()) read(count(row * steps.count() + step), rows.length(row) * bytes);
      for (const int col : used_cols.values())
        read(first_b + count(col * steps.count() + step), cols.length(col) * bytes);
    }
    for (std::size_t i = begin; i < end; ++i) {
      if (order[i] == no_tile) continue;
      const std::int64_t bytes = rows.length(order[i].row) * cols.length(order[i].col) * gemm.result_bytes;
      if (gemm.reads_c) read(first_c + i, bytes);
      l2.use(first_d + i, bytes);
      traffic.dram_write_bytes += static_cast<double>(bytes);
    }
    begin = end;
  }
  for (std::size_t begin = 0; begin < order.size();) {
    const std::size_t end = std::min(order.size() - begin, count(visits.cluster)) + begin;
    used_rows.clear();
    used_cols.clear();
    for (; begin < end; ++begin) {
      if (order[begin] == no_tile) continue;
      ++traffic.tiles;
      used_rows.add(order[begin].row);
      used_cols.add(order[begin].col);
      const std::int64_t m = rows.length(order[begin].row), n = cols.length(order[begin].col);
      const double of_c = gemm.reads_c ? static_cast<double>(m * n * gemm.result_bytes) : 0;
      traffic.l2_to_sm_bytes += static_cast<double>((m + n) * gemm.K * gemm.operand_bytes) + of_c;
      traffic.l2_read_bytes += of_c;
    }
    std::int64_t lines = 0;
    for (const int row : used_rows.values()) lines += rows.length(row);
    for (const int col : used_cols.values()) lines += cols.length(col);
    traffic.l2_read_bytes += static_cast<double>(lines * gemm.K * gemm.operand_bytes);
  }
  traffic.l2_to_sm_hit_rate = 1 - traffic.dram_read_bytes / traffic.l2_to_sm_bytes;
  return traffic;
}

}  // namespace lapidary::model
