#include "layout/matrix_descriptor.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace lapidary {
namespace {

struct Tile {
  std::string name;
  Layout layout;
  Major major;
  int element_bytes, MN, K;
  int N;  ///< what one instruction reads of mn
};

/// Those of cute_test.cpp among them, which are the same as CuTe's.
std::vector<Tile> tiles() {
  using enum Major;
  return {
      {"K, 128", row_major(128, 64).swizzled(3, 3, 3), k, 2, 128, 64, 64},
      {"K, 64", row_major(64, 32).swizzled(2, 3, 3), k, 2, 64, 32, 64},
      {"K, 32", row_major(64, 16).swizzled(1, 3, 3), k, 2, 64, 16, 64},
      {"K, 128, two boxes", Layout({128, 2, 64}, {64, 128 * 64, 1}).swizzled(3, 3, 3), k, 2, 128, 128, 64},
      {"K, 128, of 32 bits", row_major(64, 32).swizzled(3, 2, 3), k, 4, 64, 32, 64},
      {"K, 128, of 8 bits", row_major(256, 128).swizzled(3, 4, 3), k, 1, 256, 128, 256},
      {"K, none, 64 x 16", Layout({8, 8, 2, 8}, {64, 8, 512, 1}), k, 2, 64, 16, 64},
      {"K, none, core matrices of a row side by side", Layout({8, 8, 4, 8}, {256, 8, 64, 1}), k, 2, 64, 32, 64},
      {"K, none, of 8 bits", Layout({3, 8, 2, 16}, {128, 16, 384, 1}), k, 1, 24, 32, 24},
      {"MN, 128", column_major(64, 64).swizzled(3, 3, 3), mn, 2, 64, 64, 64},
      {"MN, 64", column_major(32, 32).swizzled(2, 3, 3), mn, 2, 32, 32, 32},
      {"MN, 32", column_major(16, 32).swizzled(1, 3, 3), mn, 2, 16, 32, 16},
      {"MN, 128, four boxes", Layout({4, 64, 64}, {64 * 64, 1, 64}).swizzled(3, 3, 3), mn, 2, 256, 64, 256},
      {"MN, 128, mn first", Layout({2, 64, 8, 8}, {512, 1, 1024, 64}).swizzled(3, 3, 3), mn, 2, 128, 64, 128},
      {"MN, 64, parts of a row left over", Layout({3, 32, 16}, {32 * 16, 1, 32}).swizzled(2, 3, 3), mn, 2, 96, 16, 72},
      {"MN, none", Layout({8, 8, 4, 8}, {64, 1, 512, 8}), mn, 2, 64, 32, 64},
      {"MN, none, k first", Layout({8, 8, 4, 8}, {256, 1, 64, 8}), mn, 2, 64, 32, 64},
  };
}

/// Where the layout has element (mn, k), in elements: each mode counted in full through its parts, of which the last
/// moves fastest.
int offset_in(const Tile& tile, int mn, int k) {
  const Layout& at = tile.layout;
  switch (at.rank()) {
    case 2: return at(mn, k);
    case 3:
      if (tile.major == Major::k) return at(mn, k / at.shape(2), k % at.shape(2));
      return at(mn / at.shape(1), mn % at.shape(1), k);
    default: return at(mn / at.shape(1), mn % at.shape(1), k / at.shape(3), k % at.shape(3));
  }
}

TEST(MatrixDescriptor, HasTheBitsOfPtx) {
  constexpr MatrixTile tile(row_major(64, 64).swizzled(3, 3, 3), Major::k, 2);
  static_assert(encode(tile.descriptor(0x2400)) == 0x4000004000010240u);
  // Steps of K are 32 bytes; 64 rows are 8 KiB.
  static_assert(encode(tile.descriptor(0x2400, 0, 16)) == 0x4000004000010242u);
  constexpr MatrixTile rows(row_major(128, 64).swizzled(3, 3, 3), Major::k, 2);
  static_assert(encode(rows.descriptor(0x2400, 64, 48)) == 0x4000004000010446u);
  // B of 64 x 256, N-major, in boxes of 64 x 64: steps of K are 2048 bytes, and the next 64 columns are 8 KiB away.
  constexpr MatrixTile columns(Layout({4, 64, 64}, {64 * 64, 1, 64}).swizzled(3, 3, 3), Major::mn, 2);
  static_assert(encode(columns.descriptor(0x400)) == (0x4000000000000040u | 512ull << 16 | 64ull << 32));
  static_assert(encode(columns.descriptor(0x400, 64, 16)) == encode(columns.descriptor(0x400)) + 512 + 128);
  // 64 x 16 without a swizzle.
  constexpr MatrixTile bare(Layout({8, 8, 2, 8}, {64, 8, 512, 1}), Major::k, 2);
  static_assert(encode(bare.descriptor(0)) == (64ull << 16 | 8ull << 32));
}

TEST(MatrixDescriptor, IsDecodedToWhatWasEncoded) {
  for (int swizzle = 0; swizzle < 4; ++swizzle) {
    const MatrixDescriptor all{.start = 0x3fff0,
                               .leading = 0x3ffe0,
                               .stride = 0x20010,
                               .base_offset = 5,
                               .swizzle = static_cast<TensorSwizzle>(swizzle)};
    EXPECT_EQ(decode_matrix_descriptor(encode(all)), all);
  }
  EXPECT_EQ(decode_matrix_descriptor(0x2000000000000000u | 1ull << 15 | 3ull << 30), MatrixDescriptor{.leading = 0});
  EXPECT_EQ(decode_matrix_descriptor(std::uint64_t{3} << 62).swizzle, TensorSwizzle::bytes32);
  EXPECT_EQ(decode_matrix_descriptor(std::uint64_t{1} << 62).swizzle, TensorSwizzle::bytes128);
}

TEST(MatrixDescriptor, OfATileReadsEveryElementWhereTheLayoutPutsIt) {
  constexpr std::uint32_t start = 3 * 1024;
  for (const Tile& tile : tiles()) {
    const MatrixTile matrix(tile.layout, tile.major, tile.element_bytes);
    const int step = 32 / tile.element_bytes;
    for (int mn0 = 0; mn0 + tile.N <= tile.MN; mn0 += tile.N) {
      for (int k0 = 0; k0 < tile.K; k0 += step) {
        const MatrixDescriptor d = decode_matrix_descriptor(encode(matrix.descriptor(start, mn0, k0)));
        EXPECT_EQ(misalignment_of(d, tile.major), nullptr) << tile.name;
        EXPECT_EQ(matrix.encoded(start, mn0, k0), encode(d)) << tile.name;
        for (int mn = 0; mn < tile.N; ++mn)
          for (int k = 0; k < step; ++k)
            ASSERT_EQ(address_of(d, tile.major, tile.element_bytes, mn, k),
                      start + static_cast<std::uint32_t>(offset_in(tile, mn0 + mn, k0 + k) * tile.element_bytes))
                << tile.name << ": element " << mn << ", " << k << " from " << mn0 << ", " << k0;
      }
    }
  }
}

TEST(MatrixDescriptor, RefusesWhatItsFieldsCannotHold) {
  const auto refusal = [](const MatrixDescriptor& descriptor) -> std::string {
    try {
      encode(descriptor);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal({.start = 24}),
            "matrix descriptor: the start address is a multiple of 16 bytes; got 24, the nearest legal value is 16");
  EXPECT_NE(refusal({.start = 1 << 18}).find("below 2^18"), std::string::npos);
  EXPECT_NE(refusal({.leading = -16}).find("nearest legal value is 0"), std::string::npos);
  EXPECT_NE(refusal({.stride = 1 << 18}).find("nearest legal value is 262128"), std::string::npos);
  EXPECT_NE(refusal({.base_offset = 8}).find("nearest legal value is 7"), std::string::npos);
}

TEST(MatrixDescriptor, RefusesTilesThatWgmmaCannotRead) {
  const auto refusal = [](const Layout& layout, Major major, int element_bytes) -> std::string {
    try {
      MatrixTile(layout, major, element_bytes);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "";
  };
  const auto expect = [&](const Layout& layout, Major major, int element_bytes, const char* why) {
    EXPECT_NE(refusal(layout, major, element_bytes).find(why), std::string::npos)
        << refusal(layout, major, element_bytes);
  };
  expect(row_major(64, 64).padded(64, 8), Major::k, 2, "no padding");
  expect(row_major(64, 64).swizzled(3, 3, 4), Major::k, 2, "from 3 bits higher");
  expect(row_major(64, 64).swizzled(3, 2, 3), Major::k, 2, "from bit 4 of the byte offset");
  expect(row_major(64, 64).swizzled(4, 3, 4), Major::k, 2, "0 to 3 bits");
  expect(row_major(64, 64).swizzled(2, 3, 3), Major::k, 2, "got 64, the nearest legal value is 32");
  expect(row_major(64, 64), Major::k, 2, "got 64, the nearest legal value is 8");
  expect(row_major(64, 64).swizzled(3, 3, 3), Major::mn, 2, "neighbours");
  expect(column_major(32, 32).swizzled(3, 2, 3), Major::mn, 4, "MN-major elements have 2 bytes");
  expect(row_major(60, 64).swizzled(3, 3, 3), Major::k, 2, "got 60, the nearest legal value is 56");
}

// Pattern and row of the swizzle: where a start that no K-step reaches is told from those that are.
TEST(MatrixDescriptor, TellsStartsThatTheSwizzleDoesNotFit) {
  const auto fits = [](TensorSwizzle swizzle, std::uint32_t start, Major major = Major::k) {
    return misalignment_of({.start = start, .stride = 1024, .swizzle = swizzle}, major) == nullptr;
  };
  EXPECT_TRUE(fits(TensorSwizzle::bytes128, 1024 + 96));
  EXPECT_FALSE(fits(TensorSwizzle::bytes128, 1024 + 112));
  EXPECT_FALSE(fits(TensorSwizzle::bytes128, 512));
  EXPECT_TRUE(fits(TensorSwizzle::bytes64, 512 + 32));
  EXPECT_FALSE(fits(TensorSwizzle::bytes64, 256));
  EXPECT_TRUE(fits(TensorSwizzle::bytes32, 256));
  EXPECT_FALSE(fits(TensorSwizzle::bytes32, 128));
  EXPECT_TRUE(fits(TensorSwizzle::none, 16));
  EXPECT_TRUE(fits(TensorSwizzle::bytes128, 112, Major::mn));
  EXPECT_NE(misalignment_of({.base_offset = 1, .swizzle = TensorSwizzle::bytes128}, Major::k), nullptr);
}

}  // namespace
}  // namespace lapidary
