// The simulated multiprocessor against programs whose time is known from their instructions alone.
#include "model/multiprocessor.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"

namespace lapidary::model {
namespace {

MultiprocessorConstants constants() {
  MultiprocessorConstants c;
  c.shared_latency = 30;
  c.l1_latency = 35;
  c.l2_latency = 280;
  c.dram_latency = 660;
  c.barrier_latency = 12;
  c.barrier_arrival = 2;
  c.lines_per_cycle = 1;
  c.shared_issue = 1;
  c.queue_entries = 8;
  return c;
}

constexpr MemoryShare memory = {.l2_bytes_per_cycle = 32, .dram_bytes_per_cycle = 16, .l1_hit = 0, .l2_hit = 1};

double loop_cycles(std::vector<SassInstruction> loop, int warps, int blocks = 1) {
  WarpProgram program;
  program.loop = std::move(loop);
  return simulate({program}, 100, warps, blocks, constants(), memory).loop_cycles;
}

SassInstruction fma(int even_reads = 1, int odd_reads = 1) {
  SassInstruction i;
  i.unit = Unit::fma;
  i.reads[0] = static_cast<std::uint8_t>(even_reads);
  i.reads[1] = static_cast<std::uint8_t>(odd_reads);
  return i;
}

TEST(Multiprocessor, IssuesOneInstructionASchedulerAndCycle) {
  EXPECT_NEAR(loop_cycles(std::vector(64, fma()), 4), 64, 1);
  EXPECT_NEAR(loop_cycles(std::vector(64, fma()), 8), 128, 1);
  EXPECT_NEAR(loop_cycles(std::vector(64, fma()), 8, 2), 256, 1);
}

TEST(Multiprocessor, TwoOperandsOfOneBankTakeTwoCycles) {
  EXPECT_NEAR(loop_cycles(std::vector(64, fma(2, 0)), 4), 128, 1);
}

TEST(Multiprocessor, WithHalfAsManyLanesAMultiplyAddTakesTwiceAsLong) {
  MultiprocessorConstants half = constants();
  half.fma_halves = 1;
  WarpProgram program;
  program.loop = std::vector(64, fma());
  const BlockTime time = simulate({program}, 100, 8, 1, half, memory);
  EXPECT_NEAR(time.loop_cycles, 256, 1);
  EXPECT_NEAR(time.fma, 1, 0.01);
  EXPECT_NEAR(time.issue, 0.5, 0.01);
  SassInstruction multiply;
  multiply.unit = Unit::fma_heavy;
  program.loop.insert(program.loop.end(), 64, multiply);
  EXPECT_NEAR(simulate({program}, 100, 8, 1, half, memory).loop_cycles, 512, 1) << "all of it multiplies integers";
}

TEST(Multiprocessor, SharedMemoryOfHalfTheWidthTakesTwiceAsLong) {
  MultiprocessorConstants narrow = constants();
  narrow.wavefront_cycles = 2;
  SassInstruction load;
  load.unit = Unit::shared_load;
  load.wavefronts = 4;
  WarpProgram program;
  program.loop = std::vector(16, load);
  EXPECT_NEAR(simulate({program}, 100, 8, 1, narrow, memory).loop_cycles, 2 * 16 * 4 * 8, 16);
}

// A loop of one pass overlaps with all that waits for memory behind it, which takes 40 times as long.
TEST(Multiprocessor, NothingIsBusyLongerThanAShortLoopTakes) {
  WarpProgram program;
  SassInstruction load;
  load.unit = Unit::global_load;
  load.wavefronts = 1;
  load.sectors = 32;
  load.write_barrier = 0;
  SassInstruction waits = fma();
  waits.wait = 1;
  program.loop = std::vector(32, fma());
  program.epilogue = {load, waits};
  for (const double passes : {1.0, 2.0, 5.0, 20.0, 27.0, 28.0, 100.0}) {
    const BlockTime time = simulate({program}, passes, 8, 4, constants(), memory);
    for (const double share : {time.issue, time.fma, time.tensor, time.shared, time.l1, time.l2, time.dram})
      EXPECT_LE(share, 1) << passes;
    EXPECT_GT(time.issue, 0.8) << passes;
  }
}

TEST(Multiprocessor, CComesFromDramAsFarAsL1HasItNot) {
  SassInstruction load;
  load.unit = Unit::global_load;
  load.wavefronts = 1;
  load.sectors = 4;
  load.write_barrier = 0;
  load.wait = 1;
  load.reads_c = true;
  EXPECT_NEAR(loop_cycles({load}, 1), 661 + 4, 3);
  EXPECT_NEAR(loop_cycles({load}, 32, 4), 128 * 8, 80) << "128 warps ask for 128 bytes each, of which 16 come a cycle";
}

TEST(Multiprocessor, HalfOfTheMultiplyAddPipeDoesWhatTheOtherCannot) {
  SassInstruction multiply;
  multiply.unit = Unit::fma_heavy;
  EXPECT_NEAR(loop_cycles(std::vector(64, multiply), 16), 64 * 4 * 2, 8) << "alone it leaves the other half idle";
  std::vector<SassInstruction> mixed;
  for (int group = 0; group < 16; ++group) mixed.insert(mixed.end(), {multiply, fma(), fma(), fma()});
  EXPECT_NEAR(loop_cycles(mixed, 16), 64 * 4, 8) << "with three multiply-adds, two of them beside it";
}

TEST(Multiprocessor, TensorCoresTakeTheirTimeForEachOfASchedulersWarps) {
  SassInstruction mma;
  mma.unit = Unit::tensor;
  mma.tensor_cycles = 6.25f;
  mma.stall = 4;
  EXPECT_NEAR(loop_cycles(std::vector(64, mma), 4), 64 * 6.25, 4) << "one warp a scheduler";
  EXPECT_NEAR(loop_cycles(std::vector(64, mma), 8), 2 * 64 * 6.25, 8);
  mma.stall = 8;
  EXPECT_NEAR(loop_cycles(std::vector(64, mma), 4), 64 * 8, 4) << "what the compiler says comes first";
}

TEST(Multiprocessor, ServesOneWavefrontACycle) {
  SassInstruction load;
  load.unit = Unit::shared_load;
  load.wavefronts = 4;
  EXPECT_NEAR(loop_cycles(std::vector(16, load), 8), 16 * 4 * 8, 8);
}

TEST(Multiprocessor, AChainOfLoadsWaitsForEachOfThem) {
  SassInstruction load;
  load.unit = Unit::shared_load;
  load.wavefronts = 1;
  load.write_barrier = 0;
  load.wait = 1;
  EXPECT_NEAR(loop_cycles(std::vector(10, load), 1), 300, 10);
}

TEST(Multiprocessor, LoadsFromL2TakeItsLatencyAndItsBandwidth) {
  SassInstruction load;
  load.unit = Unit::global_load;
  load.wavefronts = 1;
  load.sectors = 4;
  load.write_barrier = 0;
  load.wait = 1;
  EXPECT_NEAR(loop_cycles({load}, 1), 281 + 4, 3);
  // 64 warps ask for 128 bytes each, of which 32 come a cycle.
  EXPECT_NEAR(loop_cycles({load}, 32, 2), 64 * 4, 40);
}

// All of a step is asked for at once, and crosses from L2 behind the wait for it, not beside.
TEST(Multiprocessor, WhatIsWaitedForCrossesFromL2OnceItIsThere) {
  std::vector<SassInstruction> step(16);
  for (SassInstruction& load : step) {
    load.unit = Unit::global_load;
    load.wavefronts = 1;
    load.sectors = 16;
    load.write_barrier = 0;
  }
  step.front().wait = 1;
  WarpProgram program;
  program.loop = step;
  const auto cycles = [&](double l2_hit) {
    MemoryShare share = memory;
    share.l2_hit = l2_hit;
    return simulate({program}, 100, 1, 1, constants(), share).loop_cycles;
  };
  EXPECT_NEAR(cycles(1), 280 + 16 * 16, 5);
  EXPECT_NEAR(cycles(0.9), 660 + 16 * 16, 5) << "a tenth comes from DRAM, and all wait for it";
}

TEST(Multiprocessor, ABarrierKeepsWarpsTogether) {
  SassInstruction barrier;
  barrier.unit = Unit::barrier;
  EXPECT_NEAR(loop_cycles({barrier}, 8), 28, 2);
  EXPECT_NEAR(loop_cycles({barrier}, 32), 76, 3);
}

TEST(Multiprocessor, ABarrierThatNotAllReachIsAnError) {
  WarpProgram with, without;
  SassInstruction barrier;
  barrier.unit = Unit::barrier;
  with.share = without.share = 0.5;
  with.loop = {barrier};
  without.loop = {fma()};
  EXPECT_THROW(simulate({with, without}, 10, 8, 1, constants(), memory), Error);
}

TEST(Multiprocessor, LongLoopsAreContinuedInTheSteadyState) {
  WarpProgram program;
  program.loop = std::vector(64, fma());
  const double cycles = simulate({program}, 10000, 4, 1, constants(), memory).cycles;
  EXPECT_NEAR(cycles, 640000, 6400);
}

}  // namespace
}  // namespace lapidary::model
