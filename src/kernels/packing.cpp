#include "kernels/packing.hpp"

#include <fmt/format.h>

#include "core/launch_shape.hpp"
#include "core/math.hpp"
#include "core/refusal.hpp"
#include "device/by_build.hpp"

namespace lapidary {

LAPIDARY_BY_BUILD(pack, const Stream& stream, const Packing& packing, const void* from, void* to)

std::int64_t aligned_ld(Type type, std::int64_t length, int bytes) {
  return round_up<std::int64_t>(length, bytes / size_of(type));
}

namespace {

/// Of the tile that a block copies, packing.cuh.
constexpr std::int64_t side = 64;

}  // namespace

bool can_pack(std::int64_t rows, std::int64_t cols) {
  const std::int64_t down = ceil_div(rows, side), across = ceil_div(cols, side);
  return down == 0 || across <= LaunchLimits::grid_x / down;
}

void pack(Build build, const Stream& stream, const Packing& packing, const void* from, void* to) {
  const auto pack_built = function_of(pack_by_build, build, stream);
  if (packing.rows == 0 || packing.cols == 0) return;
  if (!can_pack(packing.rows, packing.cols))
    throw Refusal(RefusalId::shape_copy,
                  fmt::format("a matrix of {} x {} elements is to be copied, which has {} x {} tiles of 64 x 64; "
                              "a copy numbers at most {}",
                              packing.rows, packing.cols, ceil_div(packing.rows, side), ceil_div(packing.cols, side),
                              LaunchLimits::grid_x));
  pack_built(stream, packing, from, to);
}

}  // namespace lapidary
