#include "pages/occupancy_page.hpp"

#include <fmt/format.h>

#include <string>

namespace lapidary::pages {
namespace {

using model::Gpu, model::Limit, model::Occupancy;

std::string count(std::int64_t number) { return report::with_separators(static_cast<std::uint64_t>(number)); }

std::string warps_text(int warps) { return fmt::format("{} warp{}", warps, warps == 1 ? "" : "s"); }

std::string warps_sum(const Gpu& gpu, const Occupancy& o) {
  const bool one = o.block.threads == 1;
  return fmt::format("{} thread{} {}; an SM holds {}", count(o.block.threads), one ? " is" : "s are",
                     warps_text(o.warps_per_block), gpu.max_warps_per_sm);
}

std::string registers_sum(const Gpu& gpu, const Occupancy& o) {
  if (o.block.registers == 0) return "none are counted";
  return fmt::format(
      "{} a thread x 32 lanes = {}, handed out by {}: {} a warp, {} a block of {}; of an SM's {} each of its {} "
      "parts has {}, enough for {}, {} in all",
      o.block.registers, count(std::int64_t{32} * o.block.registers), gpu.register_unit_per_warp,
      count(o.registers_per_warp), count(o.registers_per_block), warps_text(o.warps_per_block),
      count(gpu.registers_per_sm), gpu.warp_unit, count(gpu.registers_per_sm / gpu.warp_unit),
      warps_text(o.warps_by_registers / gpu.warp_unit), o.warps_by_registers);
}

std::string shared_sum(const Gpu& gpu, const Occupancy& o) {
  if (o.shared_per_block == 0) return "none is used";
  std::string asked = fmt::format("{} bytes", count(o.block.shared_bytes));
  if (gpu.shared_reserved_per_block > 0)
    asked += fmt::format(" + {} reserved = {}", count(gpu.shared_reserved_per_block),
                         count(std::int64_t{o.block.shared_bytes} + gpu.shared_reserved_per_block));
  return fmt::format("{}, handed out by {}: {} a block; an SM has {} with the largest carve-out", asked,
                     gpu.shared_unit_bytes, count(o.shared_per_block), count(gpu.shared_bytes_per_sm));
}

std::string barriers_sum(const Gpu& gpu, const Occupancy& o) {
  if (gpu.barriers_per_sm == 0) return "no limit on this GPU";
  if (o.block.barriers == 0) return "none are counted";
  return fmt::format("{} a block; an SM has {}", o.block.barriers, gpu.barriers_per_sm);
}

std::string sum_of(const Gpu& gpu, const Occupancy& o, Limit limit) {
  if (!o.reason_by(limit).empty()) return o.reason_by(limit);
  switch (limit) {
    case Limit::warps: return warps_sum(gpu, o);
    case Limit::blocks: return fmt::format("an SM holds {}", gpu.max_blocks_per_sm);
    case Limit::registers: return registers_sum(gpu, o);
    case Limit::shared_memory: return shared_sum(gpu, o);
    case Limit::barriers: return barriers_sum(gpu, o);
  }
  return "";
}

}  // namespace

report::Table limits_table(const Gpu& gpu, const Occupancy& o) {
  using report::Column, report::Style;
  report::Table table({{"limit"}, {"blocks", Column::number}, {"by", Column::wrapped}});
  for (const Limit limit : model::limits) {
    const int blocks = o.by(limit);
    table.add_row({{name_of(limit), o.is_limiter(limit) ? Style::heading : Style::plain},
                   {blocks == Occupancy::unlimited ? "any" : fmt::format("{}", blocks),
                    o.is_limiter(limit) ? Style::heading : Style::plain},
                   {sum_of(gpu, o, limit)}});
  }
  return table;
}

}  // namespace lapidary::pages
