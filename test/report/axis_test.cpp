#include "report/axis.hpp"

#include <gtest/gtest.h>

namespace lapidary::report {
namespace {

TEST(LogAxis, EqualRatiosAreEquallyFarApart) {
  const LogAxis axis{0.1, 1000, 500, 100};
  EXPECT_DOUBLE_EQ(axis.at(0.1), 500);
  EXPECT_DOUBLE_EQ(axis.at(1), 400);
  EXPECT_DOUBLE_EQ(axis.at(10), 300);
  EXPECT_DOUBLE_EQ(axis.at(1000), 100);
  EXPECT_EQ(axis.decades(), (std::vector<double>{0.1, 1, 10, 100, 1000}));
  EXPECT_EQ((LogAxis{0.3, 90, 0, 1}.decades()), (std::vector<double>{1, 10}));
}

TEST(Spread, MovesApartOnlyWhatMeets) {
  EXPECT_EQ(spread({0, 50, 51, 52, 100}, 10, 0, 200), (std::vector<double>{0, 41, 51, 61, 100}));
  // Runs push each other, and stay within the bounds.
  EXPECT_EQ(spread({10, 12, 24}, 10, 0, 200),
            (std::vector<double>{5.333333333333333, 15.333333333333332, 25.333333333333332}));
  EXPECT_EQ(spread({98, 99}, 10, 0, 100), (std::vector<double>{90, 100}));
  EXPECT_EQ(spread({1, 2}, 10, 0, 100), (std::vector<double>{0, 10}));
}

}  // namespace
}  // namespace lapidary::report
