#include "model/occupancy.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <set>
#include <vector>

#include "core/error.hpp"
#if LAPIDARY_WITH_CUDA_OCCUPANCY
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <cuda_occupancy.h>
#pragma GCC diagnostic pop
#endif

namespace lapidary::model {
namespace {

TEST(Occupancy, IsWhatTheRulesGiveByHand) {
  const Occupancy h200 = occupancy(find_gpu("h200"), {.threads = 384, .registers = 168, .shared_bytes = 172032});
  EXPECT_EQ(h200.blocks, 1);
  EXPECT_EQ(h200.by(Limit::warps), 5);
  EXPECT_EQ(h200.by(Limit::registers), 1);
  EXPECT_EQ(h200.by(Limit::shared_memory), 1);
  EXPECT_EQ(h200.by(Limit::blocks), 32);
  EXPECT_EQ(h200.by(Limit::barriers), 64);
  EXPECT_EQ(h200.shared_per_block, 173056);
  EXPECT_EQ(h200.limiters(), "registers and shared memory");
  EXPECT_DOUBLE_EQ(h200.fraction(), 12.0 / 64);

  const Occupancy a100 = occupancy(find_gpu("a100 40gb"), {.threads = 256, .registers = 96, .shared_bytes = 16384});
  EXPECT_EQ(a100.blocks, 2);
  EXPECT_EQ(a100.by(Limit::warps), 8);
  EXPECT_EQ(a100.by(Limit::shared_memory), 9);
  EXPECT_EQ(a100.by(Limit::barriers), Occupancy::unlimited);
  EXPECT_EQ(a100.limiters(), "registers");
  EXPECT_DOUBLE_EQ(a100.fraction(), 0.25);

  const Occupancy ada = occupancy(find_gpu("rtx 4090"), {.threads = 128, .registers = 40, .shared_bytes = 4096});
  EXPECT_EQ(ada.blocks, 12);
  EXPECT_EQ(ada.by(Limit::blocks), 24);
  EXPECT_EQ(ada.by(Limit::shared_memory), 20);
  EXPECT_EQ(ada.limiters(), "warps and registers");
  EXPECT_DOUBLE_EQ(ada.fraction(), 1);
  EXPECT_EQ(ada.reason, "");
}

TEST(Occupancy, SpellsOutHowRegistersAndSharedMemoryAreRounded) {
  // 37 x 32 = 1184 becomes 5 x 256; a quarter of 65536 is 12.8 warps of 1280.
  const Occupancy a100 = occupancy(find_gpu("a100 sxm4 80gb"), {.threads = 1024, .registers = 37});
  EXPECT_EQ(a100.registers_per_warp, 1280);
  EXPECT_EQ(a100.registers_per_block, 40960);
  EXPECT_EQ(a100.warps_by_registers, 48);
  EXPECT_EQ(a100.shared_per_block, 1024) << "what the system takes";
  EXPECT_EQ(a100.blocks_by, (std::array{2, 32, 1, 164, Occupancy::unlimited}));
  EXPECT_EQ(a100.limiters(), "registers");

  // 16001 + 1024 = 17025 becomes 134 x 128, six of which are 512 bytes too many; 16000 + 1024 is 133 x 128.
  const Gpu ada = find_gpu("rtx 4090");
  const Occupancy five = occupancy(ada, {.threads = 256, .registers = 37, .shared_bytes = 16001});
  EXPECT_EQ(five.shared_per_block, 17152);
  EXPECT_EQ(five.blocks_by, (std::array{6, 24, 6, 5, Occupancy::unlimited}));
  EXPECT_EQ(five.limiters(), "shared memory");
  EXPECT_EQ(occupancy(ada, {.threads = 256, .registers = 37, .shared_bytes = 16000}).blocks, 6);

  // 87 x 32 = 2784 becomes 11 x 256; a quarter of 65536 is 5.8 warps of 2816, so 20 in all, not the 23 that 65536 are:
  // one block of 11 warps, not two.
  const Occupancy h200 = occupancy(find_gpu("h200"),
                                   {.threads = 350, .registers = 87, .shared_bytes = 50000, .barriers = 3});
  EXPECT_EQ(h200.warps_per_block, 11);
  EXPECT_EQ(h200.registers_per_warp, 2816);
  EXPECT_EQ(h200.warps_by_registers, 20);
  EXPECT_EQ(h200.shared_per_block, 51072);
  EXPECT_EQ(h200.blocks_by, (std::array{5, 32, 1, 4, 21}));
  EXPECT_DOUBLE_EQ(h200.fraction(), 11.0 / 64);
}

TEST(Occupancy, WarpsCountAsAMultipleOfFourWhenRegistersAreChecked) {
  const Occupancy none = occupancy(find_gpu("a100 40gb"), {.threads = 800, .registers = 80});  // 64,000 registers
  EXPECT_EQ(none.blocks, 0);
  EXPECT_EQ(none.limiters(), "registers");
  EXPECT_EQ(none.reason, "an SM has 65536 registers; 25 warps count as 28 with 2560 registers each, which is 71680");
  EXPECT_EQ(none.fraction(), 0);
}

TEST(Occupancy, AKibibyteOfSharedMemoryIsReservedForEachBlock) {
  const Gpu gpu = find_gpu("rtx 3090");  // 100 KiB
  EXPECT_EQ(occupancy(gpu, {.threads = 32, .shared_bytes = 48 * 1024}).blocks, 2);
  EXPECT_EQ(occupancy(gpu, {.threads = 32, .shared_bytes = 50 * 1024}).blocks, 1);
}

// A source prints 4096 registers for the block; they are 32 warps of 1280 registers.
TEST(Occupancy, A1024ThreadBlockOf37RegistersIsAlone) {
  for (const char* name : {"rtx 3090", "a100 40gb", "h200"}) {
    const Occupancy one = occupancy(find_gpu(name), {.threads = 1024, .registers = 37, .shared_bytes = 8192});
    EXPECT_EQ(one.blocks, 1) << name;
    EXPECT_EQ(one.registers_per_block, 40960) << name;
    EXPECT_TRUE(one.is_limiter(Limit::registers)) << name;
    EXPECT_GT(one.by(Limit::shared_memory), 1) << name;
  }
  EXPECT_EQ(occupancy(find_gpu("rtx 3090"), {.threads = 1024, .registers = 37}).limiters(), "warps and registers");
  EXPECT_EQ(occupancy(find_gpu("h200"), {.threads = 64, .registers = 32}).limiters(), "warps, blocks and registers");
}

// A source takes two tiles of 32 x 8 floats for 32 KiB.
TEST(Occupancy, TwoTilesOf32By8FloatsAreNoLimit) {
  const Occupancy tiles = occupancy(find_gpu("rtx 3090"), {.threads = 1024, .registers = 32, .shared_bytes = 2048});
  EXPECT_EQ(tiles.by(Limit::shared_memory), 33);
  EXPECT_FALSE(tiles.is_limiter(Limit::shared_memory));
}

TEST(Occupancy, SaysWhyNothingFits) {
  const Gpu gpu = find_gpu("h200");
  EXPECT_EQ(occupancy(gpu, {.threads = 1025}).reason, "a block has at most 1024 threads; this one has 1025");
  EXPECT_EQ(occupancy(gpu, {.threads = 32, .registers = 256}).reason,
            "a thread has at most 255 registers; this one has 256");
  EXPECT_EQ(occupancy(gpu, {.threads = 32, .shared_bytes = 227 * 1024 + 1}).reason,
            "a block has at most 232448 bytes of shared memory; this one has 232449");
  EXPECT_EQ(occupancy(gpu, {.threads = 32, .barriers = 17}).reason, "a block has at most 16 barriers; this one has 17");
  EXPECT_EQ(occupancy(gpu, {.threads = 2147483647, .registers = 2147483647, .shared_bytes = 2147483647}).blocks, 0);
  EXPECT_THROW(occupancy(gpu, {.threads = 0}), InvalidArgument);
  EXPECT_THROW(occupancy(gpu, {.threads = 32, .registers = -1}), InvalidArgument);
  EXPECT_THROW(occupancy(gpu, {.threads = 32, .shared_bytes = -1}), InvalidArgument);
  EXPECT_THROW(occupancy(gpu, {.threads = 32, .barriers = -1}), InvalidArgument);
}

TEST(Occupancy, SaysOfEachLimitWhyNothingFits) {
  const Occupancy none = occupancy(find_gpu("rtx 4090"), {.threads = 1024, .registers = 65, .shared_bytes = 102400});
  EXPECT_EQ(none.blocks_by, (std::array{1, 24, 0, 0, Occupancy::unlimited}));
  EXPECT_EQ(none.reason_by(Limit::warps), "");
  EXPECT_EQ(none.reason_by(Limit::registers),
            "an SM has 65536 registers; 32 warps count as 32 with 2304 registers each, which is 73728");
  EXPECT_EQ(none.reason_by(Limit::shared_memory),
            "a block has at most 101376 bytes of shared memory; this one has 102400");
}

using Steps = std::vector<std::array<int, 4>>;

Steps steps_over(const char* gpu, const BlockResources& block, Quantity quantity) {
  Steps steps;
  for (const OccupancyStep& s : occupancy_over(find_gpu(gpu), block, quantity))
    steps.push_back({s.first, s.last, s.blocks, s.warps});
  return steps;
}

TEST(OccupancyOver, RegistersFallsInStepsOf8AThread) {
  EXPECT_EQ(steps_over("a100 40gb", {.threads = 256}, Quantity::registers), (Steps{{1, 32, 8, 64},
                                                                                   {33, 40, 6, 48},
                                                                                   {41, 48, 5, 40},
                                                                                   {49, 64, 4, 32},
                                                                                   {65, 80, 3, 24},
                                                                                   {81, 128, 2, 16},
                                                                                   {129, 255, 1, 8}}));
  EXPECT_EQ(steps_over("rtx 4090", {.threads = 1024}, Quantity::registers), (Steps{{1, 64, 1, 32}, {65, 255, 0, 0}}));
}

// A kibibyte of each block's share is the system's; the last block may have 227 of 228 KiB.
TEST(OccupancyOver, SharedMemoryIsWhatAFractionOfTheSmLeaves) {
  EXPECT_EQ(steps_over("h200", {.threads = 512, .registers = 32}, Quantity::shared_bytes),
            (Steps{{0, 57344, 4, 64}, {57345, 76800, 3, 48}, {76801, 115712, 2, 32}, {115713, 232448, 1, 16}}));
}

TEST(OccupancyOver, ThreadsIsASawThatWholeBlocksCut) {
  const Steps steps = steps_over("rtx 4090", {.threads = 7, .registers = 40}, Quantity::threads);
  ASSERT_EQ(steps.size(), 32u);
  EXPECT_EQ(steps[0], (std::array{1, 32, 24, 24})) << "24 blocks at most";
  EXPECT_EQ(steps[15], (std::array{481, 512, 3, 48}));
  EXPECT_EQ(steps[16], (std::array{513, 544, 2, 34}));
  EXPECT_EQ(steps[31], (std::array{993, 1024, 1, 32}));
}

TEST(OccupancyOver, EveryStepIsWhatBlocksAtItsEndsGet) {
  for (const Gpu& gpu : load_gpus())
    for (const Quantity quantity : {Quantity::registers, Quantity::shared_bytes, Quantity::threads}) {
      SCOPED_TRACE(gpu.name);
      const BlockResources block{.threads = 224, .registers = 70, .shared_bytes = 11111};
      const std::vector<OccupancyStep> steps = occupancy_over(gpu, block, quantity);
      for (std::size_t i = 0; i < steps.size(); ++i) {
        for (const int value : {steps[i].first, steps[i].last}) {
          BlockResources at = block;
          (quantity == Quantity::registers ? at.registers
           : quantity == Quantity::threads ? at.threads
                                           : at.shared_bytes) = value;
          EXPECT_EQ(occupancy(gpu, at).blocks, steps[i].blocks) << value;
          EXPECT_EQ(occupancy(gpu, at).warps(), steps[i].warps) << value;
        }
        if (i == 0) continue;
        EXPECT_EQ(steps[i].first, steps[i - 1].last + 1);
        EXPECT_TRUE(steps[i].blocks != steps[i - 1].blocks || steps[i].warps != steps[i - 1].warps);
      }
      EXPECT_EQ(steps.back().last, quantity == Quantity::registers ? 255
                                   : quantity == Quantity::threads ? 1024
                                                                   : gpu.shared_bytes_per_block);
    }
}

TEST(Occupancy, AgreesWithTheHeaderOfTheCudaToolkitOnRandomBlocks) {
#if LAPIDARY_WITH_CUDA_OCCUPANCY
  std::mt19937 random{20};
  const auto up_to = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most + 1)); };
  std::set<int> capabilities;
  int none = 0, several = 0, by_barriers = 0;
  constexpr int samples = 20000;
  for (const Gpu& gpu : load_gpus()) {
    if (!capabilities.insert(gpu.compute_capability).second) continue;
    cudaOccDeviceProp properties;
    properties.computeMajor = gpu.compute_capability / 10;
    properties.computeMinor = gpu.compute_capability % 10;
    properties.maxThreadsPerBlock = 1024;
    properties.maxThreadsPerMultiprocessor = gpu.max_threads_per_sm;
    properties.regsPerBlock = properties.regsPerMultiprocessor = gpu.registers_per_sm;
    properties.warpSize = 32;
    properties.sharedMemPerBlock = 48 * 1024;
    properties.sharedMemPerMultiprocessor = static_cast<std::size_t>(gpu.shared_bytes_per_sm);
    properties.numSms = gpu.sms;
    properties.sharedMemPerBlockOptin = static_cast<std::size_t>(gpu.shared_bytes_per_block);
    properties.reservedSharedMemPerBlock = static_cast<std::size_t>(gpu.shared_reserved_per_block);
    for (int sample = 0; sample < samples; ++sample) {
      // 256 registers pass that header, against the documented limit.
      const int registers = up_to(3) ? up_to(255) : 257 + up_to(20);
      const int shared = up_to(2) ? up_to(20000) : up_to(gpu.shared_bytes_per_block + 3000);
      const BlockResources block{1 + up_to(up_to(1) ? 1100 : 128), up_to(4) ? registers : 0, up_to(3) ? shared : 0,
                                 up_to(1) ? 1 : up_to(16)};
      cudaOccFuncAttributes attributes;
      attributes.maxThreadsPerBlock = 1024;
      attributes.numRegs = block.registers;
      attributes.sharedSizeBytes = static_cast<std::size_t>(up_to(block.shared_bytes));
      attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
      attributes.maxDynamicSharedSizeBytes = static_cast<std::size_t>(block.shared_bytes) - attributes.sharedSizeBytes;
      attributes.numBlockBarriers = block.barriers;
      const cudaOccDeviceState state;
      cudaOccResult expected{};
      ASSERT_EQ(cudaOccMaxActiveBlocksPerMultiprocessor(&expected, &properties, &attributes, &state, block.threads,
                                                        attributes.maxDynamicSharedSizeBytes),
                CUDA_OCC_SUCCESS);
      const Occupancy ours = occupancy(gpu, block);
      ASSERT_EQ(ours.blocks, expected.activeBlocksPerMultiprocessor)
          << gpu.name << ": threads " << block.threads << ", registers " << block.registers << ", shared "
          << block.shared_bytes << ", barriers " << block.barriers;
      ASSERT_EQ(ours.by(Limit::registers), expected.blockLimitRegs) << gpu.name << " " << block.registers;
      ASSERT_EQ(ours.by(Limit::warps), expected.blockLimitWarps) << gpu.name;
      ASSERT_EQ(ours.by(Limit::shared_memory), expected.blockLimitSharedMem) << gpu.name << " " << block.shared_bytes;
      ASSERT_EQ(ours.by(Limit::blocks), expected.blockLimitBlocks) << gpu.name;
      ASSERT_EQ(ours.blocks == 0, !ours.reason.empty()) << ours.reason;
      none += ours.blocks == 0;
      several += ours.blocks > 1;
      by_barriers += ours.blocks > 0 && ours.limiters() == "barriers";
    }
  }
  EXPECT_EQ(capabilities, (std::set<int>{70, 75, 80, 86, 89, 90, 100, 120}));
  EXPECT_GT(none, samples / 2);
  EXPECT_GT(several, samples);
  EXPECT_GT(by_barriers, 100);
#else
  GTEST_SKIP() << "cuda_occupancy.h was not found";
#endif
}

}  // namespace
}  // namespace lapidary::model
