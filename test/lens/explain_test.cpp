// Figures of explanations that can be worked out by hand. No two of M, N and K are alike.
#include "lens/explain.hpp"

#include <gtest/gtest.h>

#include <string>

#include "model/gpu.hpp"

namespace lapidary::lens {
namespace {

struct Problem {
  std::int64_t M, N, K;
};

Explanation explained(const char* kernel, const char* tile, const Problem& p, const char* gpu, bool reads_c = false) {
  const Rung& rung = find_rung(kernel);
  return explain(
      {&rung, &rung.variant(rung.variants.front().kind, tile), p.M, p.N, p.K, reads_c, model::find_gpu(gpu)});
}

// 512 x 1024 x 256: A, B, C and D are (512 x 256 + 256 x 1024 + 2 x 512 x 1024) x 4 = 5,767,168 bytes, and 2 x 512 x
// 1024 x 256 = 268,435,456 FLOP.
TEST(LeastTime, IsBytesOverDramAndFlopOverCudaCores) {
  const LeastTime a100 = explained("vectorized", "128x128x8", {512, 1024, 256}, "a100 pcie 80gb", true).least;
  EXPECT_FALSE(a100.dram_measured);
  EXPECT_NEAR(a100.memory_seconds, 2.9805e-6, 1e-10);  // at 1935 GB/s
  EXPECT_EQ(a100.peak.name, "f32");
  ASSERT_TRUE(a100.compute_seconds);
  EXPECT_NEAR(*a100.compute_seconds, 13.772e-6, 1e-9);  // at 108 x 64 x 2 x 1.41 GHz = 19.49 TFLOP/s

  const LeastTime h200 = explained("vectorized", "128x128x8", {512, 1024, 256}, "h200", true).least;
  EXPECT_TRUE(h200.dram_measured);
  EXPECT_NEAR(h200.memory_seconds, 1.2620e-6, 1e-10);  // at the 4570 GB/s that a read loop reached
}

TEST(LeastTime, IsOverTensorCoresWhereTheyMultiply) {
  const Explanation a100 = explained("mma_tiles", "128x128x32", {128, 256, 64}, "a100 pcie 80gb");
  EXPECT_EQ(a100.least.peak.name, "mma.sync bf16");
  ASSERT_TRUE(a100.least.compute_seconds);
  EXPECT_NEAR(*a100.least.compute_seconds, 1.3449e-8, 1e-12);  // 4,194,304 FLOP at 108 x 2048 x 1.41 GHz
  const Explanation v100 = explained("mma_tiles", "128x128x32", {128, 256, 64}, "v100 sxm2 16gb");
  EXPECT_EQ(v100.least.peak.flops, 0) << "no bf16 there";
  EXPECT_FALSE(v100.least.compute_seconds);
}

}  // namespace
}  // namespace lapidary::lens
