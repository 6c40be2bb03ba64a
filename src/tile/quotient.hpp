#pragma once
#include "core/build.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// a / b of numbers that are not negative, by a comparison alone where a is below b. A GPU has no instruction for it:
/// it takes some twenty, one after the other.
LAPIDARY_HD constexpr int quotient_of(int a, int b) { return a < b ? 0 : a / b; }
LAPIDARY_HD constexpr int remainder_of(int a, int b) { return a < b ? a : a % b; }

}  // namespace lapidary::inline LAPIDARY_BUILD
