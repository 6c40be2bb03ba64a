#include "layout/bank_conflict.hpp"

#include <gtest/gtest.h>

namespace lapidary {
namespace {

TEST(BankConflict, NamesTwoLanesAndTheirBank) {
  const WarpAccess columns = warp_access<float>([](int lane) { return lane * 32; });
  EXPECT_EQ(conflict_cause(columns), "lanes 0 and 1 read different words of bank 0, 32 in all");
  const WarpAccess strided = warp_access<float>([](int lane) { return lane * 8 + 3; });
  EXPECT_EQ(conflict_cause(strided, true), "lanes 0 and 4 write different words of bank 3, 8 in all");
}

TEST(BankConflict, LanesThatShareAWordDoNotConflict) {
  EXPECT_EQ(conflict_cause(warp_access<float>([](int) { return 5; })), "");
  EXPECT_EQ(conflict_cause(warp_access<std::uint16_t>([](int lane) { return lane; })), "");
}

TEST(BankConflict, OfWideAccessesIsAmongLanesThatAreServedTogether) {
  EXPECT_EQ(conflict_cause(warp_access<float, 4>([](int lane) { return lane * 4; })), "");
  const auto conflict = find_bank_conflict(warp_access<float, 4>([](int lane) { return lane * 8; }));
  ASSERT_TRUE(conflict);
  EXPECT_EQ(conflict->ways, 2);
  EXPECT_EQ(conflict->first_lane, 0);
  EXPECT_EQ(conflict->second_lane, 4);
}

}  // namespace
}  // namespace lapidary
