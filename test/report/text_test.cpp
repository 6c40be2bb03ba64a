#include "report/text.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace lapidary::report {
namespace {

TEST(Numbers, HaveSeparators) {
  EXPECT_EQ(with_separators(0), "0");
  EXPECT_EQ(with_separators(999), "999");
  EXPECT_EQ(with_separators(1000), "1,000");
  EXPECT_EQ(with_separators(std::numeric_limits<std::uint64_t>::max()), "18,446,744,073,709,551,615");
}

TEST(Numbers, InShortHaveThreeDigits) {
  EXPECT_EQ(in_short(9999), "9,999");
  EXPECT_EQ(in_short(10000), "10.0K");
  EXPECT_EQ(in_short(16777216), "16.8M");
  EXPECT_EQ(in_short(999499), "999K");
  EXPECT_EQ(in_short(999500), "1.00M");
  EXPECT_EQ(in_short(9994999), "9.99M");
  EXPECT_EQ(in_short(9995000), "10.0M");
  EXPECT_EQ(in_short(std::numeric_limits<std::uint64_t>::max()), "18.4E");
}

TEST(Text, IsMeasuredInLetters) {
  EXPECT_EQ(display_width("abc"), 3);
  EXPECT_EQ(display_width("\u00b5s \u00d7"), 4);
  EXPECT_EQ(cut("\u00d7\u00d7\u00d7\u00d7\u00d7", 4), "\u00d7...");
  EXPECT_EQ(cut("abcd", 4), "abcd");
}

TEST(Text, IsBrokenBetweenWords) {
  EXPECT_EQ(wrap("one two three", 7), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(wrap("abcdefgh i", 3), (std::vector<std::string>{"abc", "def", "gh", "i"}));
  EXPECT_EQ(wrap("", 3), (std::vector<std::string>{""}));
  EXPECT_EQ(paragraph("one two three", 9), "one two\n  three\n");
}

}  // namespace
}  // namespace lapidary::report
