#include "model/occupancy.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/launch_shape.hpp"
#include "core/math.hpp"
#include "layout/require.hpp"

namespace lapidary::model {
namespace {

constexpr int warp_size = 32;

/// One limit: how many blocks it allows, and if none, why.
struct Verdict {
  int blocks;
  std::string reason = {};
};

Verdict by_warps(const Gpu& gpu, const BlockResources& block, int warps) {
  constexpr int most = LaunchLimits::threads;
  if (block.threads > most)
    return {0, fmt::format("a block has at most {} threads; this one has {}", most, block.threads)};
  if (warps > gpu.max_warps_per_sm) {
    return {0, fmt::format("an SM holds {} warps; this block has {}", gpu.max_warps_per_sm, warps)};
  }
  return {gpu.max_warps_per_sm / warps};
}

/// Each warp has its registers in one of the SM's parts.
int warps_by_registers(const Gpu& gpu, std::int64_t per_warp) {
  if (per_warp == 0) return Occupancy::unlimited;
  return static_cast<int>(gpu.warp_unit * (gpu.registers_per_sm / gpu.warp_unit / per_warp));
}

/// The hardware's check takes blocks for as large as if they filled all parts alike.
Verdict by_registers(const Gpu& gpu, const BlockResources& block, int warps, std::int64_t per_warp) {
  if (block.registers > gpu.max_registers_per_thread) {
    return {0, fmt::format("a thread has at most {} registers; this one has {}", gpu.max_registers_per_thread,
                           block.registers)};
  }
  if (block.registers == 0) return {Occupancy::unlimited};
  const std::int64_t checked = per_warp * round_up(warps, gpu.warp_unit);
  if (checked > gpu.registers_per_sm) {
    return {0, fmt::format("an SM has {} registers; {} warps count as {} with {} registers each, which is {}",
                           gpu.registers_per_sm, warps, round_up(warps, gpu.warp_unit), per_warp, checked)};
  }
  return {warps_by_registers(gpu, per_warp) / warps};
}

Verdict by_shared_memory(const Gpu& gpu, const BlockResources& block, std::int64_t per_block) {
  if (block.shared_bytes > gpu.shared_bytes_per_block) {
    return {0, fmt::format("a block has at most {} bytes of shared memory; this one has {}", gpu.shared_bytes_per_block,
                           block.shared_bytes)};
  }
  if (per_block == 0) return {Occupancy::unlimited};
  if (per_block > gpu.shared_bytes_per_sm) {
    return {0, fmt::format("an SM has {} bytes of shared memory; this block takes {} with what is reserved",
                           gpu.shared_bytes_per_sm, per_block)};
  }
  return {static_cast<int>(gpu.shared_bytes_per_sm / per_block)};
}

Verdict by_barriers(const Gpu& gpu, const BlockResources& block) {
  constexpr int most = 16;  // CUDA Programming Guide, technical specifications
  if (block.barriers > most) {
    return {0, fmt::format("a block has at most {} barriers; this one has {}", most, block.barriers)};
  }
  if (gpu.barriers_per_sm == 0 || block.barriers == 0) return {Occupancy::unlimited};
  return {gpu.barriers_per_sm / block.barriers};
}

/// Where a quantity is, and from where to where it may go.
struct Range {
  int BlockResources::*member;
  int least, most;
};

Range range_of(const Gpu& gpu, Quantity quantity) {
  switch (quantity) {
    case Quantity::registers: return {&BlockResources::registers, 1, gpu.max_registers_per_thread};
    case Quantity::shared_bytes: return {&BlockResources::shared_bytes, 0, gpu.shared_bytes_per_block};
    case Quantity::threads: break;
  }
  return {&BlockResources::threads, 1, int{LaunchLimits::threads}};
}

/// The largest value of a quantity for which as much is handed out.
int last_alike(const Gpu& gpu, const Occupancy& occupancy, Quantity quantity) {
  switch (quantity) {
    case Quantity::registers: return occupancy.registers_per_warp / warp_size;
    case Quantity::shared_bytes: return occupancy.shared_per_block - gpu.shared_reserved_per_block;
    case Quantity::threads: break;
  }
  return occupancy.warps_per_block * warp_size;
}

}  // namespace

const char* name_of(Limit limit) {
  switch (limit) {
    case Limit::warps: return "warps";
    case Limit::blocks: return "blocks";
    case Limit::registers: return "registers";
    case Limit::shared_memory: return "shared memory";
    case Limit::barriers: return "barriers";
  }
  return "unknown";
}

std::string Occupancy::limiters() const {
  std::vector<const char*> names;
  for (const Limit limit : limits) {
    if (is_limiter(limit)) names.push_back(name_of(limit));
  }
  if (names.size() < 3) return fmt::format("{}", fmt::join(names, " and "));
  return fmt::format("{} and {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

Occupancy occupancy(const Gpu& gpu, const BlockResources& block) {
  require(block.threads >= 1, "occupancy: a block has at least 1 thread", block.threads, 1);
  require(block.registers >= 0, "occupancy: registers are not negative", block.registers, 0);
  require(block.shared_bytes >= 0, "occupancy: bytes of shared memory are not negative", block.shared_bytes, 0);
  require(block.barriers >= 0, "occupancy: barriers are not negative", block.barriers, 0);
  const int warps = static_cast<int>(ceil_div<std::int64_t>(block.threads, warp_size));
  const std::int64_t per_warp = round_up<std::int64_t>(std::int64_t{block.registers} * warp_size,
                                                       gpu.register_unit_per_warp);
  const std::int64_t shared = round_up<std::int64_t>(std::int64_t{block.shared_bytes} + gpu.shared_reserved_per_block,
                                                     gpu.shared_unit_bytes);
  const Verdict verdicts[limit_count] = {by_warps(gpu, block, warps),
                                         {gpu.max_blocks_per_sm},
                                         by_registers(gpu, block, warps, per_warp),
                                         by_shared_memory(gpu, block, shared),
                                         by_barriers(gpu, block)};
  const auto clamped = [](std::int64_t count) {
    return static_cast<int>(std::min<std::int64_t>(count, Occupancy::unlimited));
  };
  Occupancy result;
  result.block = block;
  result.warps_per_block = warps;
  result.max_warps = gpu.max_warps_per_sm;
  result.registers_per_warp = clamped(per_warp);
  result.registers_per_block = clamped(per_warp * warps);
  result.warps_by_registers = warps_by_registers(gpu, per_warp);
  result.shared_per_block = clamped(shared);
  result.blocks = Occupancy::unlimited;
  for (std::size_t limit = 0; limit < limit_count; ++limit) {
    result.blocks_by[limit] = verdicts[limit].blocks;
    result.reasons_by[limit] = verdicts[limit].reason;
    result.blocks = std::min(result.blocks, verdicts[limit].blocks);
    if (result.reason.empty()) result.reason = verdicts[limit].reason;
  }
  return result;
}

std::vector<OccupancyStep> occupancy_over(const Gpu& gpu, BlockResources block, Quantity quantity) {
  const Range range = range_of(gpu, quantity);
  int& value = block.*range.member;
  std::vector<OccupancyStep> steps;
  for (value = range.least; value <= range.most;) {
    const Occupancy now = occupancy(gpu, block);
    const int last = std::min(range.most, last_alike(gpu, now, quantity));
    if (steps.empty() || steps.back().blocks != now.blocks || steps.back().warps != now.warps()) {
      steps.push_back({value, last, now.blocks, now.warps()});
    } else {
      steps.back().last = last;
    }
    value = last + 1;
  }
  return steps;
}

}  // namespace lapidary::model
