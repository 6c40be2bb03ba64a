#include "lens/ladder_roofline.hpp"

#include <gtest/gtest.h>

#include "model/gpu.hpp"

namespace lapidary::lens {
namespace {

// The roof of a kernel that bandwidth limits lies on the slanted line of that memory: where intensity times bandwidth
// is the rate.
TEST(Roofline, IsTheLeastThatAMemoryAllows) {
  const Roofline h200 = roofline(model::find_gpu("h200"), 4096, "burst");
  ASSERT_FALSE(h200.entries.empty());
  for (const RooflineEntry& e : h200.entries) {
    ASSERT_TRUE(e.l1_intensity);
    const double by_l1 = h200.ceilings.shared_bytes_per_s * *e.l1_intensity;
    EXPECT_LE(e.roof, by_l1 * (1 + 1e-12)) << e.rung->name();
    if (e.roof_is == "L1") {
      EXPECT_DOUBLE_EQ(e.roof, by_l1) << e.rung->name();
    }
  }
  // 33 lines of 128 bytes, 32 of A and one of B, for 32 multiply-adds.
  EXPECT_DOUBLE_EQ(*h200.entries.front().l1_intensity, 64.0 / (33 * 128));
}

}  // namespace
}  // namespace lapidary::lens
