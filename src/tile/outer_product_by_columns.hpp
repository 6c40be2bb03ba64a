#pragma once
#include "ptx/cuda.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// outer_product() with columns walked there and back instead of rows. ptxas keeps this order for most of a long loop,
/// and leaves half as many multiply-adds with three fresh registers, which take a second cycle on Hopper.
template <int TM, int TN>
LAPIDARY_DEVICE void outer_product_by_columns(float (&rD)[TM][TN], const float (&rA)[TM], const float (&rB)[TN]) {
#pragma unroll
  for (int j = 0; j < TN; ++j)
#pragma unroll
    for (int step = 0; step < TM; ++step) {
      const int i = j % 2 == 0 ? step : TM - 1 - step;
      rD[i][j] = fmaf(rA[i], rB[j], rD[i][j]);
    }
}

}  // namespace lapidary::inline LAPIDARY_BUILD
