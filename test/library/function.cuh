#pragma once
#include "lapidary/epilogue.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// t + addend[row] where the column is even, and 2 t where it is odd.
struct Mixed {
  const float* addend;

  LAPIDARY_DEVICE float operator()(float t, int row, int col) const { return col % 2 == 0 ? t + addend[row] : 2 * t; }
};

Prepared prepare_mixed(const Problem& problem, const Card& card, const float* addend) {
  return prepare_with<Type::f16>(problem, card, Mixed{addend});
}

}  // namespace lapidary::inline LAPIDARY_BUILD
