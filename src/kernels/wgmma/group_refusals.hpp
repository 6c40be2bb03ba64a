#pragma once
#include <algorithm>
#include <cstdint>
#include <string>

#include "core/launch_shape.hpp"
#include "core/math.hpp"
#include "core/problem.hpp"
#include "kernels/rung.hpp"
#include "kernels/wgmma/batch_refusals.hpp"

// Which groups of products are not taken (core/problem.hpp, Problem::groups), and what a launch is made of otherwise.

namespace lapidary::inline LAPIDARY_BUILD {

/// How many groups have room in shared memory beside what else there is.
constexpr int room_for_groups(const KernelTraits& t) {
  constexpr int barriers = 1024, of_each = 2 * sizeof(int), most = 1024;  // barriers: to the next array's alignment
  const int stage = (t.tile.m + t.tile.n) * t.tile.k * size_of(t.kind.type);
  const int staged = t.tile.m * t.slices * t.cols * size_of(t.kind.result);
  const int left = static_cast<int>(LaunchLimits::shared_bytes_opt_in) - t.stages * stage - barriers - staged;
  return std::min(most, left / 1024 * 1024 / of_each);
}

/// The same with as many B as those of a batch: one for each group.
inline Problem with_b_of_groups(Problem problem) {
  problem.batch.count = std::max(1, problem.groups);
  return problem;
}

/// Rows of tiles that groups have at most, each of which begins with one: as many have one row alone as can.
inline std::int64_t most_rows_of_tiles(const Problem& problem, int BM) {
  const std::int64_t groups = std::min<std::int64_t>(std::max(1, problem.groups), problem.M);
  return (problem.M + groups * (BM - 1)) / BM;
}

/// Why a launch that has room for so many groups does not take a problem's; empty if it does.
inline std::string refusal_of_groups(const Problem& problem, const TileShape& tile, int most) {
  if (problem.groups > most)
    return "there are " + std::to_string(problem.groups) + " groups; this kernel has room in shared memory for " +
           std::to_string(most);
  if (std::string why = refusal_by_stride(with_b_of_groups(problem), Matrix::B); !why.empty()) return why;
  // As those of one product (core/tiles.hpp).
  constexpr std::int64_t most_tiles = (std::int64_t{1} << 28) - 1024;
  const std::int64_t rows = most_rows_of_tiles(problem, tile.m), cols = ceil_div<std::int64_t>(problem.N, tile.n);
  if (rows <= most_tiles / cols) return {};
  return "D may have " + std::to_string(rows) + " x " + std::to_string(cols) + " tiles of " + std::to_string(tile.m) +
         " x " + std::to_string(tile.n) + " with " + std::to_string(problem.groups) +
         " groups; this kernel numbers at most " + std::to_string(most_tiles);
}

}  // namespace lapidary::inline LAPIDARY_BUILD
