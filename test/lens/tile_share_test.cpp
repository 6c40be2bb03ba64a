#include "lens/tile_share.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/error.hpp"
#include "kernels/registry.hpp"

namespace lapidary::lens {
namespace {

TEST(Share, OfAThreadIsItsTileAndOfAWarpThoseOfItsLanes) {
  const TileOwners owners = tile_owners(find_rung("thread_tiles_2d").kernels.front());
  const Share thread = share_of_thread(owners, 37);  // 16 threads a row of 8 x 8 tiles
  EXPECT_EQ(thread.rows, (std::vector<Range>{{16, 23}}));
  EXPECT_EQ(thread.cols, (std::vector<Range>{{40, 47}}));
  EXPECT_EQ(thread.results, 64);
  const Share warp = share_of_warp(owners, 1);
  EXPECT_EQ(to_string(warp.rows), "16-31");
  EXPECT_EQ(warp.results, 32 * 64);
  EXPECT_TRUE(warp.is_rectangle());
  const Share block = share_of_block(owners);
  EXPECT_EQ(to_string(block.rows), "0-127");
  EXPECT_EQ(block.results, 128 * 128);
  EXPECT_THROW(share_of_thread(owners, 256), InvalidArgument);
  // Dealt like cards: every second of the eight tiles in its column.
  const Share dealt = share_of_warp(tile_owners(find_rung("warp_tiles").kernels.front()), 2);
  EXPECT_EQ(to_string(dealt.rows), "0-15, 32-47, 64-79, 96-111");
  EXPECT_EQ(to_string(dealt.cols), "64-95");
  EXPECT_EQ(count_of(dealt.rows), 64);
}

}  // namespace
}  // namespace lapidary::lens
