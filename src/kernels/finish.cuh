#pragma once
#include <string>

#include "layout/fragment.hpp"
#include "tile/vector.hpp"
#include "tile/wgmma_tile.hpp"

// What a kernel of wgmma does to a warpgroup's sums before they are rounded, slice by slice: to 64 rows by `cols`
// columns at a time, those of row i of its products from column s * cols on. N is even: whoever has a result of D also
// has its neighbour.

namespace lapidary::inline LAPIDARY_BUILD {

/// Which results of a warpgroup a slice has.
struct Slice {
  RowCol<int> origin;  ///< in D, of the warpgroup's results
  int i, s;
};

/// Of two neighbours among a thread's results.
struct PairPlace {
  int row, col;  ///< of the first, in D
  int down, n;   ///< the thread's pair number n of its row number `down`, among a warpgroup's results
};

/// Calls change(x, y, place) for all pairs of a thread in a slice.
template <int cols, int down, int across, int count, class Change>
LAPIDARY_DEVICE void for_each_pair(const Slice& slice, float (&sums)[down][across][count], Change&& change) {
  const RowCol<int> first = wgmma_d(static_cast<int>(threadIdx.x) % 128, 0);
  const int row = slice.origin.row + first.row + slice.i * 64, col = slice.origin.col + first.col;
#pragma unroll
  for (int q = 0; q < cols; q += 8)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int n = slice.s * cols + q, index = n % (2 * count) / 2 + 2 * h;
      float(&of)[count] = sums[slice.i][n / (2 * count)];
      change(of[index], of[index + 1], PairPlace{row + h * 8, col + n, 2 * slice.i + h, n / 8});
    }
}

/// Two neighbours of a row, or 0 if they are not there. @tparam whole  whether they are, as a word
template <bool whole, class R>
LAPIDARY_DEVICE Vector<R, 2> pair_of(const R* from, bool there) {
  if constexpr (whole) return load_vector<2>(*from);
  return there ? Vector<R, 2>{{from[0], from[1]}} : Vector<R, 2>{};
}
template <class R>
LAPIDARY_DEVICE void add_pair(float& x, float& y, const Vector<R, 2>& both) {
  x += to_float(both.element[0]);
  y += to_float(both.element[1]);
}

/// What a function of a result and its place does.
template <class F>
struct FinishWith {
  F function;

  static std::string refusal(const Epilogue& e) {
    return e == Epilogue() ? "" : to_string(e) + " is to follow; this kernel computes a function in its place";
  }
  template <class Tile, class T, class R>
  LAPIDARY_DEVICE void prefetch(const Gemm<T, R>&, const RowCol<int>&) const {}
  template <class Tile, int cols, class T, class R, class Sums, class Stage>
  LAPIDARY_DEVICE void finish(const Gemm<T, R>& g, const RowCol<int>& origin, Sums& sums, Stage&& stage) const {
    stage([&](int i, int s) {
      for_each_pair<cols>(Slice{origin, i, s}, sums, [&](float& x, float& y, const PairPlace& at) {
        if (at.row >= g.M || at.col >= g.N) return;
        x = function(x, at.row, at.col);
        y = function(y, at.row, at.col + 1);
      });
    });
  }
};
template <class F>
void add_slots(Prepared&, const FinishWith<F>&, std::size_t) {}

}  // namespace lapidary::inline LAPIDARY_BUILD
