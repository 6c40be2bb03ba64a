#include "library/measured_cost.hpp"

#include <algorithm>
#include <iterator>
#include <string>

namespace lapidary::library {
namespace {

constexpr MeasuredCost costs[] = {
#include "library/measured_costs.inc"
};

std::string key_of(const KernelEntry& kernel) {
  KernelEntry alike = kernel;
  GemmKind& kind = alike.kind;
  kind.a = kind.b = Order::row_major;
  if (kind.result == Type::bf16) kind.result = Type::f16;
  if (kind.type == Type::bf16) kind.type = Type::f16;
  return alike.id();
}

}  // namespace

const MeasuredCost* measured_cost_of(const KernelEntry& kernel) {
  const auto found = std::find_if(std::begin(costs), std::end(costs),
                                  [key = key_of(kernel)](const MeasuredCost& c) { return c.kernel == key; });
  return found == std::end(costs) ? nullptr : found;
}

}  // namespace lapidary::library
