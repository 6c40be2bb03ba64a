#pragma once
#include <cstdint>
#include <type_traits>

#include "layout/fragment.hpp"
#include "ptx/ldmatrix.hpp"
#include "ptx/mma.hpp"
#include "tile/epilogue.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// What products of T are added up in.
template <class T>
using SumOf = std::conditional_t<std::is_same_v<T, std::int8_t>, std::int32_t, float>;

/// Where the operands and the results of a warp lie when it computes WM x WN of a block's results, BN / WN of such
/// tiles beside each other, by an mma.sync. The tiles of A and B are stored line by line, as their orders have them.
/// mma.sync wants 32 bits of neighbours along k; ldmatrix deals them out along a line, or 16-bit elements `transposed`.
template <class Form_, int BN, int WM, int WN, Order a_order, Order b_order>
struct MmaTile {
  using Form = Form_;
  static constexpr int down = WM / Form::M, across = WN / Form::N;  // products of the warp
  static constexpr bool a_transposed = a_order == Order::column_major, b_transposed = b_order == Order::row_major;
  static_assert(Form::packed == 2 || !(a_transposed || b_transposed), "ldmatrix transposes elements of 16 bits");
  static constexpr int vector = 4 * Form::packed;  // elements of 16 bytes, the row of a matrix for ldmatrix
  static constexpr int depth = Form::K / vector;   // such matrices of a product along k
  static_assert(WM % Form::M == 0 && WN % (2 * Form::N) == 0 && BN % WN == 0);

  LAPIDARY_HD static constexpr int first_row(int thread) { return thread / 32 / (BN / WN) * WM; }
  LAPIDARY_HD static constexpr int first_col(int thread) { return thread / 32 % (BN / WN) * WN; }

  /// The m and k from which on there are the 16 bytes whose address a lane gives to ldmatrix for A of product (0, ...);
  /// for (i, ...) they are i M further down. The matrices are the first 8 rows and the next, then both 16 bytes on
  /// along k, as far as the product goes.
  LAPIDARY_HD static constexpr RowCol<int> a_row(int thread) {
    const int row = first_row(thread);
    return a_transposed ? RowCol<int>{row + thread / 8 % 2 * 8, thread % 8 + thread % 32 / 16 * 8}
                        : RowCol<int>{row + thread % 16, thread % 32 / 16 * vector};
  }
  /// The k and n of those for B of products (..., 0) and (..., 1): of all k, then 8 columns on.
  LAPIDARY_HD static constexpr RowCol<int> b_row(int thread) {
    const int col = first_col(thread) + thread % 32 / (8 * depth) * 8;
    return b_transposed ? RowCol<int>{thread % (8 * depth), col}
                        : RowCol<int>{thread / 8 % depth * vector, col + thread % 8};
  }
  /// Result number `index` of a lane of product (i, j); 2 h and 2 h + 1 are neighbours.
  LAPIDARY_HD static constexpr RowCol<int> result(int thread, int i, int j, int index) {
    const RowCol<int> at = mma_d(thread % 32, index);
    return {first_row(thread) + i * Form::M + at.row, first_col(thread) + j * Form::N + at.col};
  }
};

/// Loads A of a product; `row` is where Tile::a_row says.
template <class Tile, int registers>
LAPIDARY_DEVICE void load_a(std::uint32_t (&to)[registers], const void* row) {
  ldmatrix<registers, Tile::a_transposed>(to, row);
}

/// Loads B of two neighbouring products by one ldmatrix; `row` is where Tile::b_row says.
template <class Tile, int registers>
LAPIDARY_DEVICE void load_b(std::uint32_t (&left)[registers], std::uint32_t (&right)[registers], const void* row) {
  std::uint32_t both[2 * registers];
  ldmatrix<2 * registers, Tile::b_transposed>(both, row);
#pragma unroll
  for (int i = 0; i < registers; ++i) {
    left[i] = both[i];
    right[i] = both[registers + i];
  }
}

/// Stores the results of a thread's products, two neighbours at a time.
template <class Tile, bool vectorized, class T, class R, class Sum, int down, int across, int count>
LAPIDARY_DEVICE void store_products(const Gemm<T, R>& g, const RowCol<std::int64_t>& block, int thread,
                                    const Sum (&sums)[down][across][count]) {
#pragma unroll
  for (int i = 0; i < down; ++i)
#pragma unroll
    for (int j = 0; j < across; ++j)
#pragma unroll
      for (int index = 0; index < count; index += 2) {
        const RowCol<int> at = Tile::result(thread, i, j, index);
        const ScaledIn<R> pair[] = {static_cast<ScaledIn<R>>(sums[i][j][index]),
                                    static_cast<ScaledIn<R>>(sums[i][j][index + 1])};
        store_results<vectorized, 2>(g, block.row + at.row, block.col + at.col, pair);
      }
}

/// Whether two neighbours of a matrix may be one access.
template <class R>
LAPIDARY_DEVICE bool in_pairs(const R* matrix, std::int64_t ld) {
  return reinterpret_cast<std::uintptr_t>(matrix) % (2 * sizeof(R)) == 0 && ld % 2 == 0;
}

/// The same where two neighbours may be one access if D and C allow for it.
template <class Tile, class T, class R, class Sum, int down, int across, int count>
LAPIDARY_DEVICE void store_products(const Gemm<T, R>& g, const RowCol<std::int64_t>& block, int thread,
                                    const Sum (&sums)[down][across][count]) {
  if (g.N % 2 == 0 && in_pairs(g.D, g.ldd) && (g.beta == 0 || in_pairs(g.C, g.ldc)))
    store_products<Tile, true>(g, block, thread, sums);
  else
    store_products<Tile, false>(g, block, thread, sums);
}

/// Of 4 x 4 pairs, four of each of four neighbouring lanes, gives lane t number t of every lane. All lanes of the warp
/// call it together.
template <class Number>
LAPIDARY_DEVICE void transpose_in_quad(Number (&pairs)[4][2], int thread) {
#pragma unroll
  for (int distance = 1; distance < 4; distance *= 2) {
    const int upper = thread & distance;
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        if (j & distance) continue;
        Number &low = pairs[j][e], &high = pairs[j | distance][e];
        const Number got = __shfl_xor_sync(0xffffffffu, upper ? low : high, distance);
        low = upper ? got : low;
        high = upper ? high : got;
      }
  }
}

/// Stores them 8 neighbours at a time: the four lanes that have a row of four neighbouring products, two elements each,
/// trade them for a product's whole row.
template <class Tile, bool vectorized, class T, class R, class Sum, int down, int across, int count>
LAPIDARY_DEVICE void store_traded_products(const Gemm<T, R>& g, const RowCol<std::int64_t>& block, int thread,
                                           const Sum (&sums)[down][across][count]) {
  static_assert(across % 4 == 0);
#pragma unroll
  for (int i = 0; i < down; ++i)
#pragma unroll
    for (int index = 0; index < count; index += 2)
#pragma unroll
      for (int j = 0; j < across; j += 4) {
        ScaledIn<R> pairs[4][2];
#pragma unroll
        for (int p = 0; p < 8; ++p) pairs[p / 2][p % 2] = static_cast<ScaledIn<R>>(sums[i][j + p / 2][index + p % 2]);
        transpose_in_quad(pairs, thread);
        const std::int64_t row = block.row + Tile::result(thread, i, j, index).row;
        const std::int64_t col = block.col + Tile::first_col(thread) + (j + thread % 4) * 8;
#pragma unroll
        for (int e = 0; e < 8; e += packed<R>) store_results<vectorized>(g, row, col + e, &pairs[e / 2][0]);
      }
}

}  // namespace lapidary::inline LAPIDARY_BUILD
