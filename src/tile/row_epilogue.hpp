#pragma once
#include <cstdint>
#include <string>

#include "layout/access.hpp"
#include "layout/bank_conflict.hpp"
#include "layout/layout.hpp"
#include "ptx/shared_pointer.hpp"
#include "tile/global_tile.hpp"
#include "tile/mma_tile.hpp"
#include "tile/wgmma_parts.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// Results go to D by way of shared memory, row by row, for rows that begin anywhere. As lanes hold them, a warp's
/// store reaches 8 rows by 8 columns, each of whose sectors is then written in pieces; staged, 8 rows of 64 columns at
/// a time, its lanes have neighbours of one row. Each warp for itself: nobody else waits. Slices of a narrow tile have
/// as many columns as it has.
template <class R, int warps, int columns = 64>
struct RowEpilogue {
  static constexpr bool finishes = false;
  static constexpr int rows = 8, cols = columns;
  static constexpr Layout staged = row_major(rows, cols).padded(cols, 8);

  struct Storage {
    SharedArray<float, warps * staged.cosize()> staging;  // (warps, rows, cols)
  };
  struct Map {};
  static Map map(const Problem&) { return {}; }
  static std::string refusal(const Problem&) { return {}; }

  /// Where a lane's two neighbours of 8 columns, number q of the slice, go.
  LAPIDARY_HD static constexpr int write(int lane, int q) {
    const RowCol<int> at = mma_d(lane, 0);
    constexpr Layout place = staged;
    return place(at.row, q * 8 + at.col);
  }
  /// Where the result is that a lane stores to row r, from column n of the slice on.
  LAPIDARY_HD static constexpr int read(int lane, int r, int n) {
    constexpr Layout place = staged;
    return place(r, n + lane);
  }
  static_assert(wavefronts(warp_access<float, 2>([](int lane) { return write(lane, 0); })) == 2, "the minimum");
  static_assert(wavefronts(warp_access<float>([](int lane) { return read(lane, 0, 0); })) == 1, "neighbours");

  template <class Tile, class T>
  LAPIDARY_DEVICE static void store(const Gemm<T, R>& g, const RowCol<std::int64_t>& block, int thread,
                                    const typename Tile::Accumulators& rD, const Map&, Storage& shared) {
    if (sizeof(R) == 4 && g.N % 2 == 0 && in_pairs(g.D, g.ldd) && (g.beta == 0 || in_pairs(g.C, g.ldc)))
      return store_products<Tile, true>(g, block, thread, rD);
    using Sum = typename Tile::Sum;
    constexpr int N = Tile::Form::N;
    static_assert(Tile::BN % cols == 0 && N % 8 == 0 && sizeof(Sum) == sizeof(float));
    const int lane = thread % 32, warp = thread / 32;
    Sum* const sD = to_shared(&as<Sum>(shared.staging[warp * static_cast<int>(staged.cosize())]));
    const RowCol<std::int64_t> origin = {block.row + Tile::result(warp * 32, 0, 0, 0).row, block.col + lane};
    const int n_left = left_in_tile(g.N, origin.col, Tile::BN);
#pragma unroll
    for (int i = 0; i < Tile::down; ++i)
#pragma unroll
      for (int h = 0; h < 16 / rows; ++h) {
        const std::int64_t row = origin.row + i * Tile::Form::M + h * rows;
        const int m_left = left_in_tile(g.M, row, rows);
#pragma unroll
        for (int s = 0; s < Tile::BN; s += cols) {
          __syncwarp();  // the slice before has been read
#pragma unroll
          for (int q = 0; q < cols / 8; ++q) {
            const int col = s + q * 8;
            store_vector<2>(sD[write(lane, q)], &rD[i][col / N][col % N / 2 + 2 * h]);
          }
          __syncwarp();
          R* d = g.D + row * g.ldd + origin.col + s;
          std::int64_t c = row * g.ldc + origin.col + s;
#pragma unroll
          for (int r = 0; r < rows; ++r, d += g.ldd, c += g.ldc)
#pragma unroll
            for (int n = 0; n < cols; n += 32)
              if (r < m_left && s + n < n_left) d[n] = scaled(g, sD[read(lane, r, n)], g.beta != 0 ? g.C[c + n] : R{});
        }
      }
  }
  LAPIDARY_DEVICE static void finish() {}
};

/// Sums of a tile that a block has to itself go to D row by row, by way of shared memory.
template <class Summed, class R, int warps, int cols>
struct ByRowsIfAlone : Summed {
  using Rows = RowEpilogue<R, warps, cols>;
  struct Storage : Summed::Storage {
    typename Rows::Storage rows;
  };

  template <class Tile, class T>
  LAPIDARY_DEVICE static void store(const Gemm<T, R>& g, const RowCol<std::int64_t>& origin, int thread,
                                    typename Tile::Accumulators& rD, const typename Summed::Map& map, Storage& shared) {
    if (OfOneTile::ranks() == 1)
      Rows::template store<Tile>(g, origin, thread, rD, {}, shared.rows);
    else
      Summed::template store<Tile>(g, origin, thread, rD, map, shared);
  }
};

}  // namespace lapidary::inline LAPIDARY_BUILD
