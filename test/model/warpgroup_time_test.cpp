// Times and energies that can be worked out by hand.
#include "model/warpgroup_time.hpp"

#include <gtest/gtest.h>

#include "model/energy.hpp"

namespace lapidary::model {
namespace {

// A card with 4 multiprocessors of 4096 FLOP and 128 bytes of shared memory a cycle, at 1 GHz.
Gpu card() {
  Gpu gpu;
  gpu.name = "card";
  gpu.compute_capability = 90;
  gpu.sms = 4;
  gpu.clock_hz = 1e9;
  gpu.shared_bytes_per_clk = 128;
  gpu.tensor_bf16_flop_per_clk = 4096;
  gpu.power_limit_w = 100;
  return gpu;
}

Calibration calibration(const char* more = "") {
  return Calibration(std::string(R"({"constants": [
    {"name": "launch_gap", "median": 0}, {"name": "dram_latency", "median": 600}, {"name": "barrier_4", "median": 20},
    {"name": "l2_bytes_all", "median": 32}, {"name": "l2_bytes_one", "median": 64},
    {"name": "dram_bytes_all", "median": 16})") +
                         more + "]}",
                     "test");
}

// Tiles of 128 x 256 and K = 4096 in bf16 by m64n256k16, each operand from L2 once for each tile.
WarpgroupLaunch launch(std::int64_t tiles, std::int64_t blocks) {
  const double count = static_cast<double>(tiles);
  WarpgroupLaunch launch;
  launch.tiles = tiles;
  launch.blocks = blocks;
  launch.flop = count * 2 * 128 * 256 * 4096;
  launch.flop_per_clk = 4096;
  launch.operand_bytes = count * 2 * 256 * (64 + 256) * 32;  // two warpgroups, 256 steps of 16
  launch.l2_to_sm_bytes = launch.l2_read_bytes = count * (128 + 256) * 4096 * 2;
  launch.dram_bytes = count * 1e5;
  launch.result_bytes = count * 128 * 256 * 2;
  return launch;
}

// Products take 65,536 cycles, operands 40,960, what comes from L2 98,304.
constexpr double l2 = 98304, products = 65536, epilogue = 512, start = 620, drain = 600;

TEST(WarpgroupTime, IsThatOfTheSlowestPart) {
  const TimePrediction time = predict_time(card(), calibration(), launch(4, 4));
  EXPECT_NEAR(time.seconds * 1e9, l2 + epilogue + start + drain, 1);
  EXPECT_EQ(time.limiter, "the way from L2");
  WarpgroupLaunch shared_out = launch(4, 4);
  shared_out.l2_read_bytes /= 2;  // by multicast: the port of each multiprocessor is what is left, twice as wide
  EXPECT_NEAR(predict_time(card(), calibration(), shared_out).seconds * 1e9, products + epilogue + start + drain, 1);
  EXPECT_EQ(predict_time(card(), calibration(), shared_out).limiter, "tensor cores");
}

TEST(WarpgroupTime, NarrowProductsWaitForTheirOperands) {
  // m64n32k16 is 16 cycles of products, and 64 + 32 rows of 32 bytes: 24 cycles of shared memory.
  WarpgroupLaunch narrow = launch(4, 4);
  narrow.l2_to_sm_bytes = narrow.l2_read_bytes = 0;
  narrow.operand_bytes = narrow.flop / (2 * 64 * 32 * 16) * (64 + 32) * 32;
  const TimePrediction time = predict_time(card(), calibration(), narrow);
  EXPECT_NEAR(time.seconds * 1e9, products * 24 / 16 + epilogue + start + drain, 1);
  EXPECT_EQ(time.limiter, "shared memory");
  narrow.filled_bytes = narrow.tiles * 128 * 1000.0;
  EXPECT_NEAR((predict_time(card(), calibration(), narrow).seconds - time.seconds) * 1e9, 1000, 1);
}

TEST(WarpgroupTime, PersistentBlocksBeginOnceAndTheLastWaveIsNotFull) {
  const TimePrediction waves = predict_time(card(), calibration(), launch(10, 10));
  const TimePrediction persistent = predict_time(card(), calibration(), launch(10, 4));
  // The last wave has two tiles: all multiprocessors' share of L2 for half of them, as much as their ports take.
  EXPECT_NEAR(persistent.seconds * 1e9, 2 * (l2 + epilogue) + products + epilogue + start + drain, 1);
  EXPECT_NEAR((waves.seconds - persistent.seconds) * 1e9, 2 * start, 1);
  EXPECT_EQ(persistent.waves.count, 3);
  EXPECT_DOUBLE_EQ(persistent.waves.last, 0.5);
}

TEST(WarpgroupTime, TakesAMeasuredRateWhereThereIsOne) {
  WarpgroupLaunch alone = launch(4, 4);
  alone.l2_to_sm_bytes = alone.l2_read_bytes = 0;
  const Calibration measured = calibration(R"(, {"name": "wgmma_n256", "median": 140.8})");
  EXPECT_NEAR(predict_time(card(), measured, alone).seconds * 1e9, 1.1 * products + epilogue + start + drain, 1);
}

TEST(Energy, SetsTheTimeAtThePowerLimit) {
  const EnergyRates rates{1e-12, 20e-12, ""};
  const Energy e = energy(card(), rates, 1e12, 1e10, 6e-3);
  EXPECT_DOUBLE_EQ(e.tensor_joules, 1);
  EXPECT_DOUBLE_EQ(e.moved_joules, 0.2);
  EXPECT_DOUBLE_EQ(e.seconds, 0.012) << "1.2 J at 100 W";
  EXPECT_DOUBLE_EQ(energy(card(), rates, 1e12, 1e10, 0.1).seconds, 0.1) << "slow work does not reach the limit";
}

// Where the rates come from: cuBLAS, bf16 at 8192^3, 12.2 GB into the SMs, holds 670 TFLOP/s on an H200; and a kernel
// with tiles of 256 x 192, which moves 10.1 GB, held 688 to 690, without being part of it.
TEST(Energy, OfAnH200IsThatOfCublasAndTellsOfLargerTiles) {
  const Gpu h200 = find_gpu("h200");
  const auto rates = energy_rates(h200, "bf16");
  ASSERT_TRUE(rates);
  const double flop = 2.0 * 8192 * 8192 * 8192;
  const auto sustained = [&](double bytes) { return flop / energy(h200, *rates, flop, bytes, 1e-3).seconds * 1e-12; };
  EXPECT_NEAR(sustained(12.2e9), 670, 5);
  EXPECT_NEAR(sustained(10.1e9), 689, 14);
  EXPECT_FALSE(energy_rates(find_gpu("v100 sxm2 16gb"), "bf16"));
}

}  // namespace
}  // namespace lapidary::model
