#pragma once
#include <cstdint>

#include "core/types.hpp"
#include "layout/fragment.hpp"
#include "layout/layout.hpp"
#include "ptx/ldmatrix.hpp"
#include "tile/vector.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// A warpgroup's results of 64 rows by `cols` columns, of 16 bits each, in shared memory, where bulk stores take them
/// from. Rows of 32, 64 and 128 bytes are swizzled; others have an odd number of 16-byte chunks, and so other banks.
template <class R, int cols>
struct StagedSlice {
  static constexpr int rows = 64, size = rows * cols;
  static constexpr Layout layout = cols == 64   ? row_major(rows, cols).swizzled(3, 3, 3)
                                   : cols == 32 ? row_major(rows, cols).swizzled(2, 3, 3)
                                   : cols == 16 ? row_major(rows, cols).swizzled(1, 3, 3)
                                                : row_major(rows, cols);
  static_assert(sizeof(R) == 2 && (cols == 64 || cols == 32 || cols == 16 || cols % 16 == 8));

  /// Where a lane's row of 8 elements goes by stmatrix: of columns 16 q to 16 q + 15 of a warp's 16 rows.
  LAPIDARY_HD static constexpr int at(int thread, int q) {
    constexpr Layout in = layout;
    return in(thread % 128 / 32 * 16 + thread % 16, q * 16 + thread % 32 / 16 * 8);
  }
  /// Writes those of a warpgroup's row of products that begin with column `first`.
  template <int across, int count>
  LAPIDARY_DEVICE static void write(R* to, int thread, const float (&sums)[across][count], int first) {
#pragma unroll
    for (int q = 0; q < cols / 16; ++q) write_columns<4>(to + at(thread, q), sums, first + q * 16);
    if constexpr (cols % 16 != 0)
      write_columns<2>(to + at(thread % 16 + thread % 128 / 32 * 32, cols / 16), sums, first + cols / 16 * 16);
  }

 private:
  /// Writes 4 `matrices` columns of a row of products, from column `first` on.
  template <int matrices, int across, int count>
  LAPIDARY_DEVICE static void write_columns(R* to, const float (&sums)[across][count], int first) {
    std::uint32_t results[matrices];
#pragma unroll
    for (int h = 0; h < matrices; ++h) {
      const int i = first % (2 * count) / 2 + 2 * h;
      const float(&of)[count] = sums[first / (2 * count)];
      const R both[] = {from_float<R>(of[i]), from_float<R>(of[i + 1])};
      __builtin_memcpy(&results[h], both, sizeof(both));
    }
    stmatrix<matrices>(to, results);
  }
};

/// The same of results of 32 bits, in pairs. An odd number of 8 columns puts the four rows of 8 columns that half a
/// warp stores into different banks, without a swizzle, which would move 16 bytes at a time.
template <class R, int cols>
struct PairedSlice {
  static constexpr int rows = 64, size = rows * cols;
  static constexpr Layout layout = row_major(rows, cols);
  static_assert(sizeof(R) == 4 && cols % 16 == 8);

  /// Where a lane's two neighbours go of columns 8 q to 8 q + 7, in the upper 8 of its warp's rows (h = 0) or the lower
  /// (h = 1).
  LAPIDARY_HD static constexpr int at(int thread, int q, int h) {
    constexpr Layout in = layout;
    const RowCol<int> at = wgmma_d(thread % 128, 2 * h);
    return in(at.row, q * 8 + at.col);
  }
  /// Writes those of a warpgroup's row of products that begin with column `first`.
  template <int across, int count>
  LAPIDARY_DEVICE static void write(R* to, int thread, const R (&sums)[across][count], int first) {
    constexpr int N = 2 * count;
    static_assert(N % 8 == 0);
#pragma unroll
    for (int q = 0; q < cols / 8; ++q)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int col = first + q * 8;
        store_vector<2>(to[at(thread, q, h)], &sums[col / N][col % N / 2 + 2 * h]);
      }
  }
};

}  // namespace lapidary::inline LAPIDARY_BUILD
