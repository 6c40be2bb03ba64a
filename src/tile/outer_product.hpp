#pragma once
#include "ptx/cuda.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// rD += rA * rB^T, all in registers: TM + TN operands for TM * TN multiply-adds.
///
/// Rows are walked there and back, so that each multiply-add shares an operand with the one before it, also where a row
/// ends. The register file has too few ports for three fresh operands of one bank; an operand that was just read is
/// taken from the reuse cache instead.
template <int TM, int TN>
LAPIDARY_DEVICE void outer_product(float (&rD)[TM][TN], const float (&rA)[TM], const float (&rB)[TN]) {
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int step = 0; step < TN; ++step) {
      const int j = i % 2 == 0 ? step : TN - 1 - step;
      rD[i][j] = fmaf(rA[i], rB[j], rD[i][j]);
    }
}

}  // namespace lapidary::inline LAPIDARY_BUILD
