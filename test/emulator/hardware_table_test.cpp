// What hardware does, as a table: a kernel a row, with its behaviour and where that is written down. The emulated
// machine is held against it, and so is a GPU where there is one; counts of a GPU are read by Nsight Compute. What
// other files of this folder prove is not repeated: barriers, shuffles in all modes and atomics by machine_test.cpp;
// boxes of tensors, elections, phases and clusters by async_test.cpp; what is refused, accesses beyond shared memory
// and to blocks that have exited among it, by faults_test.cpp and async_faults_test.cpp.
#include "hardware_table.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "device/device.hpp"
#include "emulator/machine.hpp"
#include "target.hpp"

namespace lapidary::test {
namespace plain {
TestKernels hardware_kernels();
}
namespace instrumented {
TestKernels hardware_kernels();
}
namespace gpu {
TestKernels hardware_kernels();
}

namespace {

// ---------------------------------------------------------------- accesses
//
// Sectors: 32 bytes, each of which a warp's access to global memory moves once (CUDA C++ Best Practices Guide,
// "Coalesced Access to Global Memory"). Wavefronts: a word of 32 bits from each of 32 banks; lanes that want the same
// word share it (CUDA C++ Programming Guide, "Shared Memory" of each compute capability); half warps are served one
// after the other for 64 bits a lane, quarters for 128, and of loads two of them together where neighbours have the
// same address. Nsight Compute counted every figure of the table on an H200.

struct Pattern {
  const char* name;
  int (*place)(int lane, int bytes);    ///< in elements of so many bytes; below 0, the lane takes no part
  int sectors[5], loads[5], stores[5];  ///< wavefronts of loads and stores; by 1, 2, 4, 8 and 16 bytes a lane
};

// clang-format off
constexpr Pattern patterns[] = {
    {"consecutive",              [](int lane, int) { return lane; },                        {1, 2, 4, 8, 16},     {1, 1, 1, 2, 4},  {1, 1, 1, 2, 4}},
    {"reversed",                 [](int lane, int) { return 31 - lane; },                   {1, 2, 4, 8, 16},     {1, 1, 1, 2, 4},  {1, 1, 1, 2, 4}},
    {"permuted",                 [](int lane, int) { return lane ^ 21; },                   {1, 2, 4, 8, 16},     {1, 1, 1, 2, 4},  {1, 1, 1, 2, 4}},
    {"off by one element",       [](int lane, int) { return lane + 1; },                    {2, 3, 5, 9, 17},     {1, 1, 1, 2, 4},  {1, 1, 1, 2, 4}},
    {"every second element",     [](int lane, int) { return 2 * lane; },                    {2, 4, 8, 16, 32},    {1, 1, 2, 4, 8},  {1, 1, 2, 4, 8}},
    {"a sector each",            [](int lane, int bytes) { return lane * 32 / bytes; },     {32, 32, 32, 32, 32}, {8, 8, 8, 8, 8},  {8, 8, 8, 8, 8}},
    {"one bank",                 [](int lane, int bytes) { return lane * 128 / bytes; },    {32, 32, 32, 32, 32}, {32, 32, 32, 32, 32}, {32, 32, 32, 32, 32}},
    {"one element",              [](int, int) { return 5; },                                {1, 1, 1, 1, 1},      {1, 1, 1, 1, 2},  {1, 1, 1, 2, 4}},
    {"an element for each two",  [](int lane, int) { return lane / 2; },                    {1, 1, 2, 4, 8},      {1, 1, 1, 1, 2},  {1, 1, 1, 2, 4}},
    {"an element for each four", [](int lane, int) { return lane / 4; },                    {1, 1, 1, 2, 4},      {1, 1, 1, 1, 2},  {1, 1, 1, 2, 4}},
    {"even lanes",               [](int lane, int) { return lane % 2 ? -1 : lane; },        {1, 2, 4, 8, 16},     {1, 1, 1, 2, 4},  {1, 1, 1, 2, 4}},
    {"even lanes, side by side", [](int lane, int) { return lane % 2 ? -1 : lane / 2; },    {1, 1, 2, 4, 8},      {1, 1, 1, 1, 2},  {1, 1, 1, 2, 4}},
    {"lower half",               [](int lane, int) { return lane < 16 ? lane : -1; },       {1, 1, 2, 4, 8},      {1, 1, 1, 1, 2},  {1, 1, 1, 1, 2}},
    {"one lane",                 [](int lane, int) { return lane == 7 ? 0 : -1; },          {1, 1, 1, 1, 1},      {1, 1, 1, 1, 1},  {1, 1, 1, 1, 1}},
    {"no lane",                  [](int, int) { return -1; },                               {0, 0, 0, 0, 0},      {0, 0, 0, 0, 0},  {0, 0, 0, 0, 0}},
};
// clang-format on

Places places_of(const Pattern& pattern, int bytes) {
  Places places;
  for (int lane = 0; lane < 32; ++lane) places.of_lane[lane] = static_cast<short>(pattern.place(lane, bytes));
  return places;
}

void launch_access(Device& device, const TestKernels& kernels, const std::string& name, Places places) {
  const DeviceArray<unsigned char> data(device, access_bytes), out(device, 32 * 16);
  const TestKernel& kernel = kernels[name];
  kernel.launch(device.stream(), kernel.shape, &places, data.data(), out.data(), 0);
  device.synchronize();
}

#if LAPIDARY_WITH_INSTRUMENTED
TEST(HardwareTable, SectorsAndWavefronts) {
  const auto device = open_emulator({.count = true});
  emulator::Machine& machine = *device->stream().machine;
  for (const Pattern& pattern : patterns)
    for (int width = 0; width < 5; ++width) {
      const int bytes = 1 << width;
      for (const char* access : {"global load ", "global store ", "shared load ", "shared store "}) {
        machine.clear_report();
        const std::string name = access + std::to_string(bytes);
        launch_access(*device, instrumented::hardware_kernels(), name, places_of(pattern, bytes));
        const emulator::Counters total = machine.report().total;
        const bool shared = name.starts_with("shared"), store = name.find("store") != name.npos;
        const std::uint64_t counted = shared ? (store ? total.shared_store : total.shared_load).wavefronts
                                             : (store ? total.global_store : total.global_load).sectors;
        const int expected = !shared ? pattern.sectors[width] : store ? pattern.stores[width] : pattern.loads[width];
        EXPECT_EQ(counted, static_cast<std::uint64_t>(expected)) << name << " bytes, " << pattern.name;
      }
    }
}
#endif

// ---------------------------------------------------------------- behaviour

std::vector<int> numbers(int size, const std::function<int(int)>& of) {
  std::vector<int> all(static_cast<std::size_t>(size));
  for (int i = 0; i < size; ++i) all[static_cast<std::size_t>(i)] = of(i);
  return all;
}

constexpr int element(int i) { return 1000 + 7 * i; }  ///< of the array that kernels read

struct Row {
  const char* behaviour;
  const char* source;
  const char* kernel;
  std::vector<int> expected;
  int n = 0;

  [[maybe_unused]] friend std::ostream& operator<<(std::ostream& out, const Row& row) { return out << row.kernel; }
};

const Row rows[] = {
    {"Lanes outside of a shuffle's mask do something else.", "CUDA C++ Programming Guide, Warp Shuffle Functions",
     "shuffles_of_halves", numbers(32, [](int i) { return element(i < 16 ? 15 - i : 16 + (i + 1) % 16); })},
    {"A collective does not wait for lanes of its mask that have exited; their votes are 0.",
     "PTX ISA, vote.sync, shfl.sync, bar.warp.sync", "collectives_after_exits",
     numbers(40, [](int i) { return i < 20 ? 0x55555 : element((39 - i + 1) % 20); })},
    {"Both sides of a branch meet at a __syncwarp, each at its own.",
     "CUDA C++ Programming Guide, Synchronization Functions (compute capability 7.0 on)", "meeting_of_branches",
     numbers(16, [](int i) { return element(15 - i); })},
    {"Both sides of a branch vote together.", "PTX ISA, vote.sync (sm_70 on)", "vote_of_branches",
     numbers(32, [](int) { return static_cast<int>(0xaa000055u); })},
    {"Lanes leave a loop after different numbers of rounds and come together again.",
     "CUDA C++ Programming Guide, SIMT Architecture", "rounds", numbers(32, [](int i) { return i % 5 + 8; })},
    {"A phase ends with its last arrival, and the next one expects as many.",
     "PTX ISA, Phase of the mbarrier object",
     "arrivals",
     {2, 2, 1, 1, 2, 1}},
    {"Bytes may arrive before they are expected, as long as an arrival is pending; 16 are the fewest of a bulk copy.",
     "PTX ISA, Tracking asynchronous operations by the mbarrier object; cp.async.bulk",
     "bytes_before_they_are_expected", numbers(4, [](int i) { return element(60 + i); }), 64},
    {"A cluster's barrier does not wait for blocks that have exited.", "PTX ISA, barrier.cluster",
     "barrier_of_those_left", numbers(32, [](int) { return 1; })},
};

const Target targets[] = {
    {"plain", plain::hardware_kernels},
    {"plain_random_order", plain::hardware_kernels, {.seed = 1}},
#if LAPIDARY_WITH_INSTRUMENTED
    {"checked", instrumented::hardware_kernels, {.count = true, .check = true}},
    {"checked_random_order", instrumented::hardware_kernels, {.count = true, .check = true, .seed = 2}},
#endif
#if LAPIDARY_WITH_CUDA
    {"gpu", gpu::hardware_kernels, {}, true},
#endif
};

class HardwareTable : public OnTargets {
 protected:
  HardwareTable() : OnTargets(90) {}
};

INSTANTIATE_TEST_SUITE_P(On, HardwareTable, testing::ValuesIn(targets), name_of_target);

TEST_P(HardwareTable, Behaviour) {
  for (const Row& row : rows) {
    const std::vector<int> content = numbers(row.n > 4 ? row.n : 128, element);
    const DeviceArray<int> a(*device, std::span<const int>(content)), b(*device, row.expected.size(), -1);
    run(row.kernel, a.data(), b.data(), nullptr, row.n);
    EXPECT_EQ(b.content(), row.expected) << row.behaviour << " (" << row.source << ")";
  }
}

TEST_P(HardwareTable, WhatIsUndefinedStops) {
  if (GetParam().gpu) GTEST_SKIP() << "a GPU goes on with any value";
  const DeviceArray<int> a(*device, 32, 1), b(*device, 32, -1);
  const TestKernel& kernel = GetParam().kernels()["shuffles_across_masks"];
  const auto message = [&](int n) -> std::string {
    try {
      kernel.launch(device->stream(), kernel.shape, a.data(), b.data(), nullptr, n);
    } catch (const KernelFault& fault) {
      return fault.what();
    }
    return "";
  };
  // CUDA C++ Programming Guide, Warp Shuffle Functions: what a lane gets of one that does not take part.
  EXPECT_EQ(message(15), "");
  EXPECT_EQ(message(16).find("lane 0 of warp 0 shuffles from lane 16, which does not take part"), 0u);
}

#if LAPIDARY_WITH_CUDA
// For Nsight Compute: the accesses in the order of the table.
TEST(HardwareTable, AccessesOnAGpu) {
  if (gpu_count() == 0) GTEST_SKIP() << "there is no GPU";
  const auto device = open_gpu();
  for (const Pattern& pattern : patterns)
    for (const char* access : {"global load ", "global store ", "shared load ", "shared store "})
      for (int width = 0; width < 5; ++width)
        launch_access(*device, gpu::hardware_kernels(), access + std::to_string(1 << width),
                      places_of(pattern, 1 << width));
}
#endif

}  // namespace
}  // namespace lapidary::test
