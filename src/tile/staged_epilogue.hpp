#pragma once
#include <cstdint>

#include "core/gemm.hpp"
#include "device/tensor_map.hpp"
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

/// The way of a warpgroup's results through shared memory: stmatrix writes slices of 64 x 64 as rows of 128 bytes, and
/// TMA stores these as whole lines, clipped at the edges of D, while the warpgroup goes on. `slices` of them are on
/// their way at a time. Results of 32 bits go past it: as lanes hold
/// them they are whole sectors already.
template <class R, int slices>
struct StagedEpilogue {
  static constexpr bool staged = sizeof(R) == 2;
  static constexpr int rows = 64, cols = 64, slice = rows * cols;
  static constexpr int room = staged ? slices * slice : 0;  // elements of a warpgroup
  static constexpr Layout d = row_major(rows, cols).swizzled(3, 3, 3);

  /// Where a lane's row of 8 elements goes by stmatrix: of columns 16 q to 16 q + 15 of a warp's 16 rows.
  LAPIDARY_HD static constexpr int write(int thread, int q) {
    constexpr Layout at = d;
    return at(thread % 128 / 32 * 16 + thread % 16, q * 16 + thread % 32 / 16 * 8);
  }

  /// Whether D can be stored this way: base, rows and what is between their beginnings are multiples of 16 bytes.
  template <class T>
  static bool stores(const Gemm<T, R>& g) {
    constexpr std::int64_t chunk = 16 / sizeof(R);
    return !staged || (reinterpret_cast<std::uintptr_t>(g.D) % 16 == 0 && g.ldd % chunk == 0 && g.N % chunk == 0);
  }
  static TensorMap map(R* D, std::int64_t ldd, std::int64_t M, std::int64_t N) {
    if (!staged) return {};
    return tensor_map({.base = D,
                       .size = {static_cast<std::uint64_t>(N), static_cast<std::uint64_t>(M)},
                       .stride = {static_cast<std::uint64_t>(ldd) * sizeof(R)},
                       .box = {cols, rows},
                       .rank = 2,
                       .type = tensor_type<R>,
                       .swizzle = tensor_swizzle(d, sizeof(R))});
  }

  /// Scales and stores the results of a block, which begin at (row, col) of D, by all threads of its warpgroups.
  /// `staging` has room for all of these; barriers 1 and up are used.
  template <class Tile, class T, int down, int across, int count>
  LAPIDARY_DEVICE static void store(const Gemm<T, R>& g, const TensorMap& map, R* staging, int row, int col,
                                    float (&sums)[down][across][count]) {
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
    if (staged && warp_of_block() % 4 == 0 && elect_sync()) cp_async_bulk_wait_group_read<0>();
  }

 private:
  template <class T, int down, int across, int count>
  LAPIDARY_DEVICE static void store_staged(const Gemm<T, R>& g, const TensorMap& map, R* staging, unsigned barrier,
                                           int row, int col, float (&sums)[down][across][count]) {
    constexpr int N = 2 * count;  // of a product
    const int thread = static_cast<int>(threadIdx.x) % 128;
    scale(g, row, col, sums);
    const bool issuer = thread < 32 && elect_sync();
#pragma unroll
    for (int i = 0; i < down; ++i)
#pragma unroll
      for (int s = 0; s < across * N / cols; ++s) {
        const int number = i * (across * N / cols) + s;
        R* const to = staging + number % slices * slice;
        // The slice's last store has read it: that of the tile before, or of `slices` slices ago.
        if (issuer && number == 0) cp_async_bulk_wait_group_read<0>();
        if (issuer && number >= slices) cp_async_bulk_wait_group_read<slices - 1>();
        barrier_sync(barrier, 128);
#pragma unroll
        for (int q = 0; q < cols / 16; ++q) {
          const int at = s * cols + q * 16;
          std::uint32_t results[4];
#pragma unroll
          for (int h = 0; h < 4; ++h) {
            const R both[] = {from_float<R>(sums[i][at / N][at % N / 2 + 2 * h]),
                              from_float<R>(sums[i][at / N][at % N / 2 + 2 * h + 1])};
            __builtin_memcpy(&results[h], both, sizeof(both));
          }
          stmatrix<4>(to + write(thread, q), results);
        }
        fence_proxy_async();
        barrier_sync(barrier, 128);
        if (issuer) {
          const int x = col + s * cols, y = row + i * rows;
          if (x < g.N && y < g.M) cp_async_bulk_tensor_store(map, Coordinates{x, y}, to);
          cp_async_bulk_commit_group();
        }
      }
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
static_assert(wavefronts(warp_access<bf16, 8>([](int lane) { return StagedEpilogue<bf16, 1>::write(lane, 0); })) == 4,
              "the minimum");

}  // namespace lapidary::inline LAPIDARY_BUILD
