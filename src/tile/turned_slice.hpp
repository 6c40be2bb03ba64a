#pragma once
#include <cstdint>

#include "core/gemm.hpp"
#include "layout/access.hpp"
#include "layout/fragment.hpp"
#include "layout/layout.hpp"
#include "ptx/cuda.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// A warpgroup's results of `rows` rows by 64 columns, of which lanes have neighbours of a column, in shared memory,
/// where bulk stores take them from: in boxes of `span` columns, 128 bytes, whose rows are swizzled.
template <class R, int rows_>
struct TurnedSlice {
  static constexpr int rows = rows_, span = 128 / static_cast<int>(sizeof(R)), boxes = 64 / span, size = rows * 64;
  static constexpr Layout layout = row_major(rows, span).swizzled(3, sizeof(R) == 2 ? 3 : 2, 3);
  static_assert(rows % 8 == 0, "whole patterns of the swizzle");

  LAPIDARY_HD static constexpr int at(int row, int col) {
    constexpr Layout in = layout;
    return col / span * rows * span + in(row, col % span);
  }
  /// Where a lane's result of number `index` goes, of the four that it has of the first 8 rows.
  LAPIDARY_HD static constexpr int at_of_result(int thread, int index) {
    const RowCol<int> turned = wgmma_d(thread % 128, index);
    return at(turned.col, turned.row);
  }

  /// Writes those of a warpgroup's results that begin with row `first`, one by one. The swizzle is the same again 8
  /// rows on.
  template <int count>
  LAPIDARY_DEVICE static void write(R* to, int thread, const float (&sums)[count], int first) {
#pragma unroll
    for (int i = 0; i < rows / 2; ++i)
      to[at_of_result(thread, i % 4) + i / 4 * 8 * span] = from_float<R>(sums[first / 2 + i]);
  }
};
template <class R>
constexpr int turned_wavefronts = wavefronts(warp_access<R>([](int lane) {
  return TurnedSlice<R, 32>::at_of_result(lane, 3);
}));
static_assert(turned_wavefronts<bf16> == 1 && turned_wavefronts<float> == 1, "the minimum");

/// sum = alpha * sum + beta * C for all of a thread's sums of a warpgroup, whose results begin at `origin` of D.
template <class T, class R, int count>
LAPIDARY_DEVICE void scale_turned(const Gemm<T, R>& g, const RowCol<int>& origin, int thread, float (&sums)[count]) {
  if (g.alpha != 1) {
#pragma unroll
    for (float& sum : sums) sum *= g.alpha;
  }
  if (g.beta == 0) return;
  const RowCol<int> turned = wgmma_d(thread % 128, 0);
  const int row = origin.row + turned.col, col = origin.col + turned.row;
  const int m_left = static_cast<int>(g.M) - row, n_left = static_cast<int>(g.N) - col;
  const R* c = g.C + row * g.ldc + col;
#pragma unroll
  for (int i = 0; i < count; i += 4, c += 8 * g.ldc)
#pragma unroll
    for (int e = 0; e < 2; ++e)
#pragma unroll
      for (int h = 0; h < 2; ++h)
        if (2 * i + e < m_left && 8 * h < n_left)
          sums[i + 2 * h + e] = fmaf(g.beta, to_float(c[e * g.ldc + 8 * h]), sums[i + 2 * h + e]);
}

}  // namespace lapidary::inline LAPIDARY_BUILD
