#include "kernels/finishing.hpp"

#include <fmt/format.h>

#include "core/launch_shape.hpp"
#include "core/math.hpp"
#include "core/refusal.hpp"
#include "device/by_build.hpp"

namespace lapidary {
namespace {

/// The tile that a block makes, finishing.cuh.
constexpr std::int64_t tile_cols = 128;
constexpr std::int64_t tile_rows(int parts) { return parts > 1 ? 8 : 32; }

}  // namespace

LAPIDARY_BY_BUILD(finish, const Stream& stream, const Problem& problem, const PartialSums& sums,
                  const Operands& operands)

bool can_finish(std::int64_t rows, std::int64_t cols, int parts) {
  const std::int64_t down = ceil_div(rows, tile_rows(parts)), across = ceil_div(cols, tile_cols);
  return down == 0 || across <= LaunchLimits::grid_x / down;
}

void finish(Build build, const Stream& stream, const Problem& p, const PartialSums& sums, const Operands& operands) {
  const auto finish_built = function_of(finish_by_build, build, stream);
  if (p.M == 0 || p.N == 0) return;
  if (!can_finish(p.M, p.N, sums.parts))
    throw Refusal(
        RefusalId::shape_tiles,
        fmt::format("{} x {} results are to be made of sums, in tiles of {} x {}; a launch numbers at most {}", p.M,
                    p.N, tile_rows(sums.parts), tile_cols, LaunchLimits::grid_x));
  finish_built(stream, p, sums, operands);
}

}  // namespace lapidary
