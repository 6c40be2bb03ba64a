#pragma once
#include <bit>
#include <cstdint>

#include "core/build.hpp"
#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace lapidary {

/// Element types of A, B, C and D. Sums are of f32, those of s8 of 32-bit integers until they are scaled; as results
/// of s32 they stay what they are, modulo 2^32.
enum class Type : std::uint8_t { f32, f16, bf16, tf32, e4m3, s8, s32 };

/// Those of A and B.
constexpr Type operand_types[] = {Type::f32, Type::f16, Type::bf16, Type::tf32, Type::e4m3, Type::s8};
/// Those that A, B, C and D may all have.
constexpr Type all_types[] = {Type::f32, Type::f16, Type::bf16};

// Numbers as bits, the same on host and device. Integers are std::int8_t and std::int32_t.

/// IEEE 754 binary16.
struct f16 {
  std::uint16_t bits;
};

/// The upper half of a float: 8 exponent bits, 7 fraction bits.
struct bf16 {
  std::uint16_t bits;
};

/// A float of which tensor cores see the upper 10 of its 23 fraction bits.
struct tf32 {
  std::uint32_t bits;
};

/// 4 exponent bits and 3 fraction bits; no infinity, and one NaN, 0x7f, of either sign: the largest number is 448
/// (P. Micikevicius et al., "FP8 Formats for Deep Learning", arXiv:2209.05433).
struct e4m3 {
  std::uint8_t bits;
};

/// The upper half of an f16: 5 exponent bits, 2 fraction bits; the largest finite number is 57344.
struct e5m2 {
  std::uint8_t bits;
};

template <class T>
struct TypeOf;
template <>
struct TypeOf<float> {
  static constexpr Type value = Type::f32;
};
template <>
struct TypeOf<f16> {
  static constexpr Type value = Type::f16;
};

template <>
struct TypeOf<bf16> {
  static constexpr Type value = Type::bf16;
};
template <>
struct TypeOf<tf32> {
  static constexpr Type value = Type::tf32;
};
template <>
struct TypeOf<e4m3> {
  static constexpr Type value = Type::e4m3;
};
template <>
struct TypeOf<std::int8_t> {
  static constexpr Type value = Type::s8;
};
template <>
struct TypeOf<std::int32_t> {
  static constexpr Type value = Type::s32;
};

/// The type of elements: TypeOf the other way round.
template <Type>
struct ElementOfType;
template <>
struct ElementOfType<Type::f32> {
  using Element = float;
};
template <>
struct ElementOfType<Type::f16> {
  using Element = f16;
};
template <>
struct ElementOfType<Type::bf16> {
  using Element = bf16;
};
template <>
struct ElementOfType<Type::tf32> {
  using Element = tf32;
};
template <>
struct ElementOfType<Type::e4m3> {
  using Element = e4m3;
};
template <>
struct ElementOfType<Type::s8> {
  using Element = std::int8_t;
};
template <>
struct ElementOfType<Type::s32> {
  using Element = std::int32_t;
};
template <Type type>
using ElementOf = typename ElementOfType<type>::Element;

}  // namespace lapidary

namespace lapidary::inline LAPIDARY_BUILD {

LAPIDARY_HD constexpr int size_of(Type type) {
  switch (type) {
    case Type::f32:
    case Type::tf32:
    case Type::s32: return 4;
    case Type::f16:
    case Type::bf16: return 2;
    case Type::e4m3:
    case Type::s8: break;
  }
  return 1;
}

constexpr const char* name_of(Type type) {
  switch (type) {
    case Type::f32: return "f32";
    case Type::f16: return "f16";
    case Type::bf16: return "bf16";
    case Type::tf32: return "tf32";
    case Type::e4m3: return "e4m3";
    case Type::s8: return "s8";
    case Type::s32: break;
  }
  return "s32";
}

/// Whether C and D may be of this type, which is s32 only where A and B are of s8.
constexpr bool is_result(Type type) {
  return type == Type::f32 || type == Type::f16 || type == Type::bf16 || type == Type::s32;
}

/// Calls visit(element) with an element of the type, for code that is written for each of them.
template <class Visit>
constexpr decltype(auto) with_type(Type type, Visit&& visit) {
  switch (type) {
    case Type::f16: return visit(f16{});
    case Type::bf16: return visit(bf16{});
    case Type::tf32: return visit(tf32{});
    case Type::e4m3: return visit(e4m3{});
    case Type::s8: return visit(std::int8_t{});
    case Type::s32: return visit(std::int32_t{});
    case Type::f32: break;
  }
  return visit(float{});
}

LAPIDARY_HD inline std::uint32_t bits_of(float value) {
#if defined(__CUDA_ARCH__)
  return __float_as_uint(value);
#else
  return std::bit_cast<std::uint32_t>(value);
#endif
}
LAPIDARY_HD inline float float_of(std::uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return __uint_as_float(bits);
#else
  return std::bit_cast<float>(bits);
#endif
}

// ------------------------------------------------------------------- to f32, exactly

LAPIDARY_HD constexpr float to_float(float value) { return value; }

LAPIDARY_HD inline float to_float(f16 value) {
#if defined(__CUDA_ARCH__)
  return __half2float(__ushort_as_half(value.bits));
#else
  // Shift exponent and fraction into a float's place and scale away the difference of the biases, 127 - 15; the
  // multiplication also normalises subnormal numbers. Infinity and NaN get the rest of their exponent bits.
  const std::uint32_t magnitude = static_cast<std::uint32_t>(value.bits & 0x7fffu) << 13;
  std::uint32_t bits = bits_of(float_of(magnitude) * 0x1p112f);
  if (magnitude >= 0x7c00u << 13) bits |= 0x7f800000u;
  return float_of(bits | static_cast<std::uint32_t>(value.bits & 0x8000u) << 16);
#endif
}

LAPIDARY_HD inline float to_float(bf16 value) { return float_of(static_cast<std::uint32_t>(value.bits) << 16); }

LAPIDARY_HD constexpr float to_float(std::int8_t value) { return value; }

/// Beyond 2^24 to the nearest number, ties to even.
LAPIDARY_HD constexpr float to_float(std::int32_t value) { return static_cast<float>(value); }

LAPIDARY_HD inline float to_float(tf32 value) { return float_of(value.bits); }

LAPIDARY_HD inline float to_float(e4m3 value) {
  // As for f16; the biases differ by 127 - 7.
  const std::uint32_t magnitude = static_cast<std::uint32_t>(value.bits & 0x7fu) << 20;
  std::uint32_t bits = bits_of(float_of(magnitude) * 0x1p120f);
  if (magnitude == 0x7fu << 20) bits = 0x7fc00000u;
  return float_of(bits | static_cast<std::uint32_t>(value.bits & 0x80u) << 24);
}

LAPIDARY_HD inline float to_float(e5m2 value) {
  return to_float(f16{static_cast<std::uint16_t>(static_cast<unsigned>(value.bits) << 8)});
}

/// Exactly, whichever type it is of.
template <class T>
LAPIDARY_HD double to_double(T value) {
  return to_float(value);
}
LAPIDARY_HD constexpr double to_double(std::int32_t value) { return value; }

// ------------------------------------------------------------------- from f32

}  // namespace lapidary::inline LAPIDARY_BUILD

namespace lapidary::inline LAPIDARY_BUILD::types_detail {

/// The bits of the nearest number that has `fraction_bits` fraction bits and normal exponents from `least_exponent` on;
/// ties to even. `magnitude` is that of a finite float, and the result may lie beyond the format's largest number.
template <int least_exponent, int fraction_bits>
LAPIDARY_HD inline std::uint32_t nearest(std::uint32_t magnitude) {
  constexpr int dropped = 23 - fraction_bits;
  if (magnitude < static_cast<std::uint32_t>(127 + least_exponent) << 23) {
    // Subnormal: in the sum with this number the least bits of both formats stand for the same.
    constexpr std::uint32_t aligner = static_cast<std::uint32_t>(127 + least_exponent + dropped) << 23;
    return bits_of(float_of(magnitude) + float_of(aligner)) - aligner;
  }
  constexpr std::uint32_t half = 1u << (dropped - 1), bias = static_cast<std::uint32_t>(126 + least_exponent) << 23;
  return (magnitude + (half - 1) + (magnitude >> dropped & 1u) - bias) >> dropped;
}

}  // namespace lapidary::inline LAPIDARY_BUILD::types_detail

namespace lapidary::inline LAPIDARY_BUILD {

template <class T>
LAPIDARY_HD T from_float(float value);

template <>
LAPIDARY_HD constexpr float from_float<float>(float value) {
  return value;
}

/// Rounds to nearest, ties to even; overflow gives infinity, NaN 0x7fff (PTX ISA, "cvt").
template <>
LAPIDARY_HD inline f16 from_float<f16>(float value) {
#if defined(__CUDA_ARCH__)
  return {__half_as_ushort(__float2half_rn(value))};
#else
  const std::uint32_t bits = bits_of(value), magnitude = bits & 0x7fffffffu, sign = bits >> 16 & 0x8000u;
  if (magnitude > 0x7f800000u) return {0x7fff};
  if (magnitude >= 0x477ff000u) return {static_cast<std::uint16_t>(sign | 0x7c00u)};  // from 65520 on: infinity
  return {static_cast<std::uint16_t>(sign | types_detail::nearest<-14, 10>(magnitude))};
#endif
}

/// The same for bf16.
template <>
LAPIDARY_HD inline bf16 from_float<bf16>(float value) {
#if defined(__CUDA_ARCH__)
  return {__bfloat16_as_ushort(__float2bfloat16_rn(value))};
#else
  const std::uint32_t bits = bits_of(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {0x7fff};
  // Subnormal numbers of both formats have the same exponent, so that one rule does for all.
  return {static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)};
#endif
}

/// Rounds to nearest, ties away from zero, as the instruction that there is for it (PTX ISA, "cvt": cvt.rna.tf32.f32);
/// overflow gives infinity, NaN stays NaN.
template <>
LAPIDARY_HD inline tf32 from_float<tf32>(float value) {
  const std::uint32_t bits = bits_of(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {bits | 0x400000u};
  return {(bits + 0x1000u) & ~0x1fffu};
}

/// Rounds to nearest, ties to even; what is larger, infinity too, becomes the largest number (PTX ISA, "cvt":
/// cvt.rn.satfinite.e4m3x2.f32), NaN stays NaN.
template <>
LAPIDARY_HD inline e4m3 from_float<e4m3>(float value) {
  const std::uint32_t bits = bits_of(value), magnitude = bits & 0x7fffffffu, sign = bits >> 24 & 0x80u;
  if (magnitude > 0x7f800000u) return {0x7f};
  if (magnitude >= 0x43e00000u) return {static_cast<std::uint8_t>(sign | 0x7eu)};  // from 448 on
  return {static_cast<std::uint8_t>(sign | types_detail::nearest<-6, 3>(magnitude))};
}

/// The same for e5m2, whose largest number is 57344.
template <>
LAPIDARY_HD inline e5m2 from_float<e5m2>(float value) {
  const std::uint32_t bits = bits_of(value), magnitude = bits & 0x7fffffffu, sign = bits >> 24 & 0x80u;
  if (magnitude > 0x7f800000u) return {0x7f};
  if (magnitude >= 0x47600000u) return {static_cast<std::uint8_t>(sign | 0x7bu)};
  return {static_cast<std::uint8_t>(sign | types_detail::nearest<-14, 2>(magnitude))};
}

/// Rounds to nearest, ties to even; what is larger, infinity too, becomes the largest number (PTX ISA, "cvt":
/// cvt.rni.sat.s8.f32), NaN becomes 0.
template <>
LAPIDARY_HD inline std::int8_t from_float<std::int8_t>(float value) {
  if (!(value > -128)) return value <= -128 ? std::int8_t{-128} : std::int8_t{0};
  if (value > 127) return 127;
  // The sum has no bits behind the point.
  return static_cast<std::int8_t>(static_cast<int>(bits_of(value + 0x1.8p23f) - bits_of(0x1.8p23f)));
}

/// The same for s32 (cvt.rni.s32.f32).
template <>
LAPIDARY_HD inline std::int32_t from_float<std::int32_t>(float value) {
  if (!(value > -0x1p31f)) return value <= -0x1p31f ? INT32_MIN : 0;
  if (value >= 0x1p31f) return INT32_MAX;
  const float magnitude = value < 0 ? -value : value;
  // From 2^23 on there are no bits behind the point, and below the sum has none.
  const auto rounded = magnitude < 0x1p23f ? static_cast<std::int32_t>(bits_of(magnitude + 0x1p23f) - bits_of(0x1p23f))
                                           : static_cast<std::int32_t>(magnitude);
  return value < 0 ? -rounded : rounded;
}

}  // namespace lapidary::inline LAPIDARY_BUILD
