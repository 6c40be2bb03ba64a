// What holds of every predicted time, whatever the card and the problem: hardware is not beaten, more work takes no
// less, and shares are of one time.
#include "lens/explain.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "lens/ladder_roofline.hpp"
#include "model/gpu.hpp"

namespace lapidary::lens {
namespace {

constexpr double rounding = 1 + 1e-9;

Explanation explained(const KernelEntry& kernel, std::int64_t M, std::int64_t N, std::int64_t K, bool reads_c,
                      const model::Gpu& gpu) {
  const Problem problem{.kind = kernel.kind, .M = M, .N = N, .K = K, .beta = reads_c ? Factor::any : Factor::zero};
  return explain({&find_rung(kernel.rung), &kernel, problem, gpu});
}

Explanation explained(const char* rung, std::int64_t M, std::int64_t N, std::int64_t K, bool reads_c, const char* gpu) {
  return explained(find_rung(rung).kernels.front(), M, N, K, reads_c, model::find_gpu(gpu));
}

/// That no unit is busy longer than there is time, and neither DRAM nor what multiplies is faster than it can be.
void expect_possible(const Explanation& e) {
  ASSERT_TRUE(e.time) << e.no_time;
  const double kernel = e.time->seconds - e.time->launch_seconds;
  EXPECT_GE(kernel * rounding, e.least.memory_seconds);
  EXPECT_GE(kernel * rounding, e.least.compute_seconds.value());
  for (const model::BusyShare& busy : e.time->busy) EXPECT_LE(busy.share, rounding) << busy.what;
  EXPECT_LE(e.time->outside_seconds, kernel * rounding);
}

/// As many tiles of 128 x 128 as the card has multiprocessors, in rows and columns.
std::pair<int, int> tiles_for(const model::Gpu& gpu) {
  int rows = static_cast<int>(std::sqrt(gpu.sms));
  while (gpu.sms % rows != 0) --rows;
  return {rows, gpu.sms / rows};
}

// Each multiprocessor has one tile, so that none idles.
TEST(Prediction, ExceedsThePeakOfNoCard) {
  int cards = 0;
  for (const model::Gpu& gpu : model::load_gpus()) {
    const auto [rows, cols] = tiles_for(gpu);
    for (const char* const name :
         {"vectorized", "double_buffered", "multistage", "f16_padded", "mma_multistage", "wgmma_overlapped"}) {
      const Rung& rung = find_rung(name);
      const auto kernel = std::find_if(rung.kernels.begin(), rung.kernels.end(), [](const KernelEntry& known) {
        return known.tile.m == 128 && known.tile.n == 128 &&
               known.builds[static_cast<std::size_t>(Build::instrumented)];
      });
      ASSERT_NE(kernel, rung.kernels.end()) << name;
      const Explanation e = explained(*kernel, 128 * rows, 128 * cols, 512, false, gpu);
      if (!e.time) continue;
      SCOPED_TRACE(fmt::format("{} on {}", kernel->id(), gpu.name));
      ++cards;
      expect_possible(e);
    }
  }
  EXPECT_GE(cards, 70);
}

struct Case {
  const char *rung, *gpu;
  std::int64_t M, N;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.rung << " " << c.gpu << " " << c.M << " " << c.N; }

class Beta : public testing::TestWithParam<Case> {};

// K in multiples of every tile: other rows of A begin within lines of memory, which takes longer than a little more K.
TEST_P(Beta, AddsWhatReadingCTakesAndTimesGrowWithK) {
  const Case& p = GetParam();
  double last[2] = {}, reading_c = 0;  // of the K before
  for (const std::int64_t K : {64, 128, 256, 448, 1024}) {
    SCOPED_TRACE(K);
    double seconds[2] = {};
    for (const bool reads_c : {false, true}) {
      const Explanation e = explained(p.rung, p.M, p.N, K, reads_c, p.gpu);
      expect_possible(e);
      seconds[reads_c] = e.time->seconds;
      // Clocks are sought to a thousandth.
      EXPECT_GE(seconds[reads_c] * 1.001, last[reads_c]) << (reads_c ? "with C" : "without C");
      last[reads_c] = seconds[reads_c];
      if (!reads_c) continue;
      // However long the main loop is, what reads C stands behind it, unless DRAM is all that counts; the clock may
      // differ.
      if (e.time->limiter == "DRAM") continue;
      EXPECT_GT(e.time->c_seconds, 0);
      if (reading_c > 0) {
        EXPECT_NEAR(e.time->c_seconds / reading_c, 1, 0.1);
      }
      reading_c = e.time->c_seconds;
    }
    EXPECT_GT(seconds[1], seconds[0] * 1.001);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, Beta,
    testing::Values(Case{"naive", "h200", 512, 1024}, Case{"coalesced", "h200", 2048, 2048},
                    Case{"thread_tiles_2d", "h200", 2048, 2048}, Case{"conflict_free", "h100 pcie", 128, 4096},
                    Case{"double_buffered", "h200", 1536, 2048}, Case{"multistage", "a100 sxm4 80gb", 1536, 2048},
                    Case{"bulk_transposed", "h200", 1536, 2048}, Case{"split_k", "h200", 1536, 2048},
                    Case{"vectorized", "a10", 1024, 2048}, Case{"mma_multistage", "rtx 4090", 2048, 2048},
                    Case{"wgmma_tma", "h200", 1536, 2048}, Case{"wgmma_promoted", "h200", 2048, 2048},
                    Case{"wgmma_cluster", "h100 pcie", 2048, 256}));

// Of the products of K = 16 tensor cores take 6 % of the time, and most of it is storing.
TEST(Prediction, NamesWhatMostOfTheTimeGoesTo) {
  const Rung& rung = find_rung("mma_multistage");
  const auto kernel = std::find_if(rung.kernels.begin(), rung.kernels.end(),
                                   [](const KernelEntry& known) { return known.kind.result == Type::f32; });
  ASSERT_NE(kernel, rung.kernels.end());
  const auto limiter = [&](std::int64_t size, std::int64_t K) {
    return explained(*kernel, size, size, K, false, model::find_gpu("h200")).time->limiter;
  };
  EXPECT_EQ(limiter(2048, 16), model::outside_main_loop);
  EXPECT_NE(limiter(2048, 4096), model::outside_main_loop);
  EXPECT_EQ(explained("wgmma_cluster", 128, 256, 64, false, "h200").time->limiter, "launch overhead");
  const Explanation least = explained("mma_multistage", 768, 4096, 64, false, "rtx 4090");
  EXPECT_EQ(least.time->limiter, "DRAM");
  EXPECT_DOUBLE_EQ(least.time->seconds - least.time->launch_seconds, least.least.memory_seconds);
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
