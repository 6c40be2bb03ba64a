// Times, powers and clocks that can be worked out by hand.
#include "model/warpgroup_time.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"
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
  const TimePrediction time = predict_time(card(), calibration(), launch(4, 4), 1e9);
  EXPECT_NEAR(time.seconds * 1e9, l2 + epilogue + start + drain, 1);
  EXPECT_EQ(time.limiter, "the way from L2");
  WarpgroupLaunch shared_out = launch(4, 4);
  shared_out.l2_read_bytes /= 2;  // by multicast: the port of each multiprocessor is what is left, twice as wide
  EXPECT_NEAR(predict_time(card(), calibration(), shared_out, 1e9).seconds * 1e9, products + epilogue + start + drain,
              1);
  EXPECT_EQ(predict_time(card(), calibration(), shared_out, 1e9).limiter, "tensor cores");
}

TEST(WarpgroupTime, NarrowProductsWaitForTheirOperands) {
  // m64n32k16 is 16 cycles of products, and 64 + 32 rows of 32 bytes: 24 cycles of shared memory.
  WarpgroupLaunch narrow = launch(4, 4);
  narrow.l2_to_sm_bytes = narrow.l2_read_bytes = 0;
  narrow.operand_bytes = narrow.flop / (2 * 64 * 32 * 16) * (64 + 32) * 32;
  const TimePrediction time = predict_time(card(), calibration(), narrow, 1e9);
  EXPECT_NEAR(time.seconds * 1e9, products * 24 / 16 + epilogue + start + drain, 1);
  EXPECT_EQ(time.limiter, "operands from shared memory");
  narrow.added = narrow.tiles * 1000.0;
  EXPECT_NEAR((predict_time(card(), calibration(), narrow, 1e9).seconds - time.seconds) * 1e9, 1000, 1);
}

TEST(WarpgroupTime, WhatL2GivesInASecondStaysAsTheClockFalls) {
  // At half the clock products take twice as long, what comes from L2 as long as before.
  const TimePrediction slow = predict_time(card(), calibration(), launch(4, 4), 0.5e9);
  EXPECT_NEAR(slow.seconds * 1e9, 2 * (products + epilogue) + 2 * 20 + 2 * 600, 1);
  EXPECT_EQ(slow.limiter, "tensor cores");
}

TEST(WarpgroupTime, PersistentBlocksBeginOnceAndTheLastWaveIsNotFull) {
  const TimePrediction waves = predict_time(card(), calibration(), launch(10, 10), 1e9);
  const TimePrediction persistent = predict_time(card(), calibration(), launch(10, 4), 1e9);
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
  EXPECT_NEAR(predict_time(card(), measured, alone, 1e9).seconds * 1e9, 1.1 * products + epilogue + start + drain, 1);
}

TEST(Calibration, OfALineThatIsStoredIsL1sLookUpAndOfHalfSectorsWhatWasMeasured) {
  const Calibration looked_up = calibration(R"(, {"name": "l1_32_32_lines", "median": 32})");
  EXPECT_DOUBLE_EQ(looked_up.stored_line(16), 1);
  const Calibration measured = calibration(
      R"(, {"name": "l1_32_32_lines", "median": 32}, {"name": "store_8_lines", "median": 28})");
  EXPECT_DOUBLE_EQ(measured.stored_line(16), 3.5);
  EXPECT_DOUBLE_EQ(measured.stored_line(8), 3.5);
  EXPECT_DOUBLE_EQ(measured.stored_line(24), 2.25) << "as many lines of half a sector as of a whole one";
  EXPECT_DOUBLE_EQ(measured.stored_line(32), 1);
  EXPECT_DOUBLE_EQ(measured.stored_line(128), 1);
}

TEST(Calibration, AsksForAnotherConstantWhereTheFirstIsNotThereAlone) {
  EXPECT_EQ(calibration().either("l2_bytes_all", "nothing"), 32);
  EXPECT_EQ(calibration().either("nothing", "l2_bytes_all"), 32);
  EXPECT_THROW(calibration().either("nothing", "neither"), InvalidArgument);
}

TEST(Calibration, OfAnotherCardHasItsBandwidthsWhoeverAsksForThem) {
  Gpu other = card();
  other.dram_bytes_per_s = 64e9;
  other.l2_read_measured_bytes_per_s = 64e9;  // 16 bytes a cycle of each multiprocessor
  const Calibration there = calibration(R"(, {"name": "tensor_bytes_4", "median": 48})").on_card(other, other);
  EXPECT_DOUBLE_EQ(there["l2_bytes_all"], 16);
  EXPECT_DOUBLE_EQ(there["tensor_bytes_4"], 24) << "half, as of all";
}

// m16n8k16 takes 4 cycles of the four schedulers at this card's peak rate.
TEST(Calibration, OfMmaIsByOperandsThatDifferWhereThoseWereMeasured) {
  constexpr double m16n8k16 = 16 * 8 * 16;
  EXPECT_DOUBLE_EQ(calibration().mma_share(card(), Type::bf16, m16n8k16), 0.629) << "what is documented";
  const char* const same = R"(, {"name": "mma_bf16_16816", "median": 5})";
  EXPECT_DOUBLE_EQ(calibration(same).mma_share(card(), Type::bf16, m16n8k16), 4.0 / 5);
  const std::string both = std::string(same) + R"(, {"name": "mma_bf16_16816_tile", "median": 8})";
  EXPECT_DOUBLE_EQ(calibration(both.c_str()).mma_share(card(), Type::bf16, m16n8k16), 4.0 / 8);
}

TEST(WarpgroupTime, ReadsCInTheEpilogue) {
  WarpgroupLaunch launch_of_two = launch(8, 8), reads = launch_of_two;
  const auto more = [&] {
    return (predict_time(card(), calibration(), reads, 1e9).seconds -
            predict_time(card(), calibration(), launch_of_two, 1e9).seconds) *
           1e9;
  };
  reads.c_bytes = 8 * 128 * 256 * 2;
  const double from_dram = 660 - 60 + 128 * 256 * 2 / 16.0;
  EXPECT_NEAR(more(), 2 * from_dram, 1) << "two waves of four tiles";
  const TimePrediction time = predict_time(card(), calibration(), reads, 1e9);
  EXPECT_NEAR(time.c_seconds * 1e9, 2 * from_dram, 1);
  EXPECT_NEAR(time.parts->sum(), time.seconds, 1e-12);
  launch_of_two.per_sm = reads.per_sm = 2;
  EXPECT_NEAR(more(), 600 + 2 * (from_dram - 600), 1) << "one wave, of two blocks a multiprocessor that end together";
}

TEST(WarpgroupTime, BlocksOfOneMultiprocessorHideNoEpilogues) {
  WarpgroupLaunch two = launch(8, 8);
  two.per_sm = 2;
  EXPECT_NEAR(predict_time(card(), calibration(), two, 1e9).seconds * 1e9, 2 * (l2 + epilogue) + start + drain, 1);
}

TEST(WarpgroupTime, IsNoLessThanWhatHasToCrossDram) {
  WarpgroupLaunch least = launch(4, 4);
  const double before = predict_time(card(), calibration(), least, 1e9).seconds;
  least.least_seconds = 1.25 * before;
  const TimePrediction time = predict_time(card(), calibration(), least, 1e9);
  EXPECT_DOUBLE_EQ(time.seconds, 1.25 * before);
  EXPECT_NEAR(time.parts->sum(), time.seconds, 1e-12);
  EXPECT_EQ(time.busy.front().what, "DRAM");
  EXPECT_EQ(time.busy.front().share, 1);
  EXPECT_NEAR(time.busy[1].share, l2 / before * 1e-9 / 1.25, 0.01) << time.busy[1].what;
  EXPECT_EQ(time.limiter, "DRAM");
}

// 10 W idle, 1 pJ a FLOP, 5 a copied byte and 20 a byte of DRAM at 1 GHz; the voltage falls by half as much as the
// clock.
PowerModel power() {
  return PowerModel(R"({"constants": [
    {"name": "idle", "value": 10}, {"name": "voltage", "value": 0.5}, {"name": "highest_clock", "value": 1000},
    {"name": "tensor_clock", "value": 900},
    {"name": "burst_limit", "value": 130}, {"name": "burst_copies", "value": 0.4},
    {"name": "burst_limit_all", "value": 160}, {"name": "wgmma bf16 flop", "value": 1},
    {"name": "wgmma f16 flop", "value": 2}, {"name": "mma bf16 flop", "value": 3},
    {"name": "bytes into shared memory", "value": 5}, {"name": "bytes of DRAM", "value": 20}]})",
                    "test");
}

TEST(Power, IsIdleAndWhatTheCoreSwitchesAtItsVoltageAndWhatL2AndDramGive) {
  const Activity activity{{"wgmma bf16 flop", 1e12}, {"bytes of DRAM", 1e10}, {"something else", 1e20}};
  EXPECT_DOUBLE_EQ(power().watts(activity, 1e-2, 1e9), 10 + (1 + 0.2) / 1e-2);
  EXPECT_DOUBLE_EQ(power().watts(activity, 1e-2, 0.5e9), 10 + (0.75 * 0.75 + 0.2) / 1e-2);
  EXPECT_DOUBLE_EQ(power().watts({{"bytes into shared memory", 1e11}}, 1e-2, 0.5e9), 10 + 0.5 / 1e-2);
  EXPECT_DOUBLE_EQ(power().joules({{"mma f16 flop", 1e12}}, 1e9).at("mma f16 flop"), 6)
      << "of mma.sync in f16 none was measured: it is to bf16 as wgmma's";
}

// All of the time goes with the clock: a core at f takes 10 W and 150 f (0.5 + 0.5 f)^2.
double seconds_at(double clock_hz) { return 1e-2 * 1e9 / clock_hz; }
double switched(double f) { return f * (0.5 + 0.5 * f) * (0.5 + 0.5 * f); }

TEST(Power, OfTheCoreLimitsTheClockOfABurstAndThatOfTheCardWhatIsSustained) {
  // DRAM takes 20 f beside the core.
  const Activity activity{{"wgmma bf16 flop", 1.5e12}, {"bytes of DRAM", 1e10}};
  const HeldClock burst = held_clock(card(), power(), activity, Load::burst, 1e9, seconds_at);
  const HeldClock sustained = held_clock(card(), power(), activity, Load::sustained, 1e9, seconds_at);
  EXPECT_TRUE(burst.limited && sustained.limited);
  EXPECT_NEAR(10 + 150 * switched(burst.clock_hz * 1e-9), 130, 0.01);
  EXPECT_NEAR(sustained.watts, 100, 0.01);
  EXPECT_NEAR(10 + 150 * switched(sustained.clock_hz * 1e-9) + 20 * sustained.clock_hz * 1e-9, 100, 0.01);
  const HeldClock free = held_clock(card(), power(), {{"wgmma bf16 flop", 1e10}}, Load::sustained, 0.9e9, seconds_at);
  EXPECT_FALSE(free.limited);
  EXPECT_EQ(free.clock_hz, 0.9e9);
}

TEST(Power, OfCopiesCountsByAPartInABurstWhichTheWholeCardLimitsToo) {
  // Copies take 50 f, of which 0.4 count.
  const Activity copying{{"wgmma bf16 flop", 1.5e12}, {"bytes into shared memory", 1e11}};
  const double f = held_clock(card(), power(), copying, Load::burst, 1e9, seconds_at).clock_hz * 1e-9;
  EXPECT_NEAR(10 + 150 * switched(f) + 0.4 * 50 * f, 130, 0.01);
  const Activity reading{{"wgmma bf16 flop", 1e12}, {"bytes of DRAM", 4e10}};
  const HeldClock whole = held_clock(card(), power(), reading, Load::burst, 1e9, seconds_at);
  EXPECT_NEAR(whole.watts, 160, 0.01) << "its core asks for " << 10 + 100 * switched(whole.clock_hz * 1e-9);
}

}  // namespace
}  // namespace lapidary::model
