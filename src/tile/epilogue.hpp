#pragma once
#include <cstdint>
#include <type_traits>

#include "core/gemm.hpp"
#include "ptx/cuda.hpp"
#include "tile/grid.hpp"
#include "tile/vector.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// alpha * sum + beta * c. With beta == 0 what C holds does not count: it may be NaN (as in the BLAS).
template <class T, class R, class Sum>
LAPIDARY_DEVICE R scaled(const Gemm<T, R>& g, Sum sum, R c) {
  const float result = g.alpha * static_cast<float>(sum);
  return from_float<R>(g.beta != 0 ? fmaf(g.beta, to_float(c), result) : result);
}

/// Integers are what they are.
template <class T>
LAPIDARY_DEVICE std::int32_t scaled(const Gemm<T, std::int32_t>&, std::int32_t sum, std::int32_t) {
  return sum;
}

/// D[row][col] = alpha * sum + beta * C[row][col] if that lies in D. With beta == 0, C is not read and may be null.
template <class T, class R>
LAPIDARY_DEVICE void store_result(const Gemm<T, R>& g, std::int64_t row, std::int64_t col, float sum) {
  if (row >= g.M || col >= g.N) return;
  g.D[row * g.ldd + col] = scaled(g, sum, g.beta != 0 ? g.C[row * g.ldc + col] : R{});
}

/// The same for `count` neighbours of a row, as many as 128 bits hold unless it is said: by one access if `vectorized`,
/// which asks for a problem that is `vectorizable` and a col that is a multiple of `count`; by single ones otherwise.
template <bool vectorized, int chosen = 0, class T, class R>
LAPIDARY_DEVICE void store_results(const Gemm<T, R>& g, std::int64_t row, std::int64_t col, const float* sums) {
  constexpr int count = chosen == 0 ? packed<R> : chosen;
  if constexpr (vectorized) {
    if (row >= g.M || col >= g.N) return;
    float results[count];
#pragma unroll
    for (int i = 0; i < count; ++i) results[i] = g.alpha * sums[i];
    if (g.beta != 0) {
      const Vector<R, count> c = load_vector<count>(g.C[row * g.ldc + col]);
#pragma unroll
      for (int i = 0; i < count; ++i) results[i] = fmaf(g.beta, to_float(c.element[i]), results[i]);
    }
    R rounded[count];
#pragma unroll
    for (int i = 0; i < count; ++i) rounded[i] = from_float<R>(results[i]);
    store_global<count>(g.D[row * g.ldd + col], rounded);
  } else {
#pragma unroll
    for (int i = 0; i < count; ++i) store_result(g, row, col + i, sums[i]);
  }
}

/// The same of integers, whose sums are stored as they are.
template <bool vectorized, int chosen = 0, class T>
LAPIDARY_DEVICE void store_results(const Gemm<T, std::int32_t>& g, std::int64_t row, std::int64_t col,
                                   const std::int32_t* sums) {
  constexpr int count = chosen == 0 ? packed<std::int32_t> : chosen;
  if (row >= g.M) return;
  if constexpr (vectorized) {
    if (col < g.N) store_global<count>(g.D[row * g.ldd + col], sums);
  } else {
#pragma unroll
    for (int i = 0; i < count; ++i)
      if (col + i < g.N) g.D[row * g.ldd + col + i] = sums[i];
  }
}

/// What sums are scaled in before they are rounded to R; integers are not.
template <class R>
using ScaledIn = std::conditional_t<std::is_same_v<R, std::int32_t>, std::int32_t, float>;

/// Stores a thread's TM x TN results: result (i, j) is at row Places::row(thread, i) and column Places::col(thread, j)
/// of the block's tile, where columns come in vectors of neighbours.
template <class Places, bool vectorized, class T, class R, int TM, int TN>
LAPIDARY_DEVICE void store_tile(const Gemm<T, R>& g, const RowCol<std::int64_t>& block, int thread,
                                const float (&sums)[TM][TN]) {
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; j += packed<R>)
      store_results<vectorized>(g, block.row + Places::row(thread, i), block.col + Places::col(thread, j), &sums[i][j]);
}

}  // namespace lapidary::inline LAPIDARY_BUILD
