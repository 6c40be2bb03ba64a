#pragma once
// What half and bfloat16 have in common for kernels that `lapidary try` compiles. Each operation rounds its exact
// result once, to nearest, ties to even, and has the canonical NaN, 0x7fff, for what is not a number (CUDA Math API,
// "Half Precision Intrinsics" and "Bfloat16 Precision Intrinsics"). hrcp, hsqrt and hrsqrt of a GPU begin with an
// approximation; theirs are the same numbers.
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/types.hpp"
#include "emulator/cuda.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

enum class Rounding { nearest, toward_zero, down, up };

/// The exact number `nearest` + `rest`, rounded to odd: where it is between two floats, to that of them whose last bit
/// is
/// 1. It can be rounded again, to a type with two bits less at least, as if it were exact (S. Boldo, G. Melquiond,
/// "Emulation of a FMA and Correctly Rounded Sums: Proved Algorithms Using Rounding to Odd", IEEE TC 57 (4), 2008).
template <class Float>
LAPIDARY_WRAPPER Float to_odd(Float nearest, double rest) {
  using Bits = std::conditional_t<sizeof(Float) == 4, std::uint32_t, std::uint64_t>;
  Bits bits = std::bit_cast<Bits>(nearest);
  if (bits % 2 == 0 && rest > 0) bits += std::signbit(nearest) ? Bits(-1) : 1;
  if (bits % 2 == 0 && rest < 0) bits += std::signbit(nearest) ? 1 : Bits(-1);
  return std::bit_cast<Float>(bits);
}

/// x + y, rounded to odd. What the nearest sum lacks is a double (D. Knuth, The Art of Computer Programming 2, 4.2.2).
LAPIDARY_WRAPPER double sum_to_odd(double x, double y) {
  const double sum = x + y, part = sum - x;
  return to_odd(sum, (x - (sum - part)) + (y - part));
}

/// An integer as a double, rounded to odd.
template <std::integral Integer>
LAPIDARY_WRAPPER double integer_to_odd(Integer value) {
  using Wide = std::conditional_t<std::is_signed_v<Integer>, std::int64_t, std::uint64_t>;
  const Wide wide = value;
  return sum_to_odd(static_cast<double>(wide >> 32) * 0x1p32, static_cast<double>(wide & 0xffffffff));
}

/// The f16 or bf16 of a number that is exact or rounded to odd.
template <class Bits>
LAPIDARY_WRAPPER Bits narrowed(double exact, Rounding rounding = Rounding::nearest) {
  const float nearest = static_cast<float>(exact), odd = to_odd(nearest, exact - nearest);
  Bits bits = from_float<Bits>(odd);
  const float result = to_float(bits);
  const bool up = rounding == Rounding::up || (rounding == Rounding::toward_zero && exact < 0);
  if (rounding != Rounding::nearest && (up ? result < odd : result > odd))
    bits.bits = static_cast<std::uint16_t>(bits.bits + (up == std::signbit(result) ? -1 : 1));
  return bits;
}

/// The integer that a number is rounded to, or the nearest one that there is. NaN becomes 0, or the upper bit alone if
/// there are 64 (PTX ISA, "cvt").
template <std::integral Integer>
LAPIDARY_WRAPPER Integer to_integer(float value, Rounding rounding) {
  using Limits = std::numeric_limits<Integer>;
  if (std::isnan(value)) return sizeof(Integer) == 8 ? static_cast<Integer>(std::uint64_t{1} << 63) : 0;
  const float whole = rounding == Rounding::nearest       ? std::nearbyint(value)
                      : rounding == Rounding::toward_zero ? std::trunc(value)
                      : rounding == Rounding::down        ? std::floor(value)
                                                          : std::ceil(value);
  if (whole <= static_cast<float>(Limits::min())) return Limits::min();
  // The largest integer may be between two floats, of which the conversion takes the upper one.
  return whole >= static_cast<float>(Limits::max()) ? Limits::max() : static_cast<Integer>(whole);
}

}  // namespace lapidary::inline LAPIDARY_BUILD

inline namespace LAPIDARY_BUILD {

// atomicAdd of a number or pair, whose bits are those of a `Word` of the emulated machine.
#define LAPIDARY_NARROW_ATOMIC_NAMED(name, Word)                                                              \
  friend LAPIDARY_WRAPPER Self name(Self* address, Self value) {                                              \
    return lapidary_bits<Self>(lapidary::emulator::abi::atomic(                                               \
        lapidary::emulator::abi::Atomic::add, reinterpret_cast<Word*>(address), lapidary_bits<Word>(value))); \
  }
#define LAPIDARY_NARROW_ATOMICS(...)                         \
  LAPIDARY_NARROW_ATOMIC_NAMED(atomicAdd, __VA_ARGS__)       \
  LAPIDARY_NARROW_ATOMIC_NAMED(atomicAdd_block, __VA_ARGS__) \
  LAPIDARY_NARROW_ATOMIC_NAMED(atomicAdd_system, __VA_ARGS__)

/// CUDA's number `Self` of 16 bits. Its functions are found by the types of their arguments. Those that read one once
/// take a reference, and of it the bits: GCC tells no line of the copy of an argument. So that no others are found,
/// whose names a kernel's own functions may have, it is in the namespace that CUDA's types are in.
template <class Self, class Bits>
struct lapidary_narrow_float {
  Bits value;

  lapidary_narrow_float() = default;
  LAPIDARY_WRAPPER lapidary_narrow_float(float from) : value(lapidary::from_float<Bits>(from)) {}
  LAPIDARY_WRAPPER lapidary_narrow_float(double from) : value(lapidary::narrowed<Bits>(from)) {}
  LAPIDARY_WRAPPER lapidary_narrow_float(std::integral auto from)
      : value(lapidary::narrowed<Bits>(lapidary::integer_to_odd(from))) {}
  LAPIDARY_WRAPPER operator float() const {
    const std::uint16_t bits = value.bits;
    return lapidary::to_float(Bits{bits});
  }

  LAPIDARY_WRAPPER static Self of_bits(unsigned bits) {
    Self number;
    number.value = {static_cast<std::uint16_t>(bits)};
    return number;
  }

  friend LAPIDARY_WRAPPER Self operator+(const Self& a, const Self& b) {
    return lapidary::sum_to_odd(float(a), float(b));
  }
  friend LAPIDARY_WRAPPER Self operator-(const Self& a, const Self& b) {
    return lapidary::sum_to_odd(float(a), -float(b));
  }
  friend LAPIDARY_WRAPPER Self operator*(const Self& a, const Self& b) { return double(float(a)) * double(float(b)); }
  // Quotients, roots and reciprocals of such numbers are farther from the middle between two others than their doubles
  // from them.
  friend LAPIDARY_WRAPPER Self operator/(const Self& a, const Self& b) { return double(float(a)) / double(float(b)); }
  friend LAPIDARY_WRAPPER Self operator-(Self a) { return __hisnan(a) ? nan() : of_bits(a.value.bits ^ 0x8000u); }
  friend LAPIDARY_WRAPPER Self& operator+=(Self& a, Self b) { return a = a + b; }
  friend LAPIDARY_WRAPPER Self& operator-=(Self& a, Self b) { return a = a - b; }
  friend LAPIDARY_WRAPPER Self& operator*=(Self& a, Self b) { return a = a * b; }
  friend LAPIDARY_WRAPPER Self& operator/=(Self& a, Self b) { return a = a / b; }

  friend LAPIDARY_WRAPPER Self __hadd(const Self& a, const Self& b) { return a + b; }
  friend LAPIDARY_WRAPPER Self __hsub(const Self& a, const Self& b) { return a - b; }
  friend LAPIDARY_WRAPPER Self __hmul(const Self& a, const Self& b) { return a * b; }
  friend LAPIDARY_WRAPPER Self __hdiv(const Self& a, const Self& b) { return a / b; }
  friend LAPIDARY_WRAPPER Self __hadd_rn(const Self& a, const Self& b) { return a + b; }
  friend LAPIDARY_WRAPPER Self __hsub_rn(const Self& a, const Self& b) { return a - b; }
  friend LAPIDARY_WRAPPER Self __hmul_rn(const Self& a, const Self& b) { return a * b; }
  friend LAPIDARY_WRAPPER Self __hfma(const Self& a, const Self& b, const Self& c) {
    return lapidary::sum_to_odd(double(float(a)) * double(float(b)), float(c));
  }
  friend LAPIDARY_WRAPPER Self __hadd_sat(const Self& a, const Self& b) { return saturated(a + b); }
  friend LAPIDARY_WRAPPER Self __hsub_sat(const Self& a, const Self& b) { return saturated(a - b); }
  friend LAPIDARY_WRAPPER Self __hmul_sat(const Self& a, const Self& b) { return saturated(a * b); }
  friend LAPIDARY_WRAPPER Self __hfma_sat(const Self& a, const Self& b, const Self& c) {
    return saturated(__hfma(a, b, c));
  }
  friend LAPIDARY_WRAPPER Self __hfma_relu(const Self& a, const Self& b, const Self& c) {
    return __hmax_nan(__hfma(a, b, c), of_bits(0));
  }
  friend LAPIDARY_WRAPPER Self __hneg(const Self& a) { return -a; }
  friend LAPIDARY_WRAPPER Self __habs(Self a) { return __hisnan(a) ? nan() : of_bits(a.value.bits & 0x7fffu); }

  friend LAPIDARY_WRAPPER Self hsqrt(const Self& a) { return std::sqrt(double(float(a))); }
  friend LAPIDARY_WRAPPER Self hrcp(const Self& a) { return 1 / double(float(a)); }
  friend LAPIDARY_WRAPPER Self hrsqrt(const Self& a) { return 1 / std::sqrt(double(float(a))); }
  friend LAPIDARY_WRAPPER Self htrunc(const Self& a) { return std::trunc(float(a)); }
  friend LAPIDARY_WRAPPER Self hfloor(const Self& a) { return std::floor(float(a)); }
  friend LAPIDARY_WRAPPER Self hceil(const Self& a) { return std::ceil(float(a)); }
  friend LAPIDARY_WRAPPER Self hrint(const Self& a) { return std::nearbyint(float(a)); }

  friend LAPIDARY_WRAPPER bool __hisnan(const Self& a) { return (a.value.bits & 0x7fff) > infinity; }
  friend LAPIDARY_WRAPPER int __hisinf(Self a) {
    return (a.value.bits & 0x7fff) != infinity ? 0 : a.value.bits == infinity ? 1 : -1;
  }
  friend LAPIDARY_WRAPPER bool __heq(const Self& a, const Self& b) { return float(a) == float(b); }
  friend LAPIDARY_WRAPPER bool __hne(Self a, Self b) { return float(a) < float(b) || float(a) > float(b); }
  friend LAPIDARY_WRAPPER bool __hlt(const Self& a, const Self& b) { return float(a) < float(b); }
  friend LAPIDARY_WRAPPER bool __hle(const Self& a, const Self& b) { return float(a) <= float(b); }
  friend LAPIDARY_WRAPPER bool __hgt(const Self& a, const Self& b) { return float(a) > float(b); }
  friend LAPIDARY_WRAPPER bool __hge(const Self& a, const Self& b) { return float(a) >= float(b); }
  // True of what cannot be compared too.
  friend LAPIDARY_WRAPPER bool __hequ(const Self& a, const Self& b) { return !__hne(a, b); }
  friend LAPIDARY_WRAPPER bool __hneu(const Self& a, const Self& b) { return !__heq(a, b); }
  friend LAPIDARY_WRAPPER bool __hltu(const Self& a, const Self& b) { return !__hge(a, b); }
  friend LAPIDARY_WRAPPER bool __hleu(const Self& a, const Self& b) { return !__hgt(a, b); }
  friend LAPIDARY_WRAPPER bool __hgtu(const Self& a, const Self& b) { return !__hle(a, b); }
  friend LAPIDARY_WRAPPER bool __hgeu(const Self& a, const Self& b) { return !__hlt(a, b); }

  LAPIDARY_NARROW_ATOMICS(Bits)

  // -0 is less than 0. A number is preferred to NaN, but by the functions that end with _nan.
  friend LAPIDARY_WRAPPER Self __hmin(Self a, Self b) {
    if (__hisnan(a) || __hisnan(b)) return !__hisnan(a) ? a : !__hisnan(b) ? b : nan();
    return __hlt(b, a) || (__heq(a, b) && std::signbit(float(b))) ? b : a;
  }
  friend LAPIDARY_WRAPPER Self __hmax(Self a, Self b) {
    if (__hisnan(a) || __hisnan(b)) return !__hisnan(a) ? a : !__hisnan(b) ? b : nan();
    return __hgt(b, a) || (__heq(a, b) && std::signbit(float(a))) ? b : a;
  }
  friend LAPIDARY_WRAPPER Self __hmin_nan(Self a, Self b) { return __hisnan(a) || __hisnan(b) ? nan() : __hmin(a, b); }
  friend LAPIDARY_WRAPPER Self __hmax_nan(Self a, Self b) { return __hisnan(a) || __hisnan(b) ? nan() : __hmax(a, b); }

 private:
  static constexpr std::uint16_t infinity = std::is_same_v<Bits, lapidary::f16> ? 0x7c00 : 0x7f80;
  LAPIDARY_WRAPPER static Self nan() { return of_bits(0x7fff); }
  /// To [0, 1]; NaN becomes 0.
  LAPIDARY_WRAPPER static Self saturated(Self a) { return !(float(a) > 0) ? Self(0) : float(a) < 1 ? a : Self(1); }
};

/// CUDA's vector of two such numbers. It is moved by one access, as vectors of emulator/cuda.hpp are.
template <class Self, class Element>
struct alignas(4) lapidary_narrow_pair {
  Element x, y;

  lapidary_narrow_pair() = default;
  LAPIDARY_WRAPPER lapidary_narrow_pair(Element x_, Element y_) : x(x_), y(y_) {}
  LAPIDARY_WRAPPER lapidary_narrow_pair(const lapidary_narrow_pair& from) { move(this, &from); }
  LAPIDARY_WRAPPER lapidary_narrow_pair& operator=(const lapidary_narrow_pair& from) {
    move(this, &from);
    return *this;
  }

#define LAPIDARY_OF_EACH_1(name, function) \
  friend LAPIDARY_WRAPPER Self name(Self a) { return Self(function(a.x), function(a.y)); }
#define LAPIDARY_OF_EACH_2(name, function) \
  friend LAPIDARY_WRAPPER Self name(Self a, Self b) { return Self(function(a.x, b.x), function(a.y, b.y)); }
#define LAPIDARY_OF_EACH_3(name, function)                         \
  friend LAPIDARY_WRAPPER Self name(Self a, Self b, Self c) {      \
    return Self(function(a.x, b.x, c.x), function(a.y, b.y, c.y)); \
  }
  LAPIDARY_OF_EACH_1(operator-, -)
  LAPIDARY_OF_EACH_1(__hneg2, __hneg)
  LAPIDARY_OF_EACH_1(__habs2, __habs)
  LAPIDARY_OF_EACH_1(h2sqrt, hsqrt)
  LAPIDARY_OF_EACH_1(h2rcp, hrcp)
  LAPIDARY_OF_EACH_1(h2rsqrt, hrsqrt)
  LAPIDARY_OF_EACH_1(h2trunc, htrunc)
  LAPIDARY_OF_EACH_1(h2floor, hfloor)
  LAPIDARY_OF_EACH_1(h2ceil, hceil)
  LAPIDARY_OF_EACH_1(h2rint, hrint)
  LAPIDARY_OF_EACH_1(__hisnan2, __hisnan)
  LAPIDARY_OF_EACH_2(operator+, __hadd)
  LAPIDARY_OF_EACH_2(operator-, __hsub)
  LAPIDARY_OF_EACH_2(operator*, __hmul)
  LAPIDARY_OF_EACH_2(operator/, __hdiv)
  LAPIDARY_OF_EACH_2(__hadd2, __hadd)
  LAPIDARY_OF_EACH_2(__hsub2, __hsub)
  LAPIDARY_OF_EACH_2(__hmul2, __hmul)
  LAPIDARY_OF_EACH_2(__h2div, __hdiv)
  LAPIDARY_OF_EACH_2(__hadd2_rn, __hadd)
  LAPIDARY_OF_EACH_2(__hsub2_rn, __hsub)
  LAPIDARY_OF_EACH_2(__hmul2_rn, __hmul)
  LAPIDARY_OF_EACH_2(__hadd2_sat, __hadd_sat)
  LAPIDARY_OF_EACH_2(__hsub2_sat, __hsub_sat)
  LAPIDARY_OF_EACH_2(__hmul2_sat, __hmul_sat)
  LAPIDARY_OF_EACH_2(__hmin2, __hmin)
  LAPIDARY_OF_EACH_2(__hmax2, __hmax)
  LAPIDARY_OF_EACH_2(__hmin2_nan, __hmin_nan)
  LAPIDARY_OF_EACH_2(__hmax2_nan, __hmax_nan)
  LAPIDARY_OF_EACH_3(__hfma2, __hfma)
  LAPIDARY_OF_EACH_3(__hfma2_sat, __hfma_sat)
  LAPIDARY_OF_EACH_3(__hfma2_relu, __hfma_relu)
#undef LAPIDARY_OF_EACH_1
#undef LAPIDARY_OF_EACH_2
#undef LAPIDARY_OF_EACH_3

  // Of each, as 1 or 0, and of both.
#define LAPIDARY_COMPARISON(relation)                              \
  friend LAPIDARY_WRAPPER Self __h##relation##2(Self a, Self b) {  \
    return Self(__h##relation(a.x, b.x), __h##relation(a.y, b.y)); \
  }                                                                \
  friend LAPIDARY_WRAPPER bool __hb##relation##2(Self a, Self b) { \
    return __h##relation(a.x, b.x) && __h##relation(a.y, b.y);     \
  }
  LAPIDARY_COMPARISON(eq)
  LAPIDARY_COMPARISON(ne)
  LAPIDARY_COMPARISON(lt)
  LAPIDARY_COMPARISON(le)
  LAPIDARY_COMPARISON(gt)
  LAPIDARY_COMPARISON(ge)
  LAPIDARY_COMPARISON(equ)
  LAPIDARY_COMPARISON(neu)
  LAPIDARY_COMPARISON(ltu)
  LAPIDARY_COMPARISON(leu)
  LAPIDARY_COMPARISON(gtu)
  LAPIDARY_COMPARISON(geu)
#undef LAPIDARY_COMPARISON

  friend LAPIDARY_WRAPPER Self& operator+=(Self& a, Self b) { return a = a + b; }
  friend LAPIDARY_WRAPPER Self& operator-=(Self& a, Self b) { return a = a - b; }
  friend LAPIDARY_WRAPPER Self& operator*=(Self& a, Self b) { return a = a * b; }
  friend LAPIDARY_WRAPPER Self& operator/=(Self& a, Self b) { return a = a / b; }
  LAPIDARY_NARROW_ATOMICS(lapidary::emulator::abi::NumberPair<decltype(Element::value)>)
  friend LAPIDARY_WRAPPER Self __lowhigh2highlow(Self a) { return Self(a.y, a.x); }
  friend LAPIDARY_WRAPPER float __low2float(Self a) { return a.x; }
  friend LAPIDARY_WRAPPER float __high2float(Self a) { return a.y; }

 private:
  LAPIDARY_WRAPPER static void move(void* to, const void* from) {
    typedef unsigned Moved __attribute__((may_alias));
    *static_cast<Moved*>(to) = *static_cast<const Moved*>(from);
  }
};

#undef LAPIDARY_NARROW_ATOMICS
#undef LAPIDARY_NARROW_ATOMIC_NAMED

}  // namespace LAPIDARY_BUILD

// LAPIDARY_NARROW_CONVERSIONS(<number>, <vector>, <its name in functions>, <that of the vector>) has the conversions
// whose names have the number's in them: __float2half_rn and __half2int_rz, or __float2bfloat16_rn and
// __bfloat162int_rz.
#define LAPIDARY_NARROW_INTEGER(Number, spelling, name, Integer, suffix, rounding)                                    \
  LAPIDARY_WRAPPER Integer __##spelling##2##name##_##suffix(Number a) {                                               \
    return lapidary::to_integer<Integer>(a, lapidary::Rounding::rounding);                                            \
  }                                                                                                                   \
  LAPIDARY_WRAPPER Number __##name##2##spelling##_##suffix(Integer a) {                                               \
    return Number::of_bits(                                                                                           \
        lapidary::narrowed<decltype(Number::value)>(lapidary::integer_to_odd(a), lapidary::Rounding::rounding).bits); \
  }
#define LAPIDARY_NARROW_ROUNDING(Number, spelling, suffix, rounding)                                           \
  LAPIDARY_WRAPPER Number __float2##spelling##_##suffix(float a) {                                             \
    return Number::of_bits(lapidary::narrowed<decltype(Number::value)>(a, lapidary::Rounding::rounding).bits); \
  }                                                                                                            \
  LAPIDARY_NARROW_INTEGER(Number, spelling, short, short, suffix, rounding)                                    \
  LAPIDARY_NARROW_INTEGER(Number, spelling, ushort, unsigned short, suffix, rounding)                          \
  LAPIDARY_NARROW_INTEGER(Number, spelling, int, int, suffix, rounding)                                        \
  LAPIDARY_NARROW_INTEGER(Number, spelling, uint, unsigned, suffix, rounding)                                  \
  LAPIDARY_NARROW_INTEGER(Number, spelling, ll, long long, suffix, rounding)                                   \
  LAPIDARY_NARROW_INTEGER(Number, spelling, ull, unsigned long long, suffix, rounding)
#define LAPIDARY_NARROW_CONVERSIONS(Number, Vector, spelling, vector)                                                \
  LAPIDARY_NARROW_ROUNDING(Number, spelling, rn, nearest)                                                            \
  LAPIDARY_NARROW_ROUNDING(Number, spelling, rz, toward_zero)                                                        \
  LAPIDARY_NARROW_ROUNDING(Number, spelling, rd, down)                                                               \
  LAPIDARY_NARROW_ROUNDING(Number, spelling, ru, up)                                                                 \
  LAPIDARY_WRAPPER Number __float2##spelling(float a) { return a; }                                                  \
  LAPIDARY_WRAPPER Number __double2##spelling(double a) { return a; }                                                \
  LAPIDARY_WRAPPER float __##spelling##2float(const Number& a) { return a; }                                         \
  LAPIDARY_WRAPPER short __##spelling##_as_short(const Number& a) { return static_cast<short>(a.value.bits); }       \
  LAPIDARY_WRAPPER unsigned short __##spelling##_as_ushort(const Number& a) { return a.value.bits; }                 \
  LAPIDARY_WRAPPER Number __short_as_##spelling(short a) { return Number::of_bits(static_cast<unsigned short>(a)); } \
  LAPIDARY_WRAPPER Number __ushort_as_##spelling(unsigned short a) { return Number::of_bits(a); }                    \
  LAPIDARY_WRAPPER Vector make_##vector(const Number& a, const Number& b) { return Vector(a, b); }                   \
  LAPIDARY_WRAPPER Vector __halves2##vector(const Number& a, const Number& b) { return Vector(a, b); }               \
  LAPIDARY_WRAPPER Vector __##spelling##2##vector(Number a) { return Vector(a, a); }                                 \
  LAPIDARY_WRAPPER Vector __float2##vector##_rn(float a) { return Vector(a, a); }                                    \
  LAPIDARY_WRAPPER Vector __floats2##vector##_rn(float a, float b) { return Vector(a, b); }                          \
  LAPIDARY_WRAPPER Vector __float22##vector##_rn(float2 a) { return Vector(a.x, a.y); }                              \
  LAPIDARY_WRAPPER float2 __##vector##2float2(Vector a) { return make_float2(a.x, a.y); }                            \
  LAPIDARY_WRAPPER Number __low2##spelling(Vector a) { return a.x; }                                                 \
  LAPIDARY_WRAPPER Number __high2##spelling(Vector a) { return a.y; }                                                \
  LAPIDARY_WRAPPER Vector __low2##vector(Vector a) { return Vector(a.x, a.x); }                                      \
  LAPIDARY_WRAPPER Vector __high2##vector(Vector a) { return Vector(a.y, a.y); }                                     \
  LAPIDARY_WRAPPER Vector __lows2##vector(Vector a, Vector b) { return Vector(a.x, b.x); }                           \
  LAPIDARY_WRAPPER Vector __highs2##vector(Vector a, Vector b) { return Vector(a.y, b.y); }
