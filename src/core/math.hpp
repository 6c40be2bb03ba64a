#pragma once
#include "core/build.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// The least integer that is not below a / b; a >= 0, b > 0, and a + b - 1 must not overflow.
template <class Integer>
LAPIDARY_HD constexpr Integer ceil_div(Integer a, Integer b) {
  return (a + b - 1) / b;
}

/// The least multiple of b that is not below a; a >= 0, b > 0.
template <class Integer>
LAPIDARY_HD constexpr Integer round_up(Integer a, Integer b) {
  return ceil_div(a, b) * b;
}

LAPIDARY_HD constexpr bool is_power_of_two(long long value) { return value > 0 && (value & (value - 1)) == 0; }

}  // namespace lapidary::inline LAPIDARY_BUILD
