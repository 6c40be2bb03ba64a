#pragma once
#include <cstdint>

#include "kernels/rows.cuh"

namespace lapidary::inline LAPIDARY_BUILD {

/// Sums of parts of K by their rows, of which vectors of `width` are read.
template <int width>
struct PartialRows {
  Rows<const float, width> first;  ///< those of the first part
  int parts;
  std::int64_t stride;  ///< elements from one part's to the next

  /// Adds neighbours of a row of all parts but the first one, in their order. Several are under way together.
  LAPIDARY_DEVICE void add_others(float (&sums)[width], std::int64_t row, std::int64_t col, int left) const {
    constexpr int together = 8;
    for (int part = 1; part < parts; part += together) {
      float more[together][width];
#pragma unroll
      for (int n = 0; n < together; ++n) {
        // Behind the last one, that once more, so that none of the loads is a branch.
        Rows<const float, width> of_part = first;
        of_part.first += min(part + n, parts - 1) * stride;
        read(more[n], of_part, row, col, left);
      }
#pragma unroll
      for (int i = 0; i < together * width; ++i)
        if (part + i / width < parts) sums[i % width] += more[i / width][i % width];
    }
  }
};

/// Whether what a card of compute capability 9.0 runs of these launches, where alone kernels store parts, is code that
/// waits for them: that was compiled for it, and not the PTX of an older card's.
constexpr bool waits_on_hopper() {
#if defined(__CUDA_ARCH_LIST__)
  for (const int architecture : {__CUDA_ARCH_LIST__})
    if (architecture == 900) return true;
  return false;
#else
  return true;
#endif
}

}  // namespace lapidary::inline LAPIDARY_BUILD
