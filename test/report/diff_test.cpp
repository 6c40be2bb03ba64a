#include "report/diff.hpp"

#include <gtest/gtest.h>

namespace lapidary::report {
namespace {

std::string numbers(int first, int last, int without = 0) {
  std::string text;
  for (int i = first; i <= last; ++i) {
    if (i != without) text += std::to_string(i) + "\n";
  }
  return text;
}

TEST(UnifiedDiff, OfEqualTextsIsEmpty) { EXPECT_EQ(unified_diff("a", "1\n2\n", "b", "1\n2\n"), ""); }

TEST(UnifiedDiff, ShowsContextAndLineNumbers) {
  EXPECT_EQ(unified_diff("a", numbers(1, 20), "b", numbers(1, 20, 10)),
            "--- a\n+++ b\n@@ -7,7 +7,6 @@\n 7\n 8\n 9\n-10\n 11\n 12\n 13\n");
}

TEST(UnifiedDiff, PutsOldLinesBeforeNewOnes) {
  EXPECT_EQ(unified_diff("a", "x\nold\ny\n", "b", "x\nnew\ny\n"),
            "--- a\n+++ b\n@@ -1,3 +1,3 @@\n x\n-old\n+new\n y\n");
}

TEST(UnifiedDiff, JoinsHunksWhoseContextsMeet) {
  const std::string near = unified_diff("a", numbers(1, 30), "b", numbers(1, 9) + numbers(11, 16) + numbers(18, 30));
  EXPECT_NE(near.find("@@ -7,14 +7,12 @@"), std::string::npos) << near;
  const std::string apart = unified_diff("a", numbers(1, 30), "b", numbers(1, 9) + numbers(11, 17) + numbers(19, 30));
  EXPECT_NE(apart.find("@@ -7,7 +7,6 @@"), std::string::npos) << apart;
  EXPECT_NE(apart.find("@@ -15,7 +14,6 @@"), std::string::npos) << apart;
}

TEST(UnifiedDiff, OfAnEmptyTextNamesTheLineBefore) {
  EXPECT_EQ(unified_diff("a", "", "b", "1\n"), "--- a\n+++ b\n@@ -0,0 +1 @@\n+1\n");
  EXPECT_EQ(unified_diff("a", "1\n", "b", ""), "--- a\n+++ b\n@@ -1 +0,0 @@\n-1\n");
}

}  // namespace
}  // namespace lapidary::report
