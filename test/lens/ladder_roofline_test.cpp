#include "lens/ladder_roofline.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "model/gpu.hpp"

namespace lapidary::lens {
namespace {

// The roof of a kernel that bandwidth limits lies on the slanted line of that memory: where intensity times bandwidth
// is the rate. One test for two claims, as what both ask for takes seconds.
TEST(Roofline, IsTheLeastThatAMemoryAllowsAndAboveAllThatWasMeasured) {
  const model::Gpu gpu = model::find_gpu("h200");
  const std::vector<KernelIntensity> kernels = kernel_intensities(gpu);
  const Roofline h200 = roofline(gpu, kernels, 4096, "burst");
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

  const std::pair<std::int64_t, const char*> measured[] = {{4096, "burst"}, {4096, "sustained"}, {8192, "burst"}};
  for (const auto& [size, mode] : measured) {
    int count = 0;
    for (const RooflineEntry& e : roofline(gpu, kernels, size, mode).entries) {
      if (!e.measured) continue;
      ++count;
      EXPECT_LT(*e.measured, e.roof) << e.kernel->id() << ", " << size << ", " << mode;
    }
    EXPECT_GE(count, 26) << size << ", " << mode;
  }
  for (const RooflineEntry& e : roofline(gpu, kernels, 48, "burst").entries) EXPECT_FALSE(e.measured);
}

}  // namespace
}  // namespace lapidary::lens
