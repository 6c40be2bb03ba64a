#pragma once
#include <cmath>
#include <cstdint>

#include "core/build.hpp"
#include "core/gemm.hpp"

namespace lapidary::bench::inline LAPIDARY_BUILD {

// How far a right result may be from the exact one.
//
// Let p_1 ... p_K be the products of a result, s_k their partial sums in f32 and q^2 = sum p_k^2. Rounding s_k to
// nearest adds an error of at most u |s_k|, u = 2^-24, of mean 0 and variance at most u^2 s_k^2 / 3 (uniform within
// half a unit in the last place, the worst case of a significand of 1). With data of mean 0 the partial sums are a
// random walk, E s_k^2 = q^2 k / K, and the errors of the steps are as good as independent. The variance of their sum
// is
//
//   sum_k u^2 q^2 k / (3 K) = u^2 q^2 K / 6,   a standard deviation of u sqrt(K) q / sqrt(6) = 0.41 u sqrt(K) q,
//
// where the bound for any data, K u sum |p_k|, would let far larger errors pass (N. J. Higham, T. Mary, "Sharper
// Probabilistic Backward Error Analysis for Basic Linear Algebra Kernels with Random Data", SIAM J. Sci. Comput. 42(5),
// 2020). Other orders of summation have shorter chains of partial sums and smaller errors.
//
// The sum is not normally distributed: a walk that happens to stay far from 0 makes large errors, and the share of
// results with an error above t u sqrt(K) q falls like exp(-3.7 t). (The integral I of a squared Brownian motion has
// E exp(x^2 I / 2) = cos(x)^(-1/2), R. H. Cameron and W. T. Martin, 1944, whose pole at pi / 2 sets the rate once the
// variance of a rounding is averaged over significands.) Among the 1.7e7 results of a 4096^3 problem t = 4 is exceeded
// about once, t = 8 by one result in 10^13.
//
// Tensor cores do not round: they cut partial sums off towards 0 after the products of an instruction, 32 bytes of K,
// by half a unit in the last place on average. These errors add up: sum_k u |s_k| over the steps of K, at most
// u (q + |A B|) each with partial sums that grow to the result. Those of FP8 have 13 fraction bits, to which each
// product is cut off too: u is 2^-14. Sums of integers are exact.
//
// What is wrong still shows: one product left out moves a result by about q / sqrt(K), which is 2^21 / K bounds, and
// operands rounded to tf32 move the worst of many results by about 5 q / 2^12, which is 2560 / sqrt(K) bounds.

/// The largest error that a result of a GEMM on random data of mean 0 may have.
/// @param square    q^2, the sum of the squares of the K products
/// @param scaled_c  beta * C, 0 if beta is 0
/// @param result    alpha * A * B + beta * C in fp64
LAPIDARY_HD inline double error_bound(const GemmKind& kind, std::int64_t K, double alpha, double square,
                                      double scaled_c, double result) {
  const Type type = kind.result;
  if (type == Type::s32) return 0;
  constexpr double u32 = 0x1p-24, sum_factor = 8;
  const double u = kind.type == Type::e4m3 ? 0x1p-14 : kind.type == Type::s8 ? 0 : u32;
  // By alpha and by the sum with C, and once more to fewer bits: a result that is cut off to them is not right.
  const double rounded = 2 * u32 + (type == Type::f32 ? 0 : type == Type::f16 ? 0x1p-11 : 0x1p-8);
  // The spacing of the smallest numbers of the type.
  const double smallest = type == Type::f32 ? 0x1p-149 : type == Type::f16 ? 0x1p-24 : 0x1p-133;
  const double length = static_cast<double>(K), product = fabs(alpha) * sqrt(square);
  const double steps = kind.type == Type::f32 ? 0 : length * size_of(kind.type) / 32;
  const double cut_off = steps * u * (product + fabs(result - scaled_c));
  return sum_factor * u * sqrt(length) * product + cut_off + 2 * u32 * fabs(scaled_c) + rounded * fabs(result) +
         smallest;
}

/// alpha * A * B + beta * C as results of a kind have it: sums of integers modulo 2^32, and others as they are.
LAPIDARY_HD inline double wrapped(const GemmKind& kind, double result) {
  return kind.result == Type::s32 ? static_cast<std::int32_t>(static_cast<std::int64_t>(result)) : result;
}

}  // namespace lapidary::bench::inline LAPIDARY_BUILD
