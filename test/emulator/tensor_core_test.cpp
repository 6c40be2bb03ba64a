#include "emulator/tensor_core.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <random>
#include <vector>

#include "core/error.hpp"
#include "core/types.hpp"

namespace lapidary::emulator {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::uint64_t nan_f32 = 0x7fffffff;

/// The bits of a value that the number has exactly.
std::uint64_t bits(Number number, double value) {
  const auto single = static_cast<float>(value);
  switch (number) {
    case Number::f16: return from_float<f16>(single).bits;
    case Number::bf16: return from_float<bf16>(single).bits;
    case Number::e4m3: return from_float<e4m3>(single).bits;
    case Number::e5m2: return std::isinf(single) ? 0x7c : from_float<e5m2>(single).bits;
    case Number::tf32:
    case Number::f32: return std::bit_cast<std::uint32_t>(single);
    case Number::f64: return std::bit_cast<std::uint64_t>(value);
    case Number::s8: return static_cast<std::uint8_t>(static_cast<std::int8_t>(value));
    case Number::u8: return static_cast<std::uint8_t>(value);
    case Number::s32: return static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
  }
  return 0;
}

struct Product {
  double a, b;
};

/// One result of an instruction: c + the products; those left out are 0.
std::uint64_t sum(TensorOperation what, double c, const std::vector<Product>& products) {
  what.M = what.N = 1;
  std::vector<std::uint64_t> a(static_cast<std::size_t>(what.K)), b(a);
  for (std::size_t k = 0; k < products.size(); ++k) {
    a[k] = bits(what.a, products[k].a);
    b[k] = bits(what.b, products[k].b);
  }
  const std::uint64_t c_bits = bits(what.d, c);
  std::uint64_t d = ~std::uint64_t{0};
  multiply(what, a.data(), b.data(), &c_bits, &d);
  return d;
}

TensorOperation operation(Number in, Number out, int K,
                          TensorOperation::Instruction instruction = TensorOperation::Instruction::mma_sync) {
  return {.instruction = instruction, .a = in, .b = in, .d = out, .M = 1, .N = 1, .K = K};
}
const TensorOperation f16_f32 = operation(Number::f16, Number::f32, 16);
const TensorOperation f16_f16 = operation(Number::f16, Number::f16, 16);
const TensorOperation bf16_f32 = operation(Number::bf16, Number::f32, 16);
const TensorOperation tf32_f32 = operation(Number::tf32, Number::f32, 8);

float f32(std::uint64_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); }
float half(std::uint64_t bits) { return to_float(f16{static_cast<std::uint16_t>(bits)}); }

TEST(TensorCore, CutsTermsOff25BitsBelowTheLargestExponent) {
  // Sixteen terms of 2^-26 would make up 2^-22, but each of them is cut off; terms of 2^-25 are not.
  const std::vector<Product> below(16, {0x1p-14, 0x1p-12}), at(16, {0x1p-13, 0x1p-12});
  EXPECT_EQ(f32(sum(f16_f32, 1, below)), 1);
  EXPECT_EQ(f32(sum(f16_f32, 1, at)), 1 + 0x1p-21f);
  // C is cut off likewise where a product has the largest exponent.
  EXPECT_EQ(f32(sum(f16_f32, 0x1p-24 + 0x1p-26, {{1, 1}, {-1, 1}})), 0x1p-24f);
}

TEST(TensorCore, CutsOffTowardsZeroWhateverTheSign) {
  EXPECT_EQ(f32(sum(f16_f32, 1, {{-0x1p-14, 0x1p-12}})), 1);
  EXPECT_EQ(f32(sum(f16_f32, -1, {{0x1p-14, 0x1p-12}})), -1);
}

TEST(TensorCore, CutsTheSumOffTowardsZero) {
  // 1 - 2^-25 lies between two floats, the upper of which is the nearer one to round-to-even.
  EXPECT_EQ(f32(sum(f16_f32, 1, {{-0x1p-13, 0x1p-12}})), 1 - 0x1p-24f);
  EXPECT_EQ(f32(sum(f16_f32, -1, {{0x1p-13, 0x1p-12}})), -1 + 0x1p-24f);
  EXPECT_EQ(f32(sum(f16_f32, 1, {{0x1p-12, 0x1.8p-12}})), 1) << "1.5 units of 2^-24, of which f32 has the double";
}

TEST(TensorCore, TakesProductsWithTheExponentsOfTheirFactors) {
  // 1.5 * 1.5 is more than 2; were its exponent 1, the last term would be cut off.
  EXPECT_EQ(f32(sum(f16_f32, 0, {{1.5, 1.5}, {-1.5, 1.5}, {0x1p-13, 0x1p-12}})), 0x1p-25f);
  EXPECT_EQ(f32(sum(f16_f32, -2.25, {{1.5, 1.5}, {0x1p-13, 0x1p-12}})), 0) << "the exponent of C is 1";
}

TEST(TensorCore, LosesWhatStandsBesideAProductThatCancels) {
  EXPECT_EQ(f32(sum(f16_f32, 1, {{0x1p15, 0x1p15}, {-0x1p15, 0x1p15}})), 0);
  EXPECT_EQ(f32(sum(f16_f32, 31, {{0x1p15, 0x1p15}, {-0x1p15, 0x1p15}, {0x1p5, 1}})), 0x1p5f);
}

TEST(TensorCore, CountsSubnormalNumbersInFull) {
  EXPECT_EQ(f32(sum(f16_f32, 0, {{0x1p-24, 0x1p10}})), 0x1p-14f);
  EXPECT_EQ(f32(sum(f16_f32, 0, {{0x1p-24, 0x1p-24}})), 0x1p-48f);
  // 2^-24 has the exponent of the least normal number, -14: its product by 2^14 has 0, and 2^-26 is cut off.
  EXPECT_EQ(f32(sum(f16_f32, 0, {{0x1p-24, 0x1p14}, {0x1p-14, 0x1p-12}})), 0x1p-10f);
  EXPECT_EQ(f32(sum(f16_f32, 0, {{0x1p-14, 0x1p4}, {0x1p-14, 0x1p-12}})), 0x1p-10f + 0x1p-26f);
  // Results too: those of bf16 may be smaller than any float.
  EXPECT_EQ(f32(sum(bf16_f32, 0, {{0x1p-100, 0x1.8p-48}})), 0x1.8p-148f);
  EXPECT_EQ(f32(sum(bf16_f32, 0, {{0x1p-100, 0x1.8p-49}})), 0x1p-149f);
  EXPECT_EQ(sum(bf16_f32, 0, {{-0x1p-100, 0x1p-100}}), 0u) << "cut off to +0";
}

TEST(TensorCore, TakesNoExponentFromAZero) {
  EXPECT_EQ(f32(sum(f16_f32, 0x1.234568p-100, {{0, 0x1p15}, {0x1p15, 0}})), 0x1.234568p-100f);
  EXPECT_EQ(f32(sum(f16_f32, 0x1p-149, {})), 0x1p-149f);
  EXPECT_EQ(sum(f16_f32, 1, {{-1, 1}}), 0u) << "+0";
}

TEST(TensorCore, ObeysTheRulesOfInfinityAndNan) {
  for (const TensorOperation& what : {f16_f32, bf16_f32, tf32_f32}) {
    EXPECT_EQ(f32(sum(what, 0, {{infinity, 2}})), infinity);
    EXPECT_EQ(f32(sum(what, -infinity, {{1, 2}})), -infinity);
    EXPECT_EQ(f32(sum(what, 1, {{infinity, -2}, {3, -infinity}})), -infinity);
    EXPECT_EQ(sum(what, 0, {{infinity, 0}}), nan_f32);
    EXPECT_EQ(sum(what, 0, {{infinity, 1}, {1, -infinity}}), nan_f32);
    EXPECT_EQ(sum(what, infinity, {{infinity, -1}}), nan_f32);
    EXPECT_EQ(sum(what, 0, {{nan, 0}}), nan_f32);
    EXPECT_EQ(sum(what, nan, {}), nan_f32);
  }
  EXPECT_EQ(sum(f16_f16, 0, {{1, nan}}), 0x7fffu);
  EXPECT_EQ(half(sum(f16_f16, 0, {{-1, infinity}})), -infinity);
  EXPECT_EQ(f32(sum(bf16_f32, 0, {{0x1p120, 0x1p20}})), infinity) << "overflow";
  EXPECT_EQ(f32(sum(bf16_f32, 0, {{0x1p120, 0x1p20}, {-0x1p120, 0x1p20}, {1, 1}})), 0) << "no overflow within a sum";
}

TEST(TensorCore, RoundsToAnF16ThatIsNearest) {
  EXPECT_EQ(half(sum(f16_f16, 1, {{0x1p-11, 1}})), 1) << "a tie, to even";
  EXPECT_EQ(half(sum(f16_f16, 1, {{0x1p-11, 1}, {0x1p-11, 0x1p-11}})), 1 + 0x1p-10f);
  EXPECT_EQ(half(sum(f16_f16, 1, {{0x1.8p-10, 1}})), 1 + 0x1p-9f) << "a tie, to even";
  EXPECT_EQ(half(sum(f16_f16, 65504, {{15, 1}})), 65504);
  EXPECT_EQ(half(sum(f16_f16, 65504, {{16, 1}})), infinity);
  EXPECT_EQ(half(sum(f16_f16, 0, {{0x1p-14, 0x1.8p-10}})), 0x1p-23f) << "subnormal, a tie";
  EXPECT_EQ(half(sum(f16_f16, -0x1p-24, {{0x1p-14, 0x1.8p-11}})), 0) << "a quarter of the least number";
}

// Zeros that end a line are passed over. They are the first ones if the order of k is turned round, on which a sum does
// not depend, whatever else is among its terms.
TEST(TensorCore, SumsAreTheSameInEachOrderOfKWithZerosAtEitherEnd) {
  constexpr int M = 8, N = 8;
  std::minstd_rand random(1);
  for (TensorOperation what : {f16_f32, f16_f16, bf16_f32, tf32_f32,
                               operation(Number::e5m2, Number::f32, 32, TensorOperation::Instruction::wgmma)}) {
    const int K = what.K;
    what.M = M, what.N = N;
    const std::vector<double> usual = {0, -0., 1, -1.5, 0x1p-14, -0x1.8p-10, 96}, special = {0, -0., 2, infinity, nan};
    const auto lines = [&](Number number, int count, bool turned) {
      std::vector<std::uint64_t> matrix(static_cast<std::size_t>(count * K));
      for (int line = 0; line < count; ++line) {
        const std::vector<double>& values = random() % 4 ? usual : special;
        const int length = static_cast<int>(random() % static_cast<unsigned>(K + 1));
        for (int k = 0; k < length; ++k)
          matrix[static_cast<std::size_t>(line * K + (turned ? K - 1 - k : k))] = bits(
              number, values[random() % values.size()]);
      }
      return matrix;
    };
    for (int repeat = 0; repeat < 20; ++repeat) {
      std::vector<std::uint64_t> results[2];
      const std::minstd_rand begin = random;
      for (const bool turned : {false, true}) {
        random = begin;
        const auto a = lines(what.a, M, turned), b = lines(what.b, N, turned);
        std::vector<std::uint64_t> c(M * N);
        for (std::uint64_t& one : c) one = bits(what.d, usual[random() % usual.size()]);
        results[turned].resize(c.size());
        multiply(what, a.data(), b.data(), c.data(), results[turned].data());
      }
      EXPECT_EQ(results[0], results[1]) << name_of(what.a);
    }
  }
}

TEST(TensorCore, ReadsTheUpper19BitsOfTf32) {
  EXPECT_EQ(f32(sum(tf32_f32, 0, {{1 + 0x1p-10 + 0x1p-11, 1}})), 1 + 0x1p-10f);
  EXPECT_EQ(f32(sum(tf32_f32, 0, {{-1 - 0x1.ffp-11, 1}})), -1);
}

TEST(TensorCore, MultipliesIntegersAndWrapsOrClamps) {
  TensorOperation what = operation(Number::s8, Number::s32, 32);
  const std::vector<Product> most(32, {-128, -128});
  EXPECT_EQ(sum(what, 5, {{-128, 127}, {3, -4}}), static_cast<std::uint32_t>(5 - 128 * 127 - 12));
  EXPECT_EQ(sum(what, 0x7fffffff, most), 0x7fffffffu + 32 * 128 * 128);
  what.saturate = true;
  EXPECT_EQ(sum(what, 0x7fffffff, most), 0x7fffffffu);
  EXPECT_EQ(sum(what, -0x7fffffff - 1.0, {{1, -2}}), 0x80000000u);
  what.b = Number::u8;
  EXPECT_EQ(sum(what, 0, {{-128, 255}}), static_cast<std::uint32_t>(-128 * 255));
}

TEST(TensorCore, ConvertsFp8OfMmaSyncToHalvesAndAddsCLast) {
  const TensorOperation what = operation(Number::e4m3, Number::f32, 32);
  // 64 has units of 2^-17: one and a half of them are rounded to even by the addition, and would be cut off by a sum.
  const Product unit = {0x1p-9, 0x1p-9};
  EXPECT_EQ(f32(sum(what, 64, {unit, unit, unit})), 64 + 0x1p-16f);
  // The products of k = 0, 1, 4, 5, ... are summed first: 2^16 then costs those of k = 2, 3, 6, 7, ... what lies below
  // 2^-9, and only them.
  TensorOperation wide = what;
  wide.a = wide.b = Number::e5m2;
  const Product large = {0x1p8, 0x1p8}, minus = {-0x1p8, 0x1p8}, small = {0x1p-5, 0x1p-5}, none = {0, 0};
  EXPECT_EQ(f32(sum(wide, 0, {small, none, large, minus})), 0);
  EXPECT_EQ(f32(sum(wide, 0, {large, minus, small})), 0x1p-10f);
  EXPECT_EQ(f32(sum(wide, 0, {large, minus, none, none, none, none, small})), 0x1p-10f);
  EXPECT_EQ(f32(sum(wide, 0, {large, minus, none, none, small})), 0);
  TensorOperation mixed = what;
  mixed.b = Number::e5m2;
  EXPECT_EQ(f32(sum(mixed, 0.5, {{448, 57344}})), 448 * 57344.f);
  EXPECT_EQ(f32(sum(mixed, 0, {{1, infinity}})), infinity);
  EXPECT_EQ(sum(mixed, 0, {{nan, 1}}), nan_f32);
}

TEST(TensorCore, KeepsFewerBitsOfFp8InWgmma) {
  const TensorOperation what = operation(Number::e4m3, Number::f32, 32, TensorOperation::Instruction::wgmma);
  EXPECT_EQ(f32(sum(what, 0, {{1, 1}, {0x1p-7, 0x1p-6}})), 1 + 0x1p-13f);
  EXPECT_EQ(f32(sum(what, 0, {{1, 1}, {0x1p-7, 0x1p-7}, {0x1p-7, 0x1p-7}})), 1);
  EXPECT_EQ(f32(sum(what, 1 + 0x1p-14, {})), 1) << "C too, as the result keeps 13 fraction bits";
}

TEST(TensorCore, ChainsDoublesByFusedMultiplyAdds) {
  const TensorOperation what = operation(Number::f64, Number::f64, 4);
  const double x = 1 + 0x1p-30;
  EXPECT_EQ(std::bit_cast<double>(sum(what, -1, {{x, x}})), 0x1p-29 + 0x1p-60);
  EXPECT_EQ(std::bit_cast<double>(sum(what, 0x1p53, {{1, 1}, {-0x1p53, 1}})), 0) << "in the order of k";
}

TEST(TensorCore, MultipliesMatrices) {
  const TensorOperation what = {TensorOperation::Instruction::wgmma, Number::bf16, Number::bf16, Number::f32, 3, 2, 4};
  std::vector<std::uint64_t> a, b, c, expected;
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 4; ++k) a.push_back(bits(what.a, i - 2 * k));
  for (int j = 0; j < 2; ++j)
    for (int k = 0; k < 4; ++k) b.push_back(bits(what.b, 5 * k + j));
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 2; ++j) {
      int result = 100 * i + 10 * j;
      c.push_back(bits(what.d, result));
      for (int k = 0; k < 4; ++k) result += (i - 2 * k) * (5 * k + j);
      expected.push_back(bits(what.d, result));
    }
  }
  multiply(what, a.data(), b.data(), c.data(), c.data());
  EXPECT_EQ(c, expected);
}

TEST(TensorCore, RefusesTypesThatDoNotGoTogether) {
  for (const TensorOperation& what : {operation(Number::bf16, Number::f16, 16), operation(Number::s8, Number::f32, 32),
                                      operation(Number::e4m3, Number::f16, 32), operation(Number::f32, Number::f32, 8)})
    EXPECT_THROW(sum(what, 0, {}), InvalidArgument) << name_of(what.a) << " to " << name_of(what.d);
  TensorOperation mixed = f16_f32;
  mixed.b = Number::bf16;
  EXPECT_THROW(sum(mixed, 0, {}), InvalidArgument);
}

}  // namespace
}  // namespace lapidary::emulator
