// What holds of every predicted time, whatever the card and the problem.
#include "lens/explain.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include "lens/ladder_roofline.hpp"
#include "model/gpu.hpp"

namespace lapidary::lens {
namespace {

Explanation explained(const KernelEntry& kernel, std::int64_t M, std::int64_t N, std::int64_t K, bool reads_c,
                      const model::Gpu& gpu) {
  const Problem problem{.kind = kernel.kind, .M = M, .N = N, .K = K, .beta = reads_c ? Factor::any : Factor::zero};
  return explain({&find_rung(kernel.rung), &kernel, problem, gpu});
}

Explanation explained(const char* rung, std::int64_t M, std::int64_t N, std::int64_t K, bool reads_c, const char* gpu) {
  return explained(find_rung(rung).kernels.front(), M, N, K, reads_c, model::find_gpu(gpu));
}

// The tensor rates of a B200 are those of tcgen05.
TEST(Prediction, IsNotMadeByRatesThatNobodyKnows) {
  const Explanation e = explained("mma_multistage", 256, 384, 64, false, "b200");
  EXPECT_FALSE(e.time);
  EXPECT_FALSE(e.least.compute_seconds);
  EXPECT_EQ(e.no_time, "no source states the rate of mma.sync bf16 on B200: those of its data sheet are of tcgen05");
  EXPECT_TRUE(e.executed) << "what its warps execute is known";
  EXPECT_TRUE(explained("multistage", 256, 384, 64, false, "b200").time);
  EXPECT_TRUE(explained("mma_multistage", 256, 384, 64, false, "rtx 5090").time) << "mma.sync is all that it has";
  for (const RooflineEntry& entry : roofline(model::find_gpu("b200"), 4096, "burst").entries)
    EXPECT_EQ(entry.peak_is, "f32") << entry.kernel->id();
}

}  // namespace
}  // namespace lapidary::lens
