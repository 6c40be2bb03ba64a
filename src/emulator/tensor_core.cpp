#include "emulator/tensor_core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "core/error.hpp"
#include "core/types.hpp"

namespace lapidary::emulator {
namespace {

/// The layout of a binary floating-point number.
struct Format {
  int exponent_bits, fraction_bits;
  bool has_infinity = true;
  int unused_bits = 0;  ///< below the fraction

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int least_exponent() const { return 1 - bias(); }
};

Format format_of(Number number) {
  switch (number) {
    case Number::f16: return {5, 10};
    case Number::bf16: return {8, 7};
    case Number::tf32: return {8, 10, true, 13};
    case Number::e4m3: return {4, 3, false};
    case Number::e5m2: return {5, 2};
    default: return {8, 23};
  }
}

/// 2^exponent, which a double has.
double power_of_two(int exponent) { return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52); }

/// What is 0 has it: below all exponents that sums of two others can have, and so is its sum with any other.
constexpr int no_exponent = -10000;

enum class Kind : std::uint8_t { finite, infinite, nan };

/// A number as a double, which has them all, and the exponent that it is stored with.
struct Unpacked {
  double value;
  int exponent;
  Kind kind;
};

Unpacked unpack(std::uint64_t bits, const Format& format) {
  const int f = format.fraction_bits;
  bits >>= format.unused_bits;
  if (bits == 0) return {0, no_exponent, Kind::finite};
  const auto fraction = static_cast<std::int32_t>(bits & ((1u << f) - 1));
  const auto field = static_cast<int>(bits >> f & ((1u << format.exponent_bits) - 1));
  const double sign = bits >> (format.exponent_bits + f) & 1 ? -1 : 1;
  if (field == (1 << format.exponent_bits) - 1) {
    if (format.has_infinity) return {sign, 0, fraction ? Kind::nan : Kind::infinite};
    if (fraction == (1 << f) - 1) return {sign, 0, Kind::nan};
  }
  const std::int32_t significand = field ? fraction | 1 << f : fraction;
  const int exponent = std::max(field, 1) - format.bias();
  return {sign * significand * power_of_two(exponent - f), significand ? exponent : no_exponent, Kind::finite};
}

/// The bits of sum * 2^scale as a number that keeps `kept` of its format's fraction bits.
std::uint64_t pack(std::int64_t sum, int scale, const Format& format, int kept, bool nearest) {
  const std::uint64_t sign = sum < 0 ? std::uint64_t{1} << (format.exponent_bits + format.fraction_bits) : 0;
  auto magnitude = static_cast<std::uint64_t>(std::abs(sum));
  if (magnitude == 0) return 0;
  const int exponent = std::max(static_cast<int>(std::bit_width(magnitude)) - 1 + scale, format.least_exponent());
  const int dropped = exponent - kept - scale;
  if (dropped >= 64) {
    magnitude = 0;
  } else if (dropped > 0) {
    const std::uint64_t rest = magnitude << (64 - dropped), half = std::uint64_t{1} << 63;
    magnitude >>= dropped;
    if (nearest) magnitude += rest > half || (rest == half && (magnitude & 1));
  } else {
    magnitude <<= -dropped;
  }
  if (magnitude == 0) return 0;
  // The hidden bit adds one to the exponent, as does the carry of a rounding.
  const auto biased = static_cast<std::uint64_t>(exponent - format.least_exponent());
  const std::uint64_t bits = (biased << format.fraction_bits) + (magnitude << (format.fraction_bits - kept));
  const std::uint64_t infinity = ((std::uint64_t{1} << format.exponent_bits) - 1) << format.fraction_bits;
  return sign | std::min(bits, infinity);
}

std::uint64_t quiet_nan(const Format& format) {
  return (std::uint64_t{1} << (format.exponent_bits + format.fraction_bits)) - 1;
}

/// How a sum is cut off: see multiply().
struct SumRule {
  int aligned_bits, kept_bits;
  bool nearest;
};

/// Infinities and NaNs among the terms of a sum.
Unpacked special_sum(const Unpacked* a, const Unpacked* b, int K, const Unpacked& c) {
  bool positive = c.kind == Kind::infinite && c.value > 0;
  bool negative = c.kind == Kind::infinite && c.value < 0;
  bool nan = c.kind == Kind::nan;
  for (int k = 0; k < K; ++k) {
    const bool infinite = a[k].kind == Kind::infinite || b[k].kind == Kind::infinite;
    nan |= a[k].kind == Kind::nan || b[k].kind == Kind::nan;
    if (!infinite) continue;
    nan |= a[k].value == 0 || b[k].value == 0;
    ((a[k].value < 0) != (b[k].value < 0) ? negative : positive) = true;
  }
  if (nan || (positive && negative)) return {0, 0, Kind::nan};
  return {negative ? -1. : 1., 0, positive || negative ? Kind::infinite : Kind::finite};
}

/// Of a matrix's lines along K, how many numbers there are up to the last that is not 0: what tiles have beyond the
/// edge of a matrix is zeros.
std::vector<int> lengths(const std::vector<Unpacked>& lines, int K) {
  std::vector<int> lengths;
  for (auto line = lines.begin(); line != lines.end(); line += K) {
    int length = K;
    while (length > 0 && line[length - 1].value == 0) --length;
    lengths.push_back(length);
  }
  return lengths;
}

void multiply_floats(const TensorOperation& what, const Format& in_a, const Format& in_b, const Format& out,
                     const SumRule& rule, const std::uint64_t* a_bits, const std::uint64_t* b_bits,
                     const std::uint64_t* c_bits, std::uint64_t* d_bits) {
  const int M = what.M, N = what.N, K = what.K;
  std::vector<Unpacked> a(static_cast<std::size_t>(M * K)), b(static_cast<std::size_t>(N * K));
  const auto unpack_all = [](std::vector<Unpacked>& to, const std::uint64_t* bits, const Format& format) {
    bool special = false;
    for (std::size_t i = 0; i < to.size(); ++i) {
      to[i] = unpack(bits[i], format);
      special |= to[i].kind != Kind::finite;
    }
    return special;
  };
  const bool special_a = unpack_all(a, a_bits, in_a), special_b = unpack_all(b, b_bits, in_b);
  const std::vector<int> of_rows = lengths(a, K), of_cols = lengths(b, K);
  for (int row = 0; row < M; ++row) {
    for (int col = 0; col < N; ++col) {
      const Unpacked *const x = a.data() + row * K, *const y = b.data() + col * K;
      const Unpacked c = unpack(c_bits[row * N + col], out);
      std::uint64_t& d = d_bits[row * N + col];
      if (special_a || special_b || c.kind != Kind::finite) {
        const Unpacked special = special_sum(x, y, K, c);
        if (special.kind == Kind::nan) d = quiet_nan(out);
        if (special.kind == Kind::infinite) d = pack(special.value < 0 ? -1 : 1, 1000, out, rule.kept_bits, false);
        if (special.kind != Kind::finite) continue;
      }
      // Products with 0 add nothing, and their exponents are below all others.
      const int length = std::min(of_rows[static_cast<std::size_t>(row)], of_cols[static_cast<std::size_t>(col)]);
      int largest = c.exponent;
      for (int k = 0; k < length; ++k) largest = std::max(largest, x[k].exponent + y[k].exponent);
      if (largest < no_exponent / 2) {
        d = 0;
        continue;
      }
      // Scaled, what stays of a term is its whole part, to which the conversion cuts it off. Nothing is rounded:
      // products have 22 bits at most, and the scale is a power of two.
      const double scale = power_of_two(rule.aligned_bits - largest);
      auto sum = static_cast<std::int64_t>(c.value * scale);
      for (int k = 0; k < length; ++k) sum += static_cast<std::int64_t>(x[k].value * y[k].value * scale);
      d = pack(sum, largest - rule.aligned_bits, out, rule.kept_bits, rule.nearest);
    }
  }
}

/// FP8 without a unit of its own: two products of f16 with K / 2, and an addition of C.
void multiply_as_halves(const TensorOperation& what, const std::uint64_t* a, const std::uint64_t* b,
                        const std::uint64_t* c, std::uint64_t* d) {
  TensorOperation halves = what;
  halves.a = halves.b = Number::f16;
  halves.K /= 2;
  const auto half_of = [](std::uint64_t bits, Number number) {
    const auto byte = static_cast<std::uint8_t>(bits);
    return std::uint64_t{from_float<f16>(number == Number::e4m3 ? to_float(e4m3{byte}) : to_float(e5m2{byte})).bits};
  };
  std::vector<std::uint64_t> a_half(static_cast<std::size_t>(what.M * halves.K)),
      b_half(static_cast<std::size_t>(what.N * halves.K)), sum(static_cast<std::size_t>(what.M * what.N));
  for (const int chosen : {0, 2}) {
    const auto choose = [&](std::vector<std::uint64_t>& to, const std::uint64_t* from, Number number) {
      for (std::size_t i = 0; i < to.size(); ++i)
        to[i] = half_of(from[i / 2 * 4 + i % 2 + static_cast<unsigned>(chosen)], number);
    };
    choose(a_half, a, what.a);
    choose(b_half, b, what.b);
    multiply(halves, a_half.data(), b_half.data(), sum.data(), sum.data());
  }
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const float result = float_of(static_cast<std::uint32_t>(c[i])) + float_of(static_cast<std::uint32_t>(sum[i]));
    d[i] = std::isnan(result) ? 0x7fffffffu : bits_of(result);
  }
}

void multiply_integers(const TensorOperation& what, const std::uint64_t* a, const std::uint64_t* b,
                       const std::uint64_t* c, std::uint64_t* d) {
  const auto value = [](std::uint64_t bits, Number number) -> std::int64_t {
    if (number == Number::s8) return static_cast<std::int8_t>(bits);
    return static_cast<std::uint8_t>(bits);
  };
  constexpr std::int64_t least = std::numeric_limits<std::int32_t>::min(),
                         most = std::numeric_limits<std::int32_t>::max();
  for (int row = 0; row < what.M; ++row) {
    for (int col = 0; col < what.N; ++col) {
      std::int64_t sum = static_cast<std::int32_t>(c[row * what.N + col]);
      for (int k = 0; k < what.K; ++k) sum += value(a[row * what.K + k], what.a) * value(b[col * what.K + k], what.b);
      if (what.saturate) sum = std::clamp(sum, least, most);
      d[row * what.N + col] = static_cast<std::uint32_t>(sum);
    }
  }
}

/// The bits of a * b + c. The first NaN among b, c and a comes out, quiet; what else is not a number is the negative
/// quiet NaN.
std::uint64_t fused_multiply_add(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  constexpr std::uint64_t quiet = std::uint64_t{1} << 51;
  for (const std::uint64_t operand : {b, c, a})
    if (std::isnan(std::bit_cast<double>(operand))) return operand | quiet;
  const double result = std::fma(std::bit_cast<double>(a), std::bit_cast<double>(b), std::bit_cast<double>(c));
  return std::isnan(result) ? 0xfff8000000000000u : std::bit_cast<std::uint64_t>(result);
}

void multiply_doubles(const TensorOperation& what, const std::uint64_t* a, const std::uint64_t* b,
                      const std::uint64_t* c, std::uint64_t* d) {
  for (int row = 0; row < what.M; ++row) {
    for (int col = 0; col < what.N; ++col) {
      std::uint64_t sum = c[row * what.N + col];
      for (int k = 0; k < what.K; ++k) sum = fused_multiply_add(a[row * what.K + k], b[col * what.K + k], sum);
      d[row * what.N + col] = sum;
    }
  }
}

bool is_fp8(Number number) { return number == Number::e4m3 || number == Number::e5m2; }
bool is_integer(Number number) { return number == Number::s8 || number == Number::u8; }

bool legal(const TensorOperation& what) {
  if (what.M < 1 || what.N < 1 || what.K < 1) return false;
  if (is_fp8(what.a)) {
    const bool half = what.d == Number::f16 && what.instruction == TensorOperation::Instruction::wgmma;
    return is_fp8(what.b) && (what.d == Number::f32 || half) && what.K % 4 == 0;
  }
  if (is_integer(what.a)) return is_integer(what.b) && what.d == Number::s32;
  if (what.a != what.b) return false;
  switch (what.a) {
    case Number::f16: return what.d == Number::f32 || what.d == Number::f16;
    case Number::bf16:
    case Number::tf32: return what.d == Number::f32;
    case Number::f64: return what.d == Number::f64;
    default: return false;
  }
}

}  // namespace

void multiply(const TensorOperation& what, const std::uint64_t* a, const std::uint64_t* b, const std::uint64_t* c,
              std::uint64_t* d) {
  if (!legal(what))
    throw InvalidArgument(fmt::format("no tensor core multiplies {} by {} to {}, {} x {} x {}", name_of(what.a),
                                      name_of(what.b), name_of(what.d), what.M, what.N, what.K));
  if (is_integer(what.a)) return multiply_integers(what, a, b, c, d);
  if (what.a == Number::f64) return multiply_doubles(what, a, b, c, d);
  const bool wgmma = what.instruction == TensorOperation::Instruction::wgmma;
  if (is_fp8(what.a) && !wgmma) return multiply_as_halves(what, a, b, c, d);
  const bool to_half = what.d == Number::f16;
  const int aligned = is_fp8(what.a) ? 13 : 25, kept = to_half ? 10 : is_fp8(what.a) ? 13 : 23;
  multiply_floats(what, format_of(what.a), format_of(what.b), format_of(what.d), {aligned, kept, to_half}, a, b, c, d);
}

}  // namespace lapidary::emulator
