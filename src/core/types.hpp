#pragma once
#include <bit>
#include <cstdint>

#include "core/build.hpp"
#if defined(__CUDACC__)
#include <cuda_fp16.h>
#endif

namespace lapidary {

/// Element types of A, B, C and D. Accumulation is in f32 for both.
enum class Type : std::uint8_t { f32, f16 };

/// IEEE 754 binary16, as bits: the same on host and device.
struct f16 {
  std::uint16_t bits;
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

}  // namespace lapidary

namespace lapidary::inline LAPIDARY_BUILD {

constexpr int size_of(Type type) { return type == Type::f32 ? 4 : 2; }
constexpr const char* name_of(Type type) { return type == Type::f32 ? "f32" : "f16"; }

LAPIDARY_HD constexpr float to_float(float value) { return value; }

/// Exact: every f16 is a float.
LAPIDARY_HD inline float to_float(f16 value) {
#if defined(__CUDA_ARCH__)
  return __half2float(__ushort_as_half(value.bits));
#else
  // Shift exponent and fraction into a float's place and scale away the difference of the biases, 127 - 15; the
  // multiplication also normalises subnormal numbers. Infinity and NaN get the rest of their exponent bits.
  const std::uint32_t magnitude = static_cast<std::uint32_t>(value.bits & 0x7fffu) << 13;
  std::uint32_t bits = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
  if (magnitude >= 0x7c00u << 13) bits |= 0x7f800000u;
  return std::bit_cast<float>(bits | static_cast<std::uint32_t>(value.bits & 0x8000u) << 16);
#endif
}

template <class T>
LAPIDARY_HD T from_float(float value);

template <>
LAPIDARY_HD constexpr float from_float<float>(float value) {
  return value;
}

/// Rounds to nearest, ties to even; overflow gives infinity, NaN stays NaN.
template <>
LAPIDARY_HD inline f16 from_float<f16>(float value) {
#if defined(__CUDA_ARCH__)
  return {__half_as_ushort(__float2half_rn(value))};
#else
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000u;
  std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return {static_cast<std::uint16_t>(sign | 0x7e00u)};
  if (magnitude >= 0x477ff000u) return {static_cast<std::uint16_t>(sign | 0x7c00u)};  // from 65520 on: infinity
  if (magnitude < 0x38800000u) {
    // Below 2^-14 the result is subnormal: adding 0.5 leaves the rounded multiple of 2^-24 in the low fraction bits.
    const float aligned = std::bit_cast<float>(magnitude) + 0.5f;
    return {static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(aligned) - 0x3f000000u))};
  }
  magnitude += 0xfffu + (magnitude >> 13 & 1u) - (112u << 23);
  return {static_cast<std::uint16_t>(sign | magnitude >> 13)};
#endif
}

}  // namespace lapidary::inline LAPIDARY_BUILD
