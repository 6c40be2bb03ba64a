#include "lens/coalescing_view.hpp"

#include <gtest/gtest.h>

namespace lapidary::lens {
namespace {

WarpAccess access_of(unsigned bytes_apart) {
  WarpAccess access{{}, ~0u, 4};
  for (unsigned lane = 0; lane < 32; ++lane) access.address[lane] = lane * bytes_apart;
  return access;
}

TEST(CoalescingView, IsWastefulWhereFewerSectorsWouldDo) {
  EXPECT_FALSE(is_wasteful(access_of(4)));
  EXPECT_EQ(coalescing_verdict(access_of(4)), "4 sectors in 1 line for 128 bytes, the minimum");
  EXPECT_TRUE(is_wasteful(access_of(128)));
  EXPECT_EQ(coalescing_efficiency(access_of(128)), 0.125);
  EXPECT_EQ(coalescing_verdict(access_of(128)),
            "32 sectors in 32 lines for 128 bytes, which 4 sectors could hold: 12.5 % of what is moved is wanted");
  EXPECT_FALSE(is_wasteful(WarpAccess{{}, 0, 4})) << "nothing is moved";
}

}  // namespace
}  // namespace lapidary::lens
