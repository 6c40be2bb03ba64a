#pragma once
#include "layout/fragment.hpp"
#include "ptx/shared_address.hpp"
#include "ptx/wgmma.hpp"
#include "tile/mma_tile.hpp"
#include "tile/tma_tile.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// The results of a block whose operands are the tiles A and B, when its warpgroups have a share of the rows each:
/// `across` products beside each other, as few as an instruction's 256 columns allow unless it is said.
template <class A_, class B_, int warpgroups, int across_ = ceil_div(B_::MN, 256)>
struct WgmmaTile {
  using A = A_;
  using B = B_;
  using T = typename A::T;
  static constexpr int BM = A::MN, BN = B::MN, BK = A::BK;
  static constexpr int WM = BM / warpgroups;
  static constexpr int down = WM / 64, across = across_;  // products of a warpgroup
  using Sum = SumOf<T>;
  using Form = Wgmma<T, T, Sum, BN / across, A::major, B::major>;
  static_assert(BM % (64 * warpgroups) == 0 && BN % across == 0 && BK % Form::K == 0 && B::BK == BK);

  /// A thread's results: its part of (down x 64, across x Form::N).
  using Accumulators = Sum[down][across][Form::d_registers];

  /// Result number `index` of a thread of product (i, j); 2 h and 2 h + 1 are neighbours.
  LAPIDARY_HD static constexpr RowCol<int> result(int thread, int i, int j, int index) {
    const RowCol<int> at = wgmma_d(thread % 128, index);
    return {thread / 128 * WM + i * Form::M + at.row, j * Form::N + at.col};
  }

  /// Starts the products of a warpgroup with a stage's tiles, as one group. They add to rD, or replace it if not
  /// `accumulate`.
  LAPIDARY_DEVICE static void multiply(Accumulators& rD, const T* sA, const T* sB, int warpgroup, bool accumulate) {
    wgmma_fence(rD);
#pragma unroll
    for (int i = 0; i < down; ++i)
#pragma unroll
      for (int j = 0; j < across; ++j) start(rD[i][j], i, j, sA, sB, warpgroup, accumulate);
    wgmma_commit_group();
  }
  /// Starts those of its column j alone, where there is one row of them; they replace rD.
  LAPIDARY_DEVICE static void multiply_column(Sum (&rD)[Form::d_registers], int j, const T* sA, const T* sB,
                                              int warpgroup) {
    static_assert(down == 1);
    wgmma_fence(rD);
    start(rD, 0, j, sA, sB, warpgroup, false);
    wgmma_commit_group();
  }

 private:
  /// Those of product (i, j).
  LAPIDARY_DEVICE static void start(Sum (&rD)[Form::d_registers], int i, int j, const T* sA, const T* sB, int warpgroup,
                                    bool accumulate) {
    constexpr MatrixTile a = A::matrix(), b = B::matrix();
    const std::uint64_t a_begin = a.encoded(shared_address(sA), warpgroup * WM),
                        b_begin = b.encoded(shared_address(sB));
#pragma unroll
    for (int k = 0; k < BK; k += Form::K)
      wgmma_mma_async<Form>(rD, a_begin + static_cast<unsigned>(a.offset(i * Form::M, k)) / 16,
                            b_begin + static_cast<unsigned>(b.offset(j * Form::N, k)) / 16, accumulate || k > 0);
  }
};

/// Adds `factor` times a matrix of the shape of D to all results of a thread of a warpgroup, whose results begin at
/// `origin` of D.
template <class T, class R, int down, int across, int count>
LAPIDARY_DEVICE void add_matrix(const Gemm<T, R>& g, float factor, const R* matrix, std::int64_t ld,
                                const RowCol<int>& origin, float (&sums)[down][across][count]) {
  const RowCol<int> at = wgmma_d(static_cast<int>(threadIdx.x) % 128, 0);
  const int n_left = static_cast<int>(g.N) - origin.col - at.col;
#pragma unroll
  for (int i = 0; i < down; ++i)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const std::int64_t row = origin.row + i * 64 + at.row + 8 * h;
      const R* const c = matrix + row * ld + origin.col + at.col;
      if (row >= g.M) continue;
#pragma unroll
      for (int j = 0; j < across; ++j)
#pragma unroll
        for (int index = 0; index < count; index += 4)
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            const int n = j * 2 * count + 2 * index + e;
            float& sum = sums[i][j][index + 2 * h + e];
            if (n < n_left) sum = fmaf(factor, to_float(c[n]), sum);
          }
    }
}

/// sum = alpha * sum + beta * C for all of them.
template <class T, class R, int down, int across, int count>
LAPIDARY_DEVICE void scale_warpgroup(const Gemm<T, R>& g, const RowCol<int>& origin,
                                     float (&sums)[down][across][count]) {
  if (g.alpha != 1) {
#pragma unroll
    for (int i = 0; i < down; ++i)
#pragma unroll
      for (int j = 0; j < across; ++j)
#pragma unroll
        for (int index = 0; index < count; ++index) sums[i][j][index] *= g.alpha;
  }
  if (g.beta != 0) add_matrix(g, g.beta, g.C, g.ldc, origin, sums);
}

}  // namespace lapidary::inline LAPIDARY_BUILD
