#include "core/types.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace lapidary {
namespace {

/// A format by its definition: a sign, `exponent_bits` of exponent and `fraction_bits` of fraction, in the upper bits
/// of a number of `unused` more. `largest` is the largest finite number's magnitude.
struct Format {
  int exponent_bits, fraction_bits;
  std::uint32_t largest;
  bool has_infinity = true, saturates = false, ties_away = false;
  int unused = 0;
};

template <class T>
constexpr Format format_of{};
template <>
constexpr Format format_of<f16> = {.exponent_bits = 5, .fraction_bits = 10, .largest = 0x7bff};
template <>
constexpr Format format_of<bf16> = {.exponent_bits = 8, .fraction_bits = 7, .largest = 0x7f7f};
template <>
constexpr Format format_of<tf32> = {
    .exponent_bits = 8, .fraction_bits = 10, .largest = 0x3fbff, .ties_away = true, .unused = 13};
template <>
constexpr Format format_of<e4m3> = {
    .exponent_bits = 4, .fraction_bits = 3, .largest = 0x7e, .has_infinity = false, .saturates = true};
template <>
constexpr Format format_of<e5m2> = {.exponent_bits = 5, .fraction_bits = 2, .largest = 0x7b, .saturates = true};

template <class T>
class Rounding : public testing::Test {
 protected:
  static constexpr Format format = format_of<T>;
  static constexpr std::uint32_t sign = 1u << (format.exponent_bits + format.fraction_bits);

  static T number(std::uint32_t bits) { return {static_cast<decltype(T::bits)>(bits << format.unused)}; }
  static std::uint32_t rounded(float value) { return from_float<T>(value).bits >> format.unused; }

  static double value_of(std::uint32_t bits) {
    const int f = format.fraction_bits, bias = (1 << (format.exponent_bits - 1)) - 1;
    const int exponent = static_cast<int>(bits >> f & ((1u << format.exponent_bits) - 1));
    const int fraction = static_cast<int>(bits & ((1u << f) - 1));
    const double magnitude = exponent == 0 ? std::ldexp(fraction, 1 - bias - f)
                                           : std::ldexp((1 << f) + fraction, exponent - bias - f);
    return bits & sign ? -magnitude : magnitude;
  }
};

using Formats = testing::Types<f16, bf16, tf32, e4m3, e5m2>;
struct Name {
  template <class T>
  static std::string GetName(int i) {
    constexpr const char* names[] = {"f16", "bf16", "tf32", "e4m3", "e5m2"};
    return names[i];
  }
};
TYPED_TEST_SUITE(Rounding, Formats, Name);

TYPED_TEST(Rounding, EveryNumberBecomesItsFloatAndComesBack) {
  const Format& format = this->format;
  for (std::uint32_t bits = 0; bits < 2 * this->sign; ++bits) {
    const float value = to_float(this->number(bits));
    const std::uint32_t magnitude = bits & ~this->sign;
    ASSERT_EQ(std::signbit(value), (bits & this->sign) != 0) << std::hex << bits;
    if (magnitude <= format.largest) {
      ASSERT_EQ(static_cast<double>(value), this->value_of(bits)) << std::hex << bits;
      ASSERT_EQ(this->rounded(value), bits) << std::hex << bits;
    } else if (format.has_infinity && magnitude == format.largest + 1) {
      ASSERT_TRUE(std::isinf(value)) << std::hex << bits;
    } else {
      ASSERT_TRUE(std::isnan(value)) << std::hex << bits;
      ASSERT_TRUE(std::isnan(to_float(from_float<TypeParam>(value)))) << std::hex << bits;
    }
  }
}

// Rounding is monotonic, so the floats around the point half way between each two neighbours prove it for all floats.
TYPED_TEST(Rounding, IsToTheNearestNumber) {
  const Format& format = this->format;
  const float infinity = std::numeric_limits<float>::infinity();
  // The next number of the format, had it more exponents, stands for infinity.
  const std::uint32_t end = format.saturates ? format.largest : format.largest + 1;
  for (std::uint32_t low = 0; low < end; ++low) {
    const std::uint32_t high = low + 1, tie = format.ties_away || low % 2 == 1 ? high : low;
    const double above = high > format.largest ? 2 * this->value_of(format.largest + 1 - (1u << format.fraction_bits))
                                               : this->value_of(high);
    const auto half_way = static_cast<float>((this->value_of(low) + above) / 2);
    ASSERT_EQ(this->rounded(half_way), tie) << std::hex << low;
    ASSERT_EQ(this->rounded(std::nextafter(half_way, 0.0f)), low) << std::hex << low;
    ASSERT_EQ(this->rounded(std::nextafter(half_way, infinity)), high) << std::hex << low;
    ASSERT_EQ(this->rounded(-half_way), tie | this->sign) << std::hex << low;
  }
}

TYPED_TEST(Rounding, OverflowsAndUnderflows) {
  const std::uint32_t most = this->format.saturates ? this->format.largest : this->format.largest + 1;
  EXPECT_EQ(this->rounded(std::numeric_limits<float>::max()), most);
  EXPECT_EQ(this->rounded(-std::numeric_limits<float>::infinity()), most | this->sign);
  EXPECT_EQ(this->rounded(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_EQ(this->rounded(-std::numeric_limits<float>::denorm_min()), this->sign);
}

TEST(S8, RoundsToNearestTakesTiesToEvenAndSaturates) {
  for (int i = -127; i < 127; ++i) {
    EXPECT_EQ(from_float<std::int8_t>(static_cast<float>(i) + 0.5f), i % 2 == 0 ? i : i + 1);
    EXPECT_EQ(from_float<std::int8_t>(static_cast<float>(i) + 0.4375f), i);
    EXPECT_EQ(to_float(static_cast<std::int8_t>(i)), static_cast<float>(i));
  }
  constexpr float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(from_float<std::int8_t>(127.75f), 127);
  EXPECT_EQ(from_float<std::int8_t>(infinity), 127);
  EXPECT_EQ(from_float<std::int8_t>(-infinity), -128);
  EXPECT_EQ(from_float<std::int8_t>(std::numeric_limits<float>::quiet_NaN()), 0);
}

TEST(S32, RoundsToNearestTakesTiesToEvenAndSaturates) {
  for (const int i : {0, 1, 2, 99, 100, (1 << 21) + 1, (1 << 22) - 1}) {
    const auto half = static_cast<float>(i) + 0.5f;
    EXPECT_EQ(from_float<std::int32_t>(half), i + i % 2) << i;
    EXPECT_EQ(from_float<std::int32_t>(-half), -i - i % 2) << i;
    EXPECT_EQ(from_float<std::int32_t>(std::nextafter(half, 0.0f)), i);
  }
  for (const int i : {1 << 23, (1 << 24) - 1, 1 << 30, -(1 << 23) - 1, INT32_MIN})
    EXPECT_EQ(from_float<std::int32_t>(to_float(i)), i);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(from_float<std::int32_t>(0x1p31f), INT32_MAX);
  EXPECT_EQ(from_float<std::int32_t>(infinity), INT32_MAX);
  EXPECT_EQ(from_float<std::int32_t>(-infinity), INT32_MIN);
  EXPECT_EQ(from_float<std::int32_t>(std::numeric_limits<float>::quiet_NaN()), 0);
  EXPECT_EQ(to_float((1 << 24) + 1), 0x1p24f);
  EXPECT_EQ(to_double((1 << 24) + 1), 0x1p24 + 1);
}

TEST(Type, IsFoundByItsValue) {
  const auto found = [](Type type) {
    with_type(type, [&](auto element) {
      EXPECT_EQ(TypeOf<decltype(element)>::value, type);
      EXPECT_EQ(sizeof(element), static_cast<std::size_t>(size_of(type)));
    });
  };
  for (const Type type : operand_types) found(type);
  found(Type::s32);
}

}  // namespace
}  // namespace lapidary
