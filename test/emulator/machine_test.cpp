// What the emulated machine promises of warps and blocks. Kernels that are sound on a GPU run in every build that there
// is, and on a GPU too where there is one: what is expected of both is one thing.
#include "emulator/machine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "core/error.hpp"
#include "device/device.hpp"
#include "target.hpp"

namespace lapidary::test {
namespace plain {
TestKernels machine_kernels();
}
namespace instrumented {
TestKernels machine_kernels();
}
namespace gpu {
TestKernels machine_kernels();
}

namespace {

const Target targets[] = {
    {"plain", plain::machine_kernels},
    {"plain_one_thread", plain::machine_kernels, {.threads = 1}},
    {"plain_random_order", plain::machine_kernels, {.seed = 1}},
#if LAPIDARY_WITH_INSTRUMENTED
    {"checked", instrumented::machine_kernels, {.count = true, .check = true}},
    {"checked_random_order", instrumented::machine_kernels, {.count = true, .check = true, .seed = 2}},
#endif
#if LAPIDARY_WITH_CUDA
    {"gpu", gpu::machine_kernels, {}, true},
#endif
};

class Machine : public OnTargets {};

INSTANTIATE_TEST_SUITE_P(On, Machine, testing::ValuesIn(targets), name_of_target);

std::vector<int> random_ints(std::size_t size, int below = 1000) {
  std::mt19937 random(1);
  std::vector<int> values(size);
  for (int& value : values) value = static_cast<int>(random() % static_cast<unsigned>(below));
  return values;
}

TEST_P(Machine, NumbersThreadsInThreeDimensionsAndCutsWarpsOf32) {
  for (const Extent3 block : {Extent3(32), Extent3(33), Extent3(1000), Extent3(31, 3), Extent3(5, 10, 20)}) {
    const LaunchShape shape = {"indices", {2, 3, 2}, block};
    const int threads = static_cast<int>(block.x * block.y * block.z), total = 12 * threads;
    auto a = array(std::vector<int>(total)), b = a;
    run("indices", shape, a.data(), b.data());
    const std::vector<int> coordinates = a.content(), lanes = b.content();
    for (int i = 0; i < total; ++i) {
      const int t = i % threads, x = static_cast<int>(block.x), y = static_cast<int>(block.y);
      ASSERT_EQ(coordinates[i], t % x | t / x % y << 10 | t / x / y << 20) << "thread " << t;
      const int lanes_of_warp = std::min(32, threads - t / 32 * 32);
      ASSERT_EQ(static_cast<unsigned>(lanes[i]), 0xffffffffu >> (32 - lanes_of_warp)) << "thread " << t;
    }
  }
}

TEST_P(Machine, BarriersDoNotWaitForThreadsThatReturned) {
  const std::vector<int> values = random_ints(1000);
  for (const int n : {1, 31, 32, 33, 999, 1000}) {
    auto a = array(values), b = array(std::vector<int>(1000));
    run("early_return", a.data(), b.data(), nullptr, n);
    std::vector<int> expected(values.begin(), values.begin() + n);
    std::reverse(expected.begin(), expected.end());
    expected.resize(1000);
    EXPECT_EQ(b.content(), expected) << n;
  }
}

TEST_P(Machine, BlocksVote) {
  for (const int ones : {0, 1, 40, 95, 96}) {
    std::vector<int> votes(96);
    std::fill_n(votes.rbegin(), ones, -7);
    auto a = array(votes), b = a, c = a;
    run("block_votes", a.data(), b.data(), c.data());
    EXPECT_EQ(b.content(), std::vector<int>(96, ones));
    EXPECT_EQ(c.content(), std::vector<int>(96, (ones > 0 ? 1 : 0) | (ones == 96 ? 2 : 0))) << ones;
  }
}

TEST_P(Machine, NamedBarriersHandOverBetweenWarps) {
  constexpr int rounds = 50;
  const std::vector<int> values = random_ints(32 * rounds);
  auto a = array(values), b = array(std::vector<int>(values.size()));
  run("producer_consumer", a.data(), b.data(), nullptr, rounds);
  const std::vector<int> taken = b.content();
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(taken[i], 2 * values[i / 32 * 32 + 31 - i % 32]) << i;
}

TEST_P(Machine, NamedBarriersCountShortWarpsAsWhole) {
  const std::vector<int> values = random_ints(33);
  auto a = array(values), b = array(std::vector<int>(33));
  run("short_warp", a.data(), b.data());
  EXPECT_EQ(b.content(), std::vector<int>(values.rbegin(), values.rend()));
}

// The lane that shfl.sync reads (PTX ISA, "shfl.sync"), or the lane itself where its source is out of range.
int source_lane(int mode, int lane, int operand, int width) {
  const int first = lane & ~(width - 1), last = first + width - 1;
  switch (mode) {
    case 0: return first | (operand & (width - 1));
    case 1: return lane - operand >= first ? lane - operand : lane;
    case 2: return lane + operand <= last ? lane + operand : lane;
    default: return (lane ^ operand) <= last ? lane ^ operand : lane;
  }
}

TEST_P(Machine, ShufflesInAllModesAndWidths) {
  const std::vector<int> values = random_ints(32);
  for (int width = 1; width <= 32; width *= 2) {
    for (const int operand : {0, 1, 2, 5, 8, 16, 31}) {
      auto a = array(values), b = array(std::vector<int>{operand}), c = array(std::vector<int>(128));
      run("shuffles", a.data(), b.data(), c.data(), width);
      const std::vector<int> got = c.content();
      for (int mode = 0; mode < 4; ++mode)
        for (int lane = 0; lane < 32; ++lane)
          ASSERT_EQ(got[mode * 32 + lane], values[source_lane(mode, lane, operand, width)])
              << "mode " << mode << " width " << width << " operand " << operand << " lane " << lane;
    }
  }
}

TEST_P(Machine, ShufflesMove64Bits) {
  std::vector<long long> values(32), rotated(32);
  for (int i = 0; i < 32; ++i) values[i] = (1ll << 45) + i;
  for (int i = 0; i < 32; ++i) rotated[i] = values[(i + 13) % 32];
  auto a = array(values), b = a, c = a;
  run("wide_shuffles", a.data(), b.data(), c.data(), 13);
  EXPECT_EQ(b.content(), rotated);
  EXPECT_EQ(c.content(), std::vector<long long>(32, (1ll << 50) + 31 * 16));
}

TEST_P(Machine, PartsOfAWarpVoteApart) {
  for (const unsigned votes : {0u, 0xffffu, 0xffff0000u, 0x8001u, 0xfffffffeu}) {
    std::vector<int> values(32);
    for (int i = 0; i < 32; ++i) values[i] = static_cast<int>(votes >> i & 1) * 6;
    auto a = array(values), b = a, c = a;
    run("half_warp_votes", a.data(), b.data(), c.data());
    const std::vector<int> ballots = b.content(), any_all = c.content();
    for (int i = 0; i < 32; ++i) {
      const unsigned mask = i < 16 ? 0xffffu : 0xffff0000u, mine = votes & mask;
      ASSERT_EQ(static_cast<unsigned>(ballots[i]), mine);
      ASSERT_EQ(any_all[i], (mine != 0 ? 1 : 0) | (mine == mask ? 2 : 0)) << std::hex << votes;
    }
  }
}

TEST_P(Machine, PartsOfAWarpMatchAndReduceApart) {
  for (const unsigned seed : {1u, 2u, 3u}) {
    std::vector<int> values(32);
    for (unsigned i = 0; i < 32; ++i) values[i] = static_cast<int>(i * seed * 2654435761u >> 28) - 8;
    if (seed == 3)
      for (int& value : values) value = value & 1 ? 5 : value;
    auto a = array(values), b = array(std::vector<int>(96)), c = array(std::vector<int>(192));
    run("parts_of_a_warp", a.data(), b.data(), c.data());
    const std::vector<int> found = b.content(), reduced = c.content();
    for (int i = 0; i < 32; ++i) {
      unsigned same = 0, part = 0;
      int sum = 0, least = values[i], greatest = values[i], all = -1, any = 0, odd = 0;
      for (int j = 0; j < 32; ++j) {
        const int value = values[j];
        if ((value ^ values[i]) & 1) continue;
        part |= 1u << j;
        if (value == values[i]) same |= 1u << j;
        sum += value;
        least = std::min(least, value);
        greatest = std::max(greatest, value);
        all &= value;
        any |= value;
        odd ^= value;
      }
      ASSERT_EQ(static_cast<unsigned>(found[i]), same) << i;
      ASSERT_EQ(static_cast<unsigned>(found[32 + i]), part) << i;
      ASSERT_EQ(found[64 + i], same == part) << i;
      const int expected[] = {sum, least, greatest, all, any, odd};
      for (int k = 0; k < 6; ++k) ASSERT_EQ(reduced[32 * k + i], expected[k]) << i << ", reduction " << k;
    }
  }
}

TEST_P(Machine, SyncwarpOrdersTheLanesOfItsMask) {
  const std::vector<int> values = random_ints(256);
  auto a = array(values), b = array(std::vector<int>(256));
  run("warp_exchange", a.data(), b.data(), nullptr, 3);
  const std::vector<int> exchanged = b.content();
  for (int i = 0; i < 256; ++i) ASSERT_EQ(exchanged[i], values[i ^ 31]);

  run("half_warp_exchange", a.data(), b.data());
  const std::vector<int> half = b.content();
  for (int i = 0; i < 16; ++i) ASSERT_EQ(half[i], values[15 - i]);
}

TEST_P(Machine, AtomicsOfManyBlocksAreExact) {
  const std::vector<int> values = random_ints(64 * 64);
  auto a = array(values), b = array(std::vector<int>{0, 9999, -1, 0, -1, 0, 0, 0, 0, 0, 0, 0}),
       c = array(std::vector<int>(values.size(), -1));
  run("global_atomics", a.data(), b.data(), c.data());
  const std::vector<int> got = b.content();
  int any = 0, exclusive = 0;
  for (const int value : values) {
    any |= 1 << value % 31;
    exclusive ^= value;
  }
  const int sum = std::accumulate(values.begin(), values.end(), 0);
  EXPECT_EQ(got[0], sum);
  EXPECT_EQ(got[1], *std::min_element(values.begin(), values.end()));
  EXPECT_EQ(got[2], *std::max_element(values.begin(), values.end()));
  EXPECT_EQ(got[3], any);
  EXPECT_EQ(got[4], ~any);
  EXPECT_EQ(got[5], exclusive);
  EXPECT_EQ(got[6], sum);
  EXPECT_EQ(std::bit_cast<float>(got[7]), 2048.0f);
  EXPECT_EQ(static_cast<std::uint32_t>(got[8]), 0u);
  EXPECT_EQ(got[9], 2048) << "64-bit addition carries";
  std::vector<int> threads = c.content(), all(values.size());
  std::sort(threads.begin(), threads.end());
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(threads, all) << "atomicAdd returned one value twice";
}

TEST_P(Machine, AtomicsOnSharedMemoryAreExact) {
  const std::vector<int> values = random_ints(64 * 96 * 5, 32);
  auto a = array(values), b = array(std::vector<int>(32));
  run("histogram", a.data(), b.data(), nullptr, 5);
  std::vector<int> expected(32);
  for (const int value : values) ++expected[value];
  EXPECT_EQ(b.content(), expected);
}

TEST_P(Machine, StorageHoldsTheArraysOfAKernel) {
  constexpr int n = 128;
  std::vector<int> values(n * n), transposed(n * n), last_rows;
  std::iota(values.begin(), values.end(), 0);
  for (int i = 0; i < n * n; ++i) transposed[i % n * n + i / n] = values[i];
  for (int block = 0; block < 16; ++block)
    for (int x = 0; x < 32; ++x) last_rows.push_back((block / 4 * 32 + 31) * n + block % 4 * 32 + x);
  auto a = array(values), b = a, c = array(std::vector<int>(last_rows.size()));
  run("transpose", a.data(), b.data(), c.data(), n);
  EXPECT_EQ(b.content(), transposed);
  EXPECT_EQ(c.content(), last_rows);
}

TEST(SharedMemory, OfABlockDoesNotReachTheNext) {
  const auto device = open_emulator({.threads = 1});
  DeviceArray<unsigned> content(*device, 16 * 64);
  const TestKernel& kernel = plain::machine_kernels()["shared_content"];
  for (int launch = 0; launch < 2; ++launch) {
    kernel.launch(device->stream(), kernel.shape, nullptr, content.data(), nullptr, 0);
    EXPECT_EQ(content.content(), std::vector<unsigned>(16 * 64, 0xffffffffu));
  }
}

TEST(Launch, ManyOfManyShapesOnOneMachine) {
  const auto device = open_emulator();
  const TestKernel& kernel = plain::machine_kernels()["indices"];
  DeviceArray<int> a(*device, 1024 * 4), b(*device, 1024 * 4);
  for (int launch = 0; launch < 500; ++launch) {
    const LaunchShape shape = {"indices", 1 + launch % 4, 1 + launch * 37 % 1024};
    kernel.launch(device->stream(), shape, a.data(), b.data(), nullptr, 0);
    ASSERT_EQ(a.content()[shape.grid.x * shape.block.x - 1], static_cast<int>(shape.block.x) - 1);
  }
}

// A multiprocessor has room for two blocks with so much shared memory: four begin together.
TEST(Launch, BeginsBlocksInARandomOrderOfThoseThatHaveRoomTogether) {
  const TestKernel& kernel = plain::machine_kernels()["order_of_blocks"];
  LaunchShape shape = kernel.shape;
  shape.shared_bytes = 100 * 1024;
  std::set<std::vector<int>> orders;
  for (unsigned seed = 0; seed < 10; ++seed) {
    const auto device = open_emulator({.multiprocessors = 2, .threads = 1, .seed = seed});
    const DeviceArray<int> begun(*device, 1), b(*device, 10);
    kernel.launch(device->stream(), shape, begun.data(), b.data(), nullptr, 0);
    const std::vector<int> order = b.content();
    for (int block = 0; block < 10; ++block) EXPECT_EQ(order[static_cast<std::size_t>(block)] / 4, block / 4) << seed;
    EXPECT_TRUE(seed > 0 || std::is_sorted(order.begin(), order.end()));
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 5u);
}

TEST(Launch, RefusesShapesBeyondTheLimits) {
  const auto device = open_emulator();
  const auto message = [&](const LaunchShape& shape) -> std::string {
    try {
      plain::machine_kernels()["indices"].launch(device->stream(), shape, nullptr, nullptr, nullptr, 0);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message({"k", 0, 32}), "kernel k is launched with 0 blocks in x; 1 to 2147483647 are legal");
  EXPECT_EQ(message({"k", {1, 65536}, 32}), "kernel k is launched with 65536 blocks in y; 1 to 65535 are legal");
  EXPECT_EQ(message({"k", {1, 1, 65536}, 32}), "kernel k is launched with 65536 blocks in z; 1 to 65535 are legal");
  EXPECT_EQ(message({"k", 1, 1025}), "kernel k is launched with 1025 threads in x; 1 to 1024 are legal");
  EXPECT_EQ(message({"k", 1, {8, 1, 65}}), "kernel k is launched with 65 threads in z; 1 to 64 are legal");
  EXPECT_EQ(message({"k", 1, {33, 32}}), "kernel k is launched with 1056 threads a block; 1 to 1024 are legal");
  EXPECT_NE(message({"k", 1, 32, 1 << 20}).find("1048576 bytes of shared memory"), std::string::npos);
}

// Streams and companions keep its address, so a copy or a moved machine would leave them with one that is gone.
static_assert(!std::is_move_constructible_v<emulator::Machine> && !std::is_move_assignable_v<emulator::Machine>);

// As the context of gemm() does.
TEST(Companion, IsMadeOnceAndEndsWhileTheMachineIsWhole) {
  struct Companion {
    emulator::Machine& machine;
    bool& ended;
    std::unique_ptr<Device> device = open_emulator(machine);
    std::unique_ptr<DeviceArray<int>> order = std::make_unique<DeviceArray<int>>(*device, 10);

    ~Companion() {
      const TestKernel& kernel = plain::machine_kernels()["order_of_blocks"];
      const DeviceArray<int> begun(*device, 1);
      kernel.launch(device->stream(), kernel.shape, begun.data(), order->data(), nullptr, 0);
      std::vector<int> blocks = order->content(), all(10);
      std::sort(blocks.begin(), blocks.end());
      std::iota(all.begin(), all.end(), 0);
      ended = blocks == all;
    }
  };
  bool ended = false;
  int made = 0;
  {
    emulator::Machine machine({.threads = 1});
    const auto make = [&] {
      ++made;
      return std::shared_ptr<void>(std::make_shared<Companion>(machine, ended));
    };
    void* const first = machine.companion(make);
    EXPECT_EQ(machine.companion(make), first);
    EXPECT_EQ(made, 1);
    EXPECT_FALSE(ended);
  }
  EXPECT_TRUE(ended) << "it has not run a kernel on the machine at its end";
}

#if !defined(__clang__)  // of which nothing tells the bounds
TEST(Launch, RefusesMoreThreadsThanAKernelIsBoundTo) {
  const auto device = open_emulator();
  const DeviceArray<int> b(*device, 64);
  for (const TestKernels& kernels : {
         plain::machine_kernels(),
#if LAPIDARY_WITH_INSTRUMENTED
             instrumented::machine_kernels()
#endif
       }) {
    const TestKernel& kernel = kernels["bounded"];
    kernel.launch(device->stream(), kernel.shape, nullptr, b.data(), nullptr, 0);
    EXPECT_EQ(b.content()[47], 24);
    try {
      kernel.launch(device->stream(), {"k", 1, 49}, nullptr, b.data(), nullptr, 0);
      ADD_FAILURE() << "it is launched";
    } catch (const InvalidArgument& error) {
      EXPECT_STREQ(error.what(), "kernel k is launched with 49 threads a block; its __launch_bounds__ allow 48");
    }
  }
}
#endif

}  // namespace
}  // namespace lapidary::test
