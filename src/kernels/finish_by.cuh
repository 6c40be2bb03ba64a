#pragma once
#include <cstdint>
#include <string>
#include <type_traits>

#include "core/math.hpp"
#include "kernels/activation.cuh"
#include "kernels/finish.cuh"
#include "ptx/prefetch.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// What an Epilogue asks for.
template <class R>
struct FinishBy {
  Bias bias_of;
  Activation activation;
  bool clamps, plain;  ///< plain: there is a bias of columns or an activation, and nothing else
  float scale, low, high;
  const R *bias, *residual;  ///< null if there is none
  std::int64_t ldr;

  static std::string refusal(const Epilogue& e) {
    return e.activation == Activation::gelu_erf ? "its activation is gelu_erf; this kernel has the others" : "";
  }
  static FinishBy of(const Problem& p) {
    const Epilogue& e = p.epilogue;
    const bool plain = (e.bias == Bias::of_columns || (e.bias == Bias::none && e.activation != Activation::none)) &&
                       !e.scale && !e.residual && !e.clamp;
    return {e.bias, e.activation, e.clamp, plain, 1, 0, 0, nullptr, nullptr, p.ldr};
  }

  /// While products of the tile are yet to be computed, as who reads afterwards waits: lines of the bias to L1, and of
  /// the residual, which are too many for that, to L2.
  template <class Tile, class T>
  LAPIDARY_DEVICE void prefetch(const Gemm<T, R>& g, const RowCol<int>& origin) const {
    constexpr int line = 128 / sizeof(R), across = ceil_div(Tile::BN, line);
    const int thread = static_cast<int>(threadIdx.x) % 128;
    if (bias_of == Bias::of_columns && thread < across && thread * line < g.N - origin.col)
      prefetch_l1(bias + origin.col + thread * line);
    if (!residual) return;
    for (int n = thread; n < Tile::WM * across; n += 128) {
      const int row = n / across, col = n % across * line;
      if (row < g.M - origin.row && col < g.N - origin.col)
        prefetch_l2(residual + (origin.row + row) * ldr + origin.col + col);
    }
  }

  /// Calls stage(before), which stores a warpgroup's results after before(i, s) for each slice. What there is to be
  /// done is found out once for all of them, and not asked for each element whether it lies in D where all do: that
  /// would take longer than most of what is done.
  template <class Tile, int cols, class T, class Sums, class Stage>
  LAPIDARY_DEVICE void finish(const Gemm<T, R>& g, const RowCol<int>& origin, Sums& sums, Stage&& stage) const {
    const bool has_columns = g.N - origin.col >= Tile::BN, has_rows = g.M - origin.row >= Tile::WM;
    const bool biased = bias_of != Bias::none;
    if (!plain || (biased && !(has_columns && in_pairs(bias, 0)))) {
      const bool bias_whole = has_columns && in_pairs(bias, 0),
                 residual_whole = has_columns && has_rows && in_pairs(residual, ldr);
      return stage([&](int i, int s) { apply<cols>(g, Slice{origin, i, s}, bias_whole, residual_whole, sums); });
    }
    const auto by = [&](auto has_bias, auto known) {
      constexpr bool adds = decltype(has_bias)::value;
      Vector<R, 2> biases[Tile::BN / 8];  // all are under way before the first one is waited for
      if constexpr (adds) {
        const R* const first = bias + origin.col + wgmma_d(static_cast<int>(threadIdx.x) % 128, 0).col;
#pragma unroll
        for (int n = 0; n < Tile::BN / 8; ++n) biases[n] = load_vector<2>(first[n * 8]);
      }
      stage([&](int i, int s) {
        for_each_pair<cols>(Slice{origin, i, s}, sums, [&](float& x, float& y, const PairPlace& at) {
          if constexpr (adds) add_pair(x, y, biases[at.n]);
          activate<decltype(known)::value>(x, y);
        });
      });
    };
    using enum Activation;
    if (activation == none) return by(std::true_type(), std::integral_constant<Activation, none>());
    with_activation(activation, [&](auto known) {
      if constexpr (decltype(known)::value != gelu_erf) {
        if (biased)
          by(std::true_type(), known);
        else
          by(std::false_type(), known);
      }
    });
  }

 private:
  template <bool whole, int cols, class T, class Sums>
  LAPIDARY_DEVICE void add_residual(const Gemm<T, R>& g, const Slice& slice, Sums& sums) const {
    Vector<R, 2> both[2][cols / 8];  // under way as the biases are
    const auto visit = [&](auto&& call) {
      for_each_pair<cols>(slice, sums, [&](float& x, float& y, const PairPlace& at) {
        call(x, y, at, both[at.down % 2][at.n % (cols / 8)]);
      });
    };
    visit([&](float&, float&, const PairPlace& at, Vector<R, 2>& addend) {
      addend = pair_of<whole>(residual + at.row * ldr + at.col, at.row < g.M && at.col < g.N);
    });
    visit([](float& x, float& y, const PairPlace&, const Vector<R, 2>& addend) { add_pair(x, y, addend); });
  }
  /// All that there may be. @param bias_whole, residual_whole  whether all that the tile needs of it is there, in words
  template <int cols, class T, class Sums>
  LAPIDARY_DEVICE void apply(const Gemm<T, R>& g, const Slice& slice, bool bias_whole, bool residual_whole,
                             Sums& sums) const {
    const auto each = [&](auto&& change) { for_each_pair<cols>(slice, sums, change); };
    if (bias_of == Bias::of_columns && bias_whole)
      each([&](float& x, float& y, const PairPlace& at) { add_pair(x, y, pair_of<true>(bias + at.col, true)); });
    if (bias_of == Bias::of_columns && !bias_whole)
      each([&](float& x, float& y, const PairPlace& at) {
        add_pair(x, y, pair_of<false>(bias + at.col, at.col < g.N));
      });
    if (bias_of == Bias::of_rows) {
      const int first = slice.origin.row + slice.i * 64 + wgmma_d(static_cast<int>(threadIdx.x) % 128, 0).row;
      const float of_row[] = {first < g.M ? to_float(bias[first]) : 0, first + 8 < g.M ? to_float(bias[first + 8]) : 0};
      each([&](float& x, float& y, const PairPlace& at) { x += of_row[at.down % 2], y += of_row[at.down % 2]; });
    }
    with_activation(activation, [&](auto known) {
      if constexpr (decltype(known)::value != Activation::gelu_erf)
        each([](float& x, float& y, const PairPlace&) { activate<decltype(known)::value>(x, y); });
    });
    if (scale != 1) each([&](float& x, float& y, const PairPlace&) { x *= scale, y *= scale; });
    if (residual && residual_whole) add_residual<true, cols>(g, slice, sums);
    if (residual && !residual_whole) add_residual<false, cols>(g, slice, sums);
    if (clamps)
      each([&](float& x, float& y, const PairPlace&) {
        x = min_nan(max_nan(x, low), high);
        y = min_nan(max_nan(y, low), high);
      });
  }
};
template <class R>
void add_slots(Prepared& prepared, const FinishBy<R>&, std::size_t offset) {
  using F = FinishBy<R>;
  using Kind = ArgumentSlot::Kind;
  const Epilogue& e = prepared.problem.epilogue;
  if (e.bias != Bias::none) add_slot(prepared, Kind::bias, {}, offset + offsetof(F, bias));
  if (e.residual) add_slot(prepared, Kind::residual, {}, offset + offsetof(F, residual));
  if (e.scale) add_slot(prepared, Kind::scale, {}, offset + offsetof(F, scale));
  if (!e.clamp) return;
  add_slot(prepared, Kind::low, {}, offset + offsetof(F, low));
  add_slot(prepared, Kind::high, {}, offset + offsetof(F, high));
}

}  // namespace lapidary::inline LAPIDARY_BUILD
