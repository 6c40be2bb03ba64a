#pragma once
#include <cstdint>

#include "layout/fragment.hpp"
#include "ptx/ldmatrix.hpp"
#include "ptx/mma.hpp"
#include "tile/epilogue.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// Where the operands and the results of a warp lie when it computes WM x WN of a block's results, BN / WN of such
/// tiles beside each other, by an mma.sync of 16-bit elements: A's tile is stored by rows, m x k, and B's too, k x n.
template <class Form_, int BN, int WM, int WN>
struct MmaTile {
  using Form = Form_;
  static constexpr int down = WM / Form::M, across = WN / Form::N;  // products of the warp
  static_assert(WM % Form::M == 0 && WN % (2 * Form::N) == 0 && BN % WN == 0);

  LAPIDARY_HD static constexpr int first_row(int thread) { return thread / 32 / (BN / WN) * WM; }
  LAPIDARY_HD static constexpr int first_col(int thread) { return thread / 32 % (BN / WN) * WN; }

  /// The row of 8 elements whose address a lane gives to ldmatrix for A of product (i, ...): of the first 8 rows, then
  /// of the next, then of both 8 elements on along k, as far as the product goes.
  LAPIDARY_HD static constexpr FragmentElement a_row(int thread, int i) {
    return {first_row(thread) + i * Form::M + thread % 16, thread % 32 / 16 * 8};
  }
  /// The same for B of products (..., j) and (..., j + 1), transposed: of all k, then 8 columns on.
  LAPIDARY_HD static constexpr FragmentElement b_row(int thread, int j) {
    return {thread % Form::K, first_col(thread) + j * Form::N + thread % 32 / Form::K * 8};
  }
  /// Result number `index` of a lane of product (i, j); 2 h and 2 h + 1 are neighbours.
  LAPIDARY_HD static constexpr FragmentElement result(int thread, int i, int j, int index) {
    const FragmentElement at = mma_d(thread % 32, index);
    return {first_row(thread) + i * Form::M + at.row, first_col(thread) + j * Form::N + at.col};
  }
};

/// Loads B of two neighbouring products by one ldmatrix; `row` is where MmaTile::b_row says.
template <int registers>
LAPIDARY_DEVICE void load_b(std::uint32_t (&left)[registers], std::uint32_t (&right)[registers], const void* row) {
  std::uint32_t both[2 * registers];
  ldmatrix<2 * registers, true>(both, row);
#pragma unroll
  for (int i = 0; i < registers; ++i) {
    left[i] = both[i];
    right[i] = both[registers + i];
  }
}

/// Stores the results of a thread's products, two neighbours at a time.
template <class Tile, bool vectorized, class T, class R, int down, int across, int count>
LAPIDARY_DEVICE void store_products(const Gemm<T, R>& g, const TileOrigin& block, int thread,
                                    const float (&sums)[down][across][count]) {
#pragma unroll
  for (int i = 0; i < down; ++i)
#pragma unroll
    for (int j = 0; j < across; ++j)
#pragma unroll
      for (int index = 0; index < count; index += 2) {
        const FragmentElement at = Tile::result(thread, i, j, index);
        store_results<vectorized, 2>(g, block.row + at.row, block.col + at.col, &sums[i][j][index]);
      }
}

/// The same where two neighbours may be one access if D and C allow for it.
template <class Tile, class T, class R, int down, int across, int count>
LAPIDARY_DEVICE void store_products(const Gemm<T, R>& g, const TileOrigin& block, int thread,
                                    const float (&sums)[down][across][count]) {
  const auto in_pairs = [&](const R* matrix, std::int64_t ld) {
    return reinterpret_cast<std::uintptr_t>(matrix) % (2 * sizeof(R)) == 0 && ld % 2 == 0;
  };
  if (g.N % 2 == 0 && in_pairs(g.D, g.ldd) && (g.beta == 0 || in_pairs(g.C, g.ldc)))
    store_products<Tile, true>(g, block, thread, sums);
  else
    store_products<Tile, false>(g, block, thread, sums);
}

}  // namespace lapidary::inline LAPIDARY_BUILD
