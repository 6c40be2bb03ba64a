#pragma once
#include "core/math.hpp"
#include "device/launch.hpp"
#include "kernels/activation.cuh"
#include "kernels/finishing.hpp"
#include "kernels/partial_rows.cuh"
#include "ptx/grid.hpp"
#include "tile/global_tile.hpp"
#include "tile/grid.hpp"

// The second launch of a product whose kernel stores sums. A thread has four neighbours of each of four rows, so that
// its loads are under way together; a warp reads a row of 512 bytes. Of sums of parts of K it has one row: there are as
// many loads of it as parts, and as many more blocks.

namespace lapidary::inline LAPIDARY_BUILD::finishing {

constexpr int width = 4, cols = 128, threads = 256, across = cols / width;
LAPIDARY_HD constexpr int passes_of(bool in_parts) { return in_parts ? 1 : 4; }
LAPIDARY_HD constexpr int rows(int passes) { return passes * threads / across; }

/// A factor that is known at the launch, or in device memory.
struct Scalar {
  const float* at;
  float value;

  LAPIDARY_DEVICE float get() const { return at ? *at : value; }
};

template <class R>
struct Sums {
  std::int64_t M, N;
  PartialRows<width> sums;
  Rows<const R, width> C;
  Rows<R, width> D;
  Rows<const R, width> residual, bias_of_columns;  ///< null if there is none
  const R* bias_of_rows;                           ///< likewise
  Scalar alpha, beta;
  Activation activation;
  float scale, low, high;
  bool clamps;
};

template <class R, bool in_parts>
__global__ void __launch_bounds__(threads) kernel(const Sums<R> s) {
  constexpr int passes = passes_of(in_parts);
  // The next kernel may not begin before this one ends: it took longer (docs/tried.md, "Blocks side by side").
  if constexpr (in_parts) grid_wait();
  const RowCol<std::int64_t> block = block_tile<rows(passes), cols>(s.N);
  const int thread = threadIdx.x;
  const std::int64_t col = block.col + thread % across * width, first = block.row + thread / across;
  const int left = left_in_tile(s.N, col, width);
  if (left <= 0) return;
  const float alpha = s.alpha.get(), beta = s.beta.get();
  const auto for_each_row = [&](auto&& visit) {
#pragma unroll
    for (int pass = 0; pass < passes; ++pass)
      if (const std::int64_t row = first + pass * (threads / across); row < s.M) visit(pass, row);
  };
  float sums[passes][width], c[passes][width] = {}, residual[passes][width], bias[width];
  // What is not there is -0: to add 0 would make 0 of a sum of -0, which kernels store.
  constexpr float nothing = -0.0F;
  for (float& of_column : bias) of_column = nothing;
  for (auto& of_row : residual)
    for (float& addend : of_row) addend = nothing;
  for_each_row([&](int pass, std::int64_t row) {
    read(sums[pass], s.sums.first, row, col, left);
    if constexpr (in_parts) s.sums.add_others(sums[pass], row, col, left);
  });
  // By the BLAS's rule C is not read where beta is 0.
  if (beta != 0) for_each_row([&](int pass, std::int64_t row) { read(c[pass], s.C, row, col, left); });
  if (s.residual.first)
    for_each_row([&](int pass, std::int64_t row) { read(residual[pass], s.residual, row, col, left); });
  if (s.bias_of_columns.first) read(bias, s.bias_of_columns, 0, col, left);
  for_each_row([&](int pass, std::int64_t row) {
    const float of_row = s.bias_of_rows ? to_float(s.bias_of_rows[row]) : nothing;
    float t[width];
#pragma unroll
    for (int i = 0; i < width; ++i) {
      // Nor does what A and B hold count where alpha is.
      t[i] = alpha != 0 ? alpha * sums[pass][i] : 0;
      if (beta != 0) t[i] = fmaf(beta, c[pass][i], t[i]);
      t[i] += bias[i] + of_row;
    }
    with_activation(s.activation, [&](auto activation) {
#pragma unroll
      for (int i = 0; i < width; ++i) t[i] = activated<decltype(activation)::value>(t[i]);
    });
    R results[width];
#pragma unroll
    for (int i = 0; i < width; ++i) {
      t[i] = fmaf(s.scale, t[i], residual[pass][i]);
      if (s.clamps) t[i] = min_nan(max_nan(t[i], s.low), s.high);
      results[i] = from_float<R>(t[i]);
    }
    R* const to = s.D.at(row, col);
    if (s.D.aligned && left >= width) {
      store_global<width>(*to, results);
    } else {
#pragma unroll
      for (int i = 0; i < width; ++i)
        if (i < left) to[i] = results[i];
    }
  });
}

template <class R>
void finish_results(const Stream& stream, const Problem& p, const PartialSums& sums, const Operands& o) {
  const auto scalar = [](Factor known, const float* at, float value) {
    return Scalar{known == Factor::in_device_memory ? at : nullptr, value};
  };
  const Epilogue& e = p.epilogue;
  const auto* const bias = static_cast<const R*>(o.bias);
  const Sums<R> s = {
      .M = p.M,
      .N = p.N,
      .sums = {{sums.first, sums.ld}, sums.parts, sums.stride},
      .C = {static_cast<const R*>(o.C), p.ldc},
      .D = {static_cast<R*>(o.D), p.ldd},
      .residual = {e.residual ? static_cast<const R*>(o.residual) : nullptr, p.ldr},
      .bias_of_columns = {e.bias == Bias::of_columns ? bias : nullptr, 0},
      .bias_of_rows = e.bias == Bias::of_rows ? bias : nullptr,
      .alpha = scalar(p.alpha, o.device_alpha, o.alpha),
      .beta = scalar(p.beta, o.device_beta, o.beta),
      .activation = e.activation,
      .scale = e.scale ? o.scale : 1,
      .low = o.low,
      .high = o.high,
      .clamps = e.clamp,
  };
  const bool in_parts = sums.parts > 1, overlaps = in_parts && waits_on_hopper();
  const std::int64_t blocks = ceil_div<std::int64_t>(p.M, rows(passes_of(in_parts))) *
                              ceil_div<std::int64_t>(p.N, cols);
  launch(stream, {.kernel = "finish", .grid = blocks, .block = threads, .overlaps = overlaps},
         in_parts ? kernel<R, true> : kernel<R, false>, s);
}

}  // namespace lapidary::inline LAPIDARY_BUILD::finishing

namespace lapidary::inline LAPIDARY_BUILD {

/// Of a problem that has results; finish() of kernels/finishing.hpp in one build.
void finish_built(const Stream& stream, const Problem& problem, const PartialSums& sums, const Operands& operands) {
  switch (problem.kind.result) {
    case Type::f16: return finishing::finish_results<f16>(stream, problem, sums, operands);
    case Type::bf16: return finishing::finish_results<bf16>(stream, problem, sums, operands);
    default: return finishing::finish_results<float>(stream, problem, sums, operands);
  }
}

}  // namespace lapidary::inline LAPIDARY_BUILD
