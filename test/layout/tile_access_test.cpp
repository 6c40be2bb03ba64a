#include "layout/tile_access.hpp"

#include <gtest/gtest.h>

namespace lapidary {
namespace {

/// Each lane reads `bits` from column 4 * lane of row 1 on.
TileAccess along_a_row(int bits) {
  TileAccess access{TileAccess::read, bits, 0x0000ffff, {}};
  for (int lane = 0; lane < 16; ++lane) access.index[static_cast<std::size_t>(lane)] = {1, 4 * lane};
  return access;
}

TEST(TileAccess, HasTheAddressesOfTheLayout) {
  const Layout padded = Layout({2, 64}, {64, 1}).padded(64, 2);
  const WarpAccess access = addresses(along_a_row(64), padded, 2);
  EXPECT_EQ(access.active, 0x0000ffffu);
  EXPECT_EQ(access.bytes, 8);
  EXPECT_EQ(access.address[0], 2u * 66);
  EXPECT_EQ(access.address[15], 2u * (66 + 60));
  EXPECT_EQ(access.address[16], 0u) << "takes no part";
}

TEST(TileAccess, IsTornWhereNeighboursDoNotLieSideBySide) {
  const Layout rows({2, 64}, {64, 1});
  EXPECT_EQ(torn_lanes(along_a_row(64), rows, 2), 0u);
  EXPECT_EQ(torn_lanes(along_a_row(128), rows, 2), 0x8000u) << "the last lane reads past its row";
  EXPECT_EQ(torn_lanes(along_a_row(64), rows.padded(63, 2), 2), 0x8000u) << "the last lane meets the padding";
  EXPECT_EQ(torn_lanes(along_a_row(64), rows.swizzled(1, 1, 5), 2), 0xffffu) << "pairs of row 1 change places";
  EXPECT_EQ(torn_lanes(along_a_row(32), rows.swizzled(1, 1, 5), 2), 0u) << "within a pair nothing moves";
}

}  // namespace
}  // namespace lapidary
