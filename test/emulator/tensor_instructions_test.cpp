// What the emulated machine finds wrong with instructions that a warp executes as one, and what it counts of them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/error.hpp"
#include "device/device.hpp"
#include "device_array.hpp"
#include "test_kernel.hpp"

namespace lapidary::test {
namespace plain {
TestKernels tensor_faults();
}
namespace instrumented {
TestKernels tensor_faults();
TestKernels tensor_probes();
}

namespace {

constexpr unsigned seeds = 20;

std::string run(const TestKernel& kernel, const emulator::Options& options, int n) {
  const auto device = open_emulator(options);
  const DeviceArray<float> a(*device, 128, 1, "a"), b(*device, 128, 1, "b"), c(*device, 128, 1, "c");
  try {
    kernel.launch(device->stream(), kernel.shape, a.data(), b.data(), c.data(), n);
  } catch (const KernelFault& fault) {
    return fault.what();
  }
  return "";
}

struct Fault {
  const char* kernel;
  std::vector<std::string> message;  ///< what it begins with, and what it also holds
  int n = 0;
};

void expect(const Fault& fault, const TestKernel& kernel, const std::string& message) {
  EXPECT_EQ(message.find(fault.message.front()), 0u) << fault.kernel << ": " << message;
  for (const std::string& part : fault.message) EXPECT_NE(message.find(part), std::string::npos) << message;
  for (const int line : {kernel.line, kernel.other_line ? kernel.other_line : kernel.line})
    EXPECT_NE(message.find(fmt::format("test/emulator/tensor_probes.cuh:{}", line)), std::string::npos) << message;
}

TEST(WarpInstruction, TakesAllLanesAtOneInstructionInEveryBuild) {
  const Fault faults[] = {
      {"all_but_one", {"warp 0 has 31 of 32 lanes at an instruction that takes all of them"}, 0},
      {"all_but_one", {"warp 0 has 31 of 32 lanes at an instruction that takes all of them"}, 31},
      {"two_instructions", {"lanes of warp 0 are at different collectives: lane 0 is at"}, 16},
      {"two_places", {"lanes of warp 0 are at different collectives: lane 0 is at"}, 1},
      {"one_missing", {"deadlock: no thread can go on", "lanes 0xffffff7f of 0xffffffff there"}},
  };
  for (const TestKernels& kernels : {plain::tensor_faults(), instrumented::tensor_faults()})
    for (const Fault& fault : faults)
      expect(fault, kernels[fault.kernel], run(kernels[fault.kernel], {.threads = 1}, fault.n));
}

TEST(Matrices, AreCheckedAsOtherAccessesToSharedMemory) {
  const Fault faults[] = {
      {"load_unwritten", {"shared load of 16 bytes at offset", "that no thread of this block has written"}},
      {"load_misaligned", {"misaligned shared load of 16 bytes: the address ends in", "must be a multiple of 16"}},
      {"load_outside", {"out-of-bounds shared load of 16 bytes"}},
      {"load_global", {"ldmatrix or stmatrix of memory that is not shared"}},
      {"load_late", {"race on shared memory", "writes it at", "reads it at"}},
      {"store_outside", {"out-of-bounds shared store of 16 bytes"}},
      {"store_late", {"race on shared memory", "reads it at", "writes it at"}},
  };
  for (const Fault& fault : faults) {
    const TestKernel& kernel = instrumented::tensor_faults()[fault.kernel];
    expect(fault, kernel, run(kernel, {.check = true, .threads = 1}, 0));
    for (unsigned seed = 1; seed <= seeds; ++seed)
      EXPECT_EQ(run(kernel, {.check = true, .threads = 1, .seed = seed}, 0).substr(0, 4),
                fault.message.front().substr(0, 4))
          << fault.kernel << ", seed " << seed;
  }
  for (const char* sound : {"four matrices", "two matrices", "one matrix"})
    for (unsigned seed = 0; seed <= seeds; ++seed)
      EXPECT_EQ(run(instrumented::tensor_probes()[sound], {.check = true, .seed = seed}, 0), "") << sound;
}

TEST(Matrices, CountAsInstructionsAndWavefronts) {
  const auto counted = [](const char* name) {
    const auto device = open_emulator({.count = true, .check = true});
    const DeviceArray<float> a(*device, 128, 1), b(*device, 128, 1), c(*device, 128, 1);
    const TestKernel& kernel = instrumented::tensor_probes()[name];
    kernel.launch(device->stream(), kernel.shape, a.data(), b.data(), c.data(), 0);
    return device->stream().machine->report();
  };
  const auto text = [](const emulator::AccessSite& site) {
    return fmt::format("{} instructions of {} bytes by {} lanes, {} wavefronts, minimum {}", site.instructions,
                       site.bytes, site.lanes, site.units, site.minimum);
  };
  const auto site = [](const emulator::Report& report, emulator::Access access, std::size_t number) {
    for (const emulator::AccessSite& one : report.sites)
      if (one.access == access && number-- == 0) return one;
    return emulator::AccessSite{};
  };
  using emulator::Access;
  // In the order of lines: the ldmatrix, then the load that looks at the result; the store before, then the stmatrix.
  for (const auto& [name, lanes] :
       {std::pair{"one matrix", 8}, std::pair{"two matrices", 16}, std::pair{"four matrices", 32}}) {
    const std::string expected = fmt::format("1 instructions of 16 bytes by {} lanes, {} wavefronts, minimum {}", lanes,
                                             lanes / 8, lanes / 8);
    const emulator::Report report = counted(name);
    EXPECT_EQ(text(site(report, Access::shared_load, 0)), expected) << name;
    EXPECT_EQ(text(site(report, Access::shared_store, 1)), expected) << name;
    EXPECT_EQ(report.divergent_intervals, 0u) << name;
  }
  // As an H200 counts them: without padding all rows of a matrix lie in the same four banks.
  EXPECT_EQ(text(site(counted("rows of 64"), Access::shared_load, 0)),
            "1 instructions of 16 bytes by 32 lanes, 32 wavefronts, minimum 4");
  EXPECT_EQ(text(site(counted("rows of 72"), Access::shared_load, 0)),
            "1 instructions of 16 bytes by 32 lanes, 4 wavefronts, minimum 4");
}

}  // namespace
}  // namespace lapidary::test
