#pragma once
#include "layout/fragment.hpp"
#include "ptx/shared_address.hpp"
#include "ptx/wgmma.hpp"
#include "tile/mma_tile.hpp"
#include "tile/tma_tile.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// The results of a block whose operands are the tiles A and B, when its warpgroups have a share of the rows each. If
/// `promotes`, tensor cores add up the products of a stage alone.
template <class A_, class B_, int warpgroups, bool promotes_ = false>
struct WgmmaTile {
  using A = A_;
  using B = B_;
  using T = typename A::T;
  static constexpr int BM = A::MN, BN = B::MN, BK = A::BK;
  static constexpr int WM = BM / warpgroups;
  static constexpr bool promotes = promotes_;
  static constexpr int down = WM / 64, across = promotes ? 2 : ceil_div(BN, 256);  // products of a warpgroup
  using Sum = SumOf<T>;
  using Form = Wgmma<T, T, Sum, BN / across, A::major, B::major>;
  static_assert(BM % (64 * warpgroups) == 0 && BN % across == 0 && BK % Form::K == 0 && B::BK == BK);

  /// A thread's results.
  using Products = Sum[down][across][Form::d_registers];

  /// Result number `index` of a thread of product (i, j); 2 h and 2 h + 1 are neighbours.
  LAPIDARY_HD static constexpr FragmentElement result(int thread, int i, int j, int index) {
    const FragmentElement at = wgmma_d(thread % 128, index);
    return {thread / 128 * WM + i * Form::M + at.row, j * Form::N + at.col};
  }

  /// Starts the products of a warpgroup with a stage's tiles, as one group. They add to rD, or replace it if not
  /// `accumulate`.
  LAPIDARY_DEVICE static void multiply(Products& rD, const T* sA, const T* sB, int warpgroup, bool accumulate) {
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

/// sums += products
template <class Sum, int count>
LAPIDARY_DEVICE void add(Sum (&sums)[count], const Sum (&products)[count]) {
#pragma unroll
  for (int index = 0; index < count; ++index) sums[index] += products[index];
}

/// multiply_stages() where the sums of stages are added up outside of the tensor cores: those of the left half of a
/// stage's columns while the products of the right half are computed, these while another warpgroup multiplies.
template <class Tile, class Pipeline, class Release>
LAPIDARY_DEVICE void promote_stages(typename Tile::Products& rD, const Pipeline& pipeline,
                                    typename Pipeline::Position& p, const typename Tile::T* sA,
                                    const typename Tile::T* sB, int warpgroup, int steps, Release&& release) {
#pragma unroll
  for (int index = 0; index < Tile::Form::d_registers; ++index) rD[0][0][index] = rD[0][1][index] = 0;
  for (int step = 0; step < steps; ++step, p.advance()) {
    typename Tile::Sum left[Tile::Form::d_registers], right[Tile::Form::d_registers];
    pipeline.wait_full(p);
    Tile::multiply_column(left, 0, sA + p.stage * Tile::A::size, sB + p.stage * Tile::B::size, warpgroup);
    Tile::multiply_column(right, 1, sA + p.stage * Tile::A::size, sB + p.stage * Tile::B::size, warpgroup);
    wgmma_wait_group<1>(left);
    add(rD[0][0], left);
    wgmma_wait_group<0>(right);
    release(p);
    add(rD[0][1], right);
  }
}

/// A warpgroup's walk along K: multiplies stage after stage of a Pipeline as they come, from position p on. While the
/// products of one are computed, those of the next are started; `release(position)` is called where a stage is not read
/// any more.
template <class Tile, class Pipeline, class Release>
LAPIDARY_DEVICE void multiply_stages(typename Tile::Products& rD, const Pipeline& pipeline,
                                     typename Pipeline::Position& p, const typename Tile::T* sA,
                                     const typename Tile::T* sB, int warpgroup, int steps, Release&& release) {
  if constexpr (Tile::promotes) {
    promote_stages<Tile>(rD, pipeline, p, sA, sB, warpgroup, steps, release);
  } else {
    typename Pipeline::Position before = p;
    for (int step = 0; step < steps; ++step) {
      pipeline.wait_full(p);
      Tile::multiply(rD, sA + p.stage * Tile::A::size, sB + p.stage * Tile::B::size, warpgroup, step > 0);
      wgmma_wait_group<1>(rD);
      if (step > 0) release(before);
      before = p;
      p.advance();
    }
    wgmma_wait_group<0>(rD);
    release(before);
  }
}

}  // namespace lapidary::inline LAPIDARY_BUILD
