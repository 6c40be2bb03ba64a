#include "core/types.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace lapidary {
namespace {

constexpr std::uint16_t infinity = 0x7c00, sign = 0x8000;

std::uint16_t rounded(float value) { return from_float<f16>(value).bits; }

/// The value of finite bits by the definition of IEEE 754 binary16: 1 sign bit, 5 exponent bits, 10 fraction bits.
double value_of(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return bits & sign ? -magnitude : magnitude;
}

TEST(F16, EveryValueBecomesItsFloatAndComesBack) {
  for (std::uint32_t i = 0; i < 0x10000; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float value = to_float(f16{bits});
    ASSERT_EQ(std::signbit(value), (bits & sign) != 0) << std::hex << i;
    if ((bits & 0x7fff) > infinity) {
      ASSERT_TRUE(std::isnan(value)) << std::hex << i;
      ASSERT_TRUE(std::isnan(to_float(f16{rounded(value)}))) << std::hex << i;
      continue;
    }
    if ((bits & 0x7fff) == infinity)
      ASSERT_TRUE(std::isinf(value)) << std::hex << i;
    else
      ASSERT_EQ(static_cast<double>(value), value_of(bits)) << std::hex << i;
    ASSERT_EQ(rounded(value), bits) << std::hex << i;
  }
}

// Rounding is monotonic, so the floats around the point half way between each two neighbours prove it for all floats.
TEST(F16, RoundsToNearestAndTiesToEven) {
  for (std::uint16_t low = 0; low < infinity; ++low) {
    const std::uint16_t high = low + 1, even = low % 2 == 0 ? low : high;
    // The next number of the format, had it more exponents, stands for infinity.
    const double above = high == infinity ? 65536 : value_of(high);
    const auto half_way = static_cast<float>((value_of(low) + above) / 2);
    ASSERT_EQ(rounded(half_way), even) << std::hex << low;
    ASSERT_EQ(rounded(std::nextafter(half_way, 0.0f)), low) << std::hex << low;
    ASSERT_EQ(rounded(std::nextafter(half_way, 1e6f)), high) << std::hex << low;
    ASSERT_EQ(rounded(-half_way), even | sign) << std::hex << low;
  }
}

TEST(F16, OverflowsToInfinityAndUnderflowsToZero) {
  EXPECT_EQ(rounded(std::numeric_limits<float>::max()), infinity);
  EXPECT_EQ(rounded(-std::numeric_limits<float>::infinity()), infinity | sign);
  EXPECT_EQ(rounded(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_EQ(rounded(-std::numeric_limits<float>::denorm_min()), sign);
}

}  // namespace
}  // namespace lapidary
