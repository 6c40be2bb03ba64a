#include "model/l2_traffic.hpp"

#include <algorithm>

#include "core/math.hpp"
#include "layout/require.hpp"

namespace lapidary::model {
namespace {

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
