#pragma once
#include <cstdint>
#include <string>

#include "core/gemm.hpp"
#include "device/launch.hpp"
#include "layout/access.hpp"
#include "layout/fragment.hpp"
#include "ptx/barrier.hpp"
#include "ptx/cp_async_bulk.hpp"
#include "ptx/fence.hpp"
#include "ptx/ldmatrix.hpp"
#include "ptx/warp.hpp"
#include "tile/epilogue.hpp"
#include "tile/mma_tile.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// The way of a warpgroup's results through shared memory: stmatrix writes slices of 64 rows of `cols` columns, and TMA
/// stores these, clipped at the edges of D, while the warpgroup goes on. `slices` of them are on their way at a time.
/// Slices of 64 columns, whole lines of memory, are swizzled; others have an odd number of 16-byte chunks in a row, so
/// that rows begin in different banks. Results of 32 bits go past it: as lanes hold them they are whole sectors
/// already.
template <class R, int slices_, int cols_>
struct StagedEpilogue {
  static constexpr bool staged = sizeof(R) == 2;
  static constexpr int slices = slices_, rows = 64, cols = cols_, slice = rows * cols;
  static constexpr int room = staged ? slices * slice : 0;  // elements of a warpgroup
  static constexpr Layout d = cols == 64 ? row_major(rows, cols).swizzled(3, 3, 3) : row_major(rows, cols);
  static_assert(cols == 64 || cols % 16 == 8);

  /// Where a lane's row of 8 elements goes by stmatrix: of columns 16 q to 16 q + 15 of a warp's 16 rows.
  LAPIDARY_HD static constexpr int write(int thread, int q) {
    constexpr Layout at = d;
    return at(thread % 128 / 32 * 16 + thread % 16, q * 16 + thread % 32 / 16 * 8);
  }

  /// Why D cannot be stored this way: base, rows and what is between their beginnings are multiples of 16 bytes. Empty
  /// if it can be.
  static std::string refusal(const Problem& problem) {
    constexpr std::int64_t chunk = 16 / sizeof(R);
    const std::string rule = "; results that are stored in bulk are in multiples of 16 bytes";
    if (!staged) return {};
    if (problem.aligned.D % 16 != 0) return "D is known to be aligned to " + std::to_string(problem.aligned.D) + " bytes" + rule;
    if (problem.ldd % chunk != 0)
      return "ldd is " + std::to_string(problem.ldd) + rule + ", " + std::to_string(chunk) + " elements";
    if (problem.N % chunk != 0)
      return "N is " + std::to_string(problem.N) + rule + ", " + std::to_string(chunk) + " elements";
    return {};
  }
  /// Of a resolved problem's D; an empty one where results go past it.
  static auto map([[maybe_unused]] const Problem& problem) {
    if constexpr (!staged)
      return TensorMap();
    else
      return MatrixMap<TensorMap>{
          tensor_map({.base = unknown_address(),
                      .size = {static_cast<std::uint64_t>(problem.N), static_cast<std::uint64_t>(problem.M)},
                      .stride = {static_cast<std::uint64_t>(problem.ldd) * sizeof(R)},
                      .box = {cols, rows},
                      .rank = 2,
                      .type = tensor_type<R>,
                      .swizzle = tensor_swizzle(d, sizeof(R))}),
          Matrix::D};
  }

  /// Scales and stores the results of a block, which begin at (row, col) of D, by all threads of its warpgroups.
  /// `staging` has room for all of these; barriers 1 and up are used.
  template <class Tile, class T, class Sum, int down, int across, int count>
  LAPIDARY_DEVICE static void store(const Gemm<T, R>& g, const TensorMap& map, R* staging, int row, int col,
                                    Sum (&sums)[down][across][count]) {
    if constexpr (staged) {
      const int warpgroup = warp_of_block() / 4;
      store_staged(g, map, staging + warpgroup * room, 1 + static_cast<unsigned>(warpgroup), row + warpgroup * Tile::WM,
                   col, sums);
    } else {
      store_products<Tile>(g, {row, col}, static_cast<int>(threadIdx.x), sums);
    }
  }
  /// Shared memory stays until the stores have read it.
  LAPIDARY_DEVICE static void finish() {
    if constexpr (staged)
      if (warp_of_block() % 4 == 0 && elect_sync()) cp_async_bulk_wait_group_read<0>();
  }

 private:
  template <class T, int down, int across, int count>
  LAPIDARY_DEVICE static void store_staged(const Gemm<T, R>& g, const TensorMap& map, R* staging, unsigned barrier,
                                           int row, int col, float (&sums)[down][across][count]) {
    constexpr int width = across * 2 * count;
    static_assert(width % cols == 0);
    const int thread = static_cast<int>(threadIdx.x) % 128;
    scale(g, row, col, sums);
    const bool issuer = thread < 32 && elect_sync();
#pragma unroll
    for (int i = 0; i < down; ++i)
#pragma unroll
      for (int s = 0; s < width / cols; ++s) {
        const int number = i * (width / cols) + s;
        R* const to = staging + number % slices * slice;
        // The slice's last store has read it: that of the tile before, or of `slices` slices ago.
        if (issuer && number == 0) cp_async_bulk_wait_group_read<0>();
        if (issuer && number >= slices) cp_async_bulk_wait_group_read<slices - 1>();
        barrier_sync(barrier, 128);
#pragma unroll
        for (int q = 0; q < cols / 16; ++q) write_columns<4>(to + write(thread, q), sums[i], s * cols + q * 16);
        if constexpr (cols % 16 != 0)
          write_columns<2>(to + write(thread % 16 + thread / 32 * 32, cols / 16), sums[i], s * cols + cols / 16 * 16);
        fence_proxy_async();
        barrier_sync(barrier, 128);
        if (issuer) {
          cp_async_bulk_tensor_store(map, Coordinates{col + s * cols, row + i * rows}, to);
          cp_async_bulk_commit_group();
        }
      }
  }

  /// Writes 4 `matrices` columns of a warpgroup's row of products, from column `at` on.
  template <int matrices, int across, int count>
  LAPIDARY_DEVICE static void write_columns(R* to, const float (&sums)[across][count], int at) {
    std::uint32_t results[matrices];
#pragma unroll
    for (int h = 0; h < matrices; ++h) {
      const int first = at % (2 * count) / 2 + 2 * h;
      const R both[] = {from_float<R>(sums[at / (2 * count)][first]), from_float<R>(sums[at / (2 * count)][first + 1])};
      __builtin_memcpy(&results[h], both, sizeof(both));
    }
    stmatrix<matrices>(to, results);
  }

  /// sum = alpha * sum + beta * C for all of a thread's results.
  template <class T, int down, int across, int count>
  LAPIDARY_DEVICE static void scale(const Gemm<T, R>& g, int row, int col, float (&sums)[down][across][count]) {
#pragma unroll
    for (int i = 0; i < down; ++i)
#pragma unroll
      for (int j = 0; j < across; ++j)
#pragma unroll
        for (int index = 0; index < count; ++index) sums[i][j][index] *= g.alpha;
    if (g.beta == 0) return;
    const FragmentElement at = wgmma_d(static_cast<int>(threadIdx.x) % 128, 0);
    const int n_left = static_cast<int>(g.N) - col - at.col;
#pragma unroll
    for (int i = 0; i < down; ++i)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const std::int64_t r = row + i * rows + at.row + 8 * h;
        const R* const c = g.C + r * g.ldc + col + at.col;
        if (r >= g.M) continue;
#pragma unroll
        for (int j = 0; j < across; ++j)
#pragma unroll
          for (int index = 0; index < count; index += 4)
#pragma unroll
            for (int e = 0; e < 2; ++e) {
              const int n = j * 2 * count + 2 * index + e;
              if (n < n_left)
                sums[i][j][index + 2 * h + e] = fmaf(g.beta, to_float(c[n]), sums[i][j][index + 2 * h + e]);
            }
      }
  }
};
template <int cols>
constexpr int stmatrix_wavefronts = wavefronts(warp_access<bf16, 8>([](int lane) {
  return StagedEpilogue<bf16, 1, cols>::write(lane, 0);
}));
static_assert(stmatrix_wavefronts<64> == 4 && stmatrix_wavefronts<200> == 4, "the minimum");

}  // namespace lapidary::inline LAPIDARY_BUILD
