#pragma once
#include <cstdint>
#include <type_traits>

#include "core/gemm.hpp"
#include "layout/access.hpp"
#include "layout/fragment.hpp"
#include "layout/layout.hpp"
#include "ptx/cuda.hpp"
#include "ptx/ldmatrix.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// A warpgroup's results of `rows` rows by 64 columns, of which lanes have neighbours of a column, in shared memory,
/// where bulk stores take them from: in boxes of `span` columns, 128 bytes, whose rows are swizzled.
template <class R, int rows_>
struct TurnedSlice {
  static constexpr int rows = rows_, span = 128 / static_cast<int>(sizeof(R)), boxes = 64 / span, size = rows * 64;
  static constexpr Layout layout = row_major(rows, span).swizzled(3, sizeof(R) == 2 ? 3 : 2, 3);
  static_assert(rows % 8 == 0, "whole patterns of the swizzle");
  static_assert(sizeof(R) == 2 || std::is_same_v<R, float>);

  LAPIDARY_HD static constexpr int at(int row, int col) {
    constexpr Layout in = layout;
    return col / span * rows * span + in(row, col % span);
  }
  /// Where a lane's row of 8 elements goes by stmatrix, of the first 16 rows of a warp's 16 columns.
  LAPIDARY_HD static constexpr int at_of_row(int thread) {
    return at(thread % 32 / 16 * 8 + thread % 8, thread % 128 / 32 * 16 + thread % 16 / 8 * 8);
  }
  /// Where a lane's result of 32 bits of number `index` goes, of the four that it has of the first 8 rows.
  LAPIDARY_HD static constexpr int at_of_result(int thread, int index) {
    const RowCol<int> turned = wgmma_d(thread % 128, index);
    return at(turned.col, turned.row);
  }

  /// Writes those of a warpgroup's results that begin with row `first`: of 16 bits 8 by 8 of them, which stmatrix
  /// turns, and others one by one. The swizzle is the same again 8 rows on.
  template <int count>
  LAPIDARY_DEVICE static void write(R* to, int thread, const float (&sums)[count], int first) {
    if constexpr (sizeof(R) == 2) {
#pragma unroll
      for (int q = 0; q < rows / 16; ++q)
        write_rows<4>(to + at_of_row(thread) + q * 16 * span, sums, first / 2 + q * 8);
      if constexpr (rows % 16 != 0)
        write_rows<2>(to + at_of_row(thread & ~16) + rows / 16 * 16 * span, sums, first / 2 + rows / 16 * 8);
    } else {
#pragma unroll
      for (int i = 0; i < rows / 2; ++i) to[at_of_result(thread, i % 4) + i / 4 * 8 * span] = sums[first / 2 + i];
    }
  }

 private:
  /// Writes 4 `matrices` rows of a warp's columns, from a lane's result `first` on.
  template <int matrices, int count>
  LAPIDARY_DEVICE static void write_rows(R* to, const float (&sums)[count], int first) {
    std::uint32_t results[matrices];
#pragma unroll
    for (int i = 0; i < matrices; ++i) {
      const R both[] = {from_float<R>(sums[first + 2 * i]), from_float<R>(sums[first + 2 * i + 1])};
      __builtin_memcpy(&results[i], both, sizeof(both));
    }
    stmatrix<matrices, true>(to, results);
  }
};
static_assert(wavefronts(warp_access<float>([](int lane) { return TurnedSlice<float, 32>::at_of_result(lane, 3); })) ==
                  1,
              "the minimum");
static_assert(wavefronts(warp_access<bf16, 8>([](int lane) { return TurnedSlice<bf16, 32>::at_of_row(lane); })) == 4,
              "the minimum");

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
