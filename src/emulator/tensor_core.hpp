#pragma once
#include <cstdint>

#include "core/types.hpp"

namespace lapidary::emulator {

/// What a tensor core takes the bits of an element for. tf32 is a float whose lower 13 fraction bits do not count.
enum class Number : std::uint8_t { f16, bf16, tf32, e4m3, e5m2, s8, u8, f32, s32, f64 };

/// Of an element's type.
template <class T>
constexpr Number number_of = Number::f64;
template <>
inline constexpr Number number_of<f16> = Number::f16;
template <>
inline constexpr Number number_of<bf16> = Number::bf16;
template <>
inline constexpr Number number_of<tf32> = Number::tf32;
template <>
inline constexpr Number number_of<e4m3> = Number::e4m3;
template <>
inline constexpr Number number_of<e5m2> = Number::e5m2;
template <>
inline constexpr Number number_of<std::int8_t> = Number::s8;
template <>
inline constexpr Number number_of<std::uint8_t> = Number::u8;
template <>
inline constexpr Number number_of<std::int32_t> = Number::s32;
template <>
inline constexpr Number number_of<float> = Number::f32;

/// In bits.
constexpr int width_of(Number number) {
  switch (number) {
    case Number::e4m3:
    case Number::e5m2:
    case Number::s8:
    case Number::u8: return 8;
    case Number::f16:
    case Number::bf16: return 16;
    case Number::tf32:
    case Number::f32:
    case Number::s32: return 32;
    case Number::f64: return 64;
  }
  return 0;
}

constexpr const char* name_of(Number number) {
  constexpr const char* names[] = {"f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8", "f32", "s32", "f64"};
  return names[static_cast<int>(number)];
}

/// The product that one tensor-core instruction computes: D = A * B + C with A of M x K, B of K x N, C and D of M x N
/// elements, C and D of one type. Legal are
///
///   A and B       C and D
///   f16           f32, f16
///   bf16, tf32    f32
///   e4m3, e5m2    f32         in any mixture; also f16 by wgmma
///   s8, u8        s32         in any mixture
///   f64           f64
struct TensorOperation {
  /// FP8 operands are the business of wgmma alone. mma.sync has them converted to f16 first.
  enum class Instruction : std::uint8_t { mma_sync, wgmma };

  Instruction instruction;
  Number a, b, d;
  int M, N, K;
  bool saturate =
      false;  ///< s32 results that overflow stay at the largest number instead of wrapping around (.satfinite)
};

/// Computes D as the tensor cores of Hopper do, to the last bit as far as that is known.
///
/// Floating point, all K products and C at once: products are exact and keep the exponent that their factors' exponents
/// add up to; each of them and C is cut off (towards zero) 25 bits below the largest of these exponents; the sum of
/// what is left is exact, and is then cut off to the 24 significant bits of f32, or rounded to f16. Subnormal numbers
/// count in full; zeros have no exponent. The rule is that of microsoft/MMA-Sim. Not told there: a NaN comes out as
/// 0x7fffffff (0x7fff of f16), an overflow as infinity, and what is cut off to 0 as +0. On an H200 all of mma.sync is
/// so to the last bit (results/h200/golden).
///
///   FP8, wgmma      13 bits instead of 25, and 14 significant bits of the result.
///   FP8, mma.sync   Two products of f16, of the k with k & 2 == 0 first, whose result is added to by those of the
///                   others, and then C, by an addition of f32: what ptxas 13.0 makes of the instruction for sm_90a.
///   f64             A chain of fused multiply-adds, from C on, in the order of k.
///   integers        Exact but for the overflow.
///
/// Elements are given as their bits, in the low ones of a number each: A row by row, B column by column (k runs fastest
/// in both), C and D row by row. D may be C.
/// @throws InvalidArgument if the types do not go together
void multiply(const TensorOperation& operation, const std::uint64_t* a, const std::uint64_t* b, const std::uint64_t* c,
              std::uint64_t* d);

}  // namespace lapidary::emulator
