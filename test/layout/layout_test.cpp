#include "layout/layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace lapidary {
namespace {

// The definition written out with 64-bit arithmetic and divisions, independent of the implementation.
std::int64_t defined_offset(const Layout& layout, const Layout::Coordinates& index) {
  std::int64_t linear = 0;
  for (int m = 0; m < layout.rank(); ++m) linear += std::int64_t{index[m]} * layout.stride(m);
  if (layout.padding().every > 0) linear += linear / layout.padding().every * layout.padding().add;
  const Swizzle s = layout.swizzle();
  for (int bit = 0; bit < s.bits; ++bit) {
    if (linear >> (s.base + s.shift + bit) & 1) linear ^= std::int64_t{1} << (s.base + bit);
  }
  return linear;
}

int call(const Layout& layout, const Layout::Coordinates& index) {
  switch (layout.rank()) {
    case 1: return layout(index[0]);
    case 2: return layout(index[0], index[1]);
    case 3: return layout(index[0], index[1], index[2]);
    default: return layout(index[0], index[1], index[2], index[3]);
  }
}

template <class Visit>
void for_each_coordinate(const Layout& layout, Visit visit) {
  Layout::Coordinates index = {};
  for (index[0] = 0; index[0] < layout.shape(0); ++index[0])
    for (index[1] = 0; index[1] < layout.shape(1); ++index[1])
      for (index[2] = 0; index[2] < layout.shape(2); ++index[2])
        for (index[3] = 0; index[3] < layout.shape(3); ++index[3]) visit(index);
}

class RandomLayouts : public testing::Test {
 protected:
  static constexpr std::uint32_t seed = 20240607;
  std::mt19937 random{seed};

  int uniform(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }

  Layout make(const std::vector<int>& shape, const std::vector<int>& stride) {
    const auto of_rank = [&]<int R>(std::integral_constant<int, R>) {
      int d[R], s[R];
      std::copy_n(shape.begin(), R, d);
      std::copy_n(stride.begin(), R, s);
      return Layout(d, s);
    };
    switch (shape.size()) {
      case 1: return of_rank(std::integral_constant<int, 1>{});
      case 2: return of_rank(std::integral_constant<int, 2>{});
      case 3: return of_rank(std::integral_constant<int, 3>{});
      default: return of_rank(std::integral_constant<int, 4>{});
    }
  }

  // Modes nested in a random order with random gaps, then padding and swizzle, each in some of the samples.
  Layout next() {
    const int rank = uniform(1, 4);
    std::vector<int> shape(rank), stride(rank), order(rank);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    int pitch = uniform(1, 3);
    for (const int m : order) {
      shape[m] = uniform(0, 2) == 0 ? 1 << uniform(0, 4) : uniform(1, 9);
      stride[m] = pitch;
      pitch = pitch * shape[m] + (uniform(0, 2) == 0 ? uniform(0, 5) : 0);
    }
    Layout layout = make(shape, stride);
    if (uniform(0, 1) == 0) layout = layout.padded(uniform(1, 64), uniform(0, 8));
    if (uniform(0, 1) == 0) {
      const int bits = uniform(0, 4);
      layout = layout.swizzled(bits, uniform(0, 4), uniform(bits, bits + 3));
    }
    return layout;
  }
};

TEST_F(RandomLayouts, OffsetsFollowTheDefinitionAndInverseAndCosizeAreExact) {
  for (int sample = 0; sample < 2000; ++sample) {
    const Layout layout = next();
    SCOPED_TRACE("seed " + std::to_string(seed) + ", sample " + std::to_string(sample) + ": " + to_string(layout));
    std::map<int, Layout::Coordinates> element;
    bool as_defined = true;
    for_each_coordinate(layout, [&](const Layout::Coordinates& index) {
      const int offset = call(layout, index);
      as_defined &= offset == defined_offset(layout, index);
      element.emplace(offset, index);
    });
    ASSERT_TRUE(as_defined);
    ASSERT_EQ(element.size(), static_cast<std::size_t>(layout.size())) << "two coordinates share an offset";
    ASSERT_EQ(layout.cosize(), element.rbegin()->first + 1);
    bool inverted = true;
    for (int offset = -3; offset < layout.cosize() + 70; ++offset) {
      const auto found = element.find(offset);
      const auto inverse = layout.inverse(offset);
      inverted &= found == element.end() ? !inverse.has_value() : inverse == found->second;
    }
    ASSERT_TRUE(inverted);
  }
}

TEST_F(RandomLayouts, AreRefusedExactlyWhenTwoCoordinatesShareAnOffset) {
  int refused = 0;
  for (int sample = 0; sample < 5000; ++sample) {
    const int rank = uniform(1, 4);
    std::vector<int> shape(rank), stride(rank);
    std::string text = "seed " + std::to_string(seed) + ":";
    for (int m = 0; m < rank; ++m) {
      shape[m] = uniform(1, 5);
      stride[m] = uniform(1, 40);
      text += " " + std::to_string(shape[m]) + ":" + std::to_string(stride[m]);
    }
    std::vector<int> sums = {0};
    for (int m = 0; m < rank; ++m) {
      std::vector<int> longer;
      for (const int sum : sums)
        for (int i = 0; i < shape[m]; ++i) longer.push_back(sum + i * stride[m]);
      sums = longer;
    }
    std::sort(sums.begin(), sums.end());
    const bool injective = std::adjacent_find(sums.begin(), sums.end()) == sums.end();
    if (injective) {
      ASSERT_NO_THROW(make(shape, stride)) << text;
    } else {
      ASSERT_THROW(make(shape, stride), InvalidArgument) << text;
      ++refused;
    }
  }
  EXPECT_GT(refused, 500);
  EXPECT_LT(refused, 4500);
}

TEST(SwizzleTest, IsAnInvolutionThatPermutesItsBlocksAndKeepsItsRuns) {
  for (int bits = 0; bits <= 4; ++bits)
    for (int base = 0; base <= 4; ++base)
      for (int shift = bits; shift <= bits + 2; ++shift) {
        const Swizzle swizzle = row_major(8).swizzled(bits, base, shift).swizzle();
        const int block = 1 << (base + bits), run = 1 << base;
        for (int offset = 0; offset < 1 << (base + shift + bits + 1); ++offset) {
          ASSERT_EQ(swizzle(swizzle(offset)), offset);
          if (bits == 0) continue;
          ASSERT_EQ(swizzle(offset) / block, offset / block);
          ASSERT_EQ(swizzle(offset) % run, offset % run);
        }
      }
}

TEST(LayoutTest, PaddingIsSpelledPerRowOrPerPartOfARow) {
  constexpr Layout pitch = row_major(64, 128).padded(128, 4);
  static_assert(pitch(1, 0) == 132 && pitch(1, 127) == 259 && pitch(63, 127) == 63 * 132 + 127);
  static_assert(pitch.size() == 64 * 128 && pitch.cosize() == 64 * 132 - 4);
  static_assert(!pitch.inverse(128) && !pitch.inverse(131) && (*pitch.inverse(132))[0] == 1);

  constexpr Layout halves = row_major(64, 128).padded(64, 2);
  static_assert(halves(0, 63) == 63 && halves(0, 64) == 66 && halves(1, 0) == 132);
  static_assert(!halves.inverse(64) && !halves.inverse(65));
}

TEST(LayoutTest, ASwizzleCanRaiseCosizeAndOneAboveTheTileChangesNothing) {
  static_assert(row_major(5).cosize() == 5 && row_major(5).swizzled(1, 0, 2).cosize() == 6);
  static_assert(row_major(5).swizzled(3, 25, 3).cosize() == 5);
}

TEST(LayoutTest, FactoriesOrderTheStrides) {
  static_assert(row_major(3, 16, 128) == Layout({3, 16, 128}, {2048, 128, 1}));
  static_assert(column_major(128, 8) == Layout({128, 8}, {1, 128}));
  static_assert(row_major(7) == column_major(7));
  static_assert(row_major(4, 4) != column_major(4, 4));
  static_assert(row_major(4, 4) != row_major(4, 4).padded(4, 1));
  static_assert(row_major(4, 4) != row_major(4, 4).swizzled(2, 0, 2));
}

TEST(LayoutTest, PaddingAndSwizzleOfNothingCompareEqualToNone) {
  static_assert(row_major(4, 4).padded(0, 3) == row_major(4, 4));
  static_assert(row_major(4, 4).padded(4, 0) == row_major(4, 4));
  static_assert(row_major(4, 4).swizzled(0, 4, 3) == row_major(4, 4));
  static_assert(row_major(8, 8).padded(8, 8).swizzled(2, 0, 4) == row_major(8, 8).swizzled(2, 0, 4).padded(8, 8));
}

TEST(LayoutTest, ToStringNamesEveryPart) {
  EXPECT_EQ(to_string(row_major(5)), "(5):(1)");
  EXPECT_EQ(to_string(row_major(128, 8)), "(128,8):(8,1)");
  EXPECT_EQ(to_string(column_major(2, 3, 4, 5)), "(2,3,4,5):(1,2,6,24)");
  EXPECT_EQ(to_string(row_major(64, 128).padded(128, 4)), "(64,128):(128,1)+4/128");
  EXPECT_EQ(to_string(row_major(128, 32).swizzled(3, 2, 3)), "(128,32):(32,1)^<3,2,3>");
  EXPECT_EQ(to_string(row_major(128, 32).swizzled(3, 2, 3).padded(64, 2)), "(128,32):(32,1)+2/64^<3,2,3>");
}

std::string refusal(void (*construct)()) {
  try {
    construct();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "none";
}

TEST(LayoutTest, RefusalsNameTheRuleTheValueAndTheNearestLegalOne) {
  EXPECT_EQ(refusal([] { row_major(128, 0); }),
            "Layout: the shape of each mode is at least 1; got 0, the nearest legal value is 1");
  EXPECT_EQ(refusal([] {
              Layout({4, 4}, {4, -1});
            }),
            "Layout: the stride of each mode is at least 1; got -1, the nearest legal value is 1");
  EXPECT_EQ(
      refusal([] {
        Layout({8, 8}, {7, 1});
      }),
      "Layout: no two coordinates share an offset, as where each stride exceeds what the smaller ones reach; got 7, "
      "the nearest legal value is 8");
  EXPECT_EQ(refusal([] { row_major(8, 8).swizzled(3, 0, 2); }),
            "Layout::swizzled: shift is at least bits; got 2, the nearest legal value is 3");
  EXPECT_EQ(refusal([] { row_major(8, 8).swizzled(3, 0, 29); }),
            "Layout::swizzled: shift is at most 31 - bits; got 29, the nearest legal value is 28");
  EXPECT_EQ(refusal([] { row_major(8, 8).swizzled(-1, 0, 2); }),
            "Layout::swizzled: bits is 0 to 15; got -1, the nearest legal value is 0");
  EXPECT_EQ(refusal([] { row_major(8, 8).swizzled(3, -2, 3); }),
            "Layout::swizzled: base is at least 0; got -2, the nearest legal value is 0");
  EXPECT_EQ(refusal([] { row_major(8, 8).swizzled(3, 26, 3); }),
            "Layout::swizzled: base is at most 31 - bits - shift; got 26, the nearest legal value is 25");
  EXPECT_EQ(refusal([] { row_major(8, 8).padded(-8, 1); }),
            "Layout::padded: every is at least 0; got -8, the nearest legal value is 0");
  EXPECT_EQ(refusal([] { row_major(8, 8).padded(8, -1); }),
            "Layout::padded: add is at least 0; got -1, the nearest legal value is 0");
  EXPECT_EQ(refusal([] { column_major(1 << 16, 1 << 16, 1 << 16); }),
            "Layout: offsets are below 2^30; got 65536, the nearest legal value is 16384");
  EXPECT_EQ(refusal([] { row_major((1ll << 32) + 1); }),
            "Layout: offsets are below 2^30; got 4294967297, the nearest legal value is 1073741824");
  EXPECT_NE(refusal([] { row_major(1 << 10, 1 << 10).padded(1, 1 << 12); }), "none");
  EXPECT_EQ(refusal([] { row_major(8, 8)(3); }),
            "Layout: as many indices as modes; got 1, the nearest legal value is 2");
}

// What is refused at run time does not compile as a constant: a template parameter that cannot be evaluated removes
// the overload.
template <auto construct>
concept Constant = requires {
  typename std::integral_constant<int, (construct(), 0)>;
};

TEST(LayoutTest, RefusalsDoNotCompileInConstantExpressions) {
  static_assert(Constant<[] { return row_major(128, 8); }>);
  static_assert(!Constant<[] { return row_major(128, 0); }>);
  static_assert(!Constant<[] { return Layout({4, 4}, {4, 2}); }>);
  static_assert(!Constant<[] { return Layout({4, 4}, {3, 1}); }>);
  static_assert(!Constant<[] { return row_major(8, 8).swizzled(3, 0, 2); }>);
  static_assert(!Constant<[] { return row_major(8, 8)(1, 2, 3); }>);
  static_assert(Constant<[] { return row_major(8, 8)(7, 7); }>);
  static_assert(!Constant<[] { return row_major(8, 8)(7, 8); }>);
  static_assert(!Constant<[] { return row_major(8, 8)(-1, 7); }>);
}

}  // namespace
}  // namespace lapidary
