#include "library/measured_cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>

namespace lapidary::library {
namespace {

constexpr MeasuredCost costs[] = {
#include "library/measured_costs.inc"
};

}  // namespace

std::string key_of(std::string_view rung, const KernelTraits& traits) {
  KernelTraits alike = traits;
  GemmKind& kind = alike.kind;
  kind.a = kind.b = Order::row_major;
  if (kind.result == Type::bf16) kind.result = Type::f16;
  if (kind.result == Type::s32) kind.result = Type::f32;
  if (kind.type == Type::bf16) kind.type = Type::f16;
  return fmt::format("{}_{}", rung == "wgmma_fused" ? "wgmma_overlapped" : rung, to_string(alike));
}

const MeasuredCost* measured_cost_of(const KernelEntry& kernel) {
  const auto found = std::find_if(
      std::begin(costs), std::end(costs),
      [key = key_of(kernel.rung, kernel)](const MeasuredCost& c) { return c.kernel == key; });
  return found == std::end(costs) ? nullptr : found;
}

}  // namespace lapidary::library
