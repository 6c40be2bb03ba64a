#include "report/progress.hpp"

#include <gtest/gtest.h>

#include <cstdio>

namespace lapidary::report {
namespace {

TEST(Progress, LineShowsTheShare) {
  EXPECT_EQ(progress_line("step", 0.5, 3.4), "step  [####################                    ]  50 %  3 s");
  EXPECT_EQ(progress_line("step", 1, 12), "step  [########################################]  100 %  12 s");
  EXPECT_EQ(progress_line("step", -1, 12), "step  12 s");
}

TEST(Progress, WritesNothingToAFile) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  {
    Progress progress(file);
    progress.update("step", 0.5);
  }
  EXPECT_EQ(std::ftell(file), 0);
  std::fclose(file);
}

}  // namespace
}  // namespace lapidary::report
