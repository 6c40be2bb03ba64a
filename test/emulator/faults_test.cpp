// What checked runs stop at, what they say of it, and what they let pass; and what every run says of a deadlock.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/error.hpp"
#include "device/device.hpp"
#include "device_array.hpp"
#include "emulator/fault.hpp"
#include "test_kernel.hpp"

namespace lapidary::test {
namespace plain {
TestKernels faulty_kernels();
}
namespace instrumented {
TestKernels faulty_kernels();
TestKernels sound_kernels();
}

namespace {

constexpr int elements = 64, gap = 1 << 28;  // between a and b, of the 2^40 bytes that global memory has
constexpr unsigned seeds = 20;

/// A kernel of faults.cuh, what it is launched with, and what the message says besides the kernel, the block and the
/// lines.
struct Fault {
  const char* kernel;
  std::vector<std::string> message;  ///< what it begins with, and what it also holds
  int n = 0;
  enum { array, null, host } a = array;

  friend std::ostream& operator<<(std::ostream& out, const Fault& fault) {
    return out << fault.kernel << ", n = " << fault.n;
  }
};

/// Runs a kernel on arrays of its own: a of `elements` floats, b and c of more. The message of the fault, "" if there
/// was none.
std::string run(const TestKernel& kernel, const emulator::Options& options, int n = 0,
                decltype(Fault::a) a_is = Fault::array) {
  const auto device = open_emulator(options);
  const DeviceArray<float> a(*device, elements, 1, "a"), b(*device, 256, 1, "b"), c(*device, 256, 1, "c");
  std::vector<float> host(elements);
  try {
    kernel.launch(device->stream(), kernel.shape,
                  a_is == Fault::array  ? a.data()
                  : a_is == Fault::host ? host.data()
                                        : nullptr,
                  b.data(), c.data(), n);
  } catch (const KernelFault& fault) {
    return fault.what();
  }
  return "";
}

std::string place(int line) { return fmt::format("test/emulator/faults.cuh:{}", line); }

void expect_report(const std::string& message, const Fault& fault, const TestKernel& kernel) {
  EXPECT_EQ(message.find(fault.message.front()), 0u) << message;
  for (const std::string& part : fault.message)
    EXPECT_NE(message.find(part), std::string::npos) << part << "\n" << message;
  for (const int line : {kernel.line, kernel.other_line ? kernel.other_line : kernel.line})
    EXPECT_NE(message.find(place(line)), std::string::npos) << line << "\n" << message;
  EXPECT_NE(message.find(fmt::format("of kernel {}", fault.kernel)), std::string::npos) << message;
}

const std::string at_culprit = "in block (1, 0, 0), thread (37, 0, 0)";

const Fault accesses[] = {
    {"global_load", {"out-of-bounds global load of 4 bytes: byte 256 of a, which has 256", at_culprit}, elements},
    {"global_load", {"out-of-bounds global load of 4 bytes: byte 300 of a, which has 256", at_culprit}, elements + 11},
    // Between a and b, 256 bytes behind a, it is told of whichever is nearer.
    {"global_load", {"out-of-bounds global load of 4 bytes: byte 380 of a, which has 256", at_culprit}, elements + 31},
    {"global_load", {"out-of-bounds global load of 4 bytes: byte 40000000 of a, which has 256", at_culprit}, 10000000},
    {"global_load", {"out-of-bounds global load of 4 bytes: 4 bytes before b", at_culprit}, elements + gap - 1},
    {"global_load", {"load through a null pointer", at_culprit}, 5, Fault::null},
    {"global_load", {"load from memory of the host", at_culprit}, 5, Fault::host},
    {"global_store", {"out-of-bounds global store of 4 bytes: 4 bytes before a", at_culprit}, -1},
    {"global_store", {"out-of-bounds global store of 4 bytes: 4000000 bytes before a", at_culprit}, -1000000},
    {"global_store", {"store through a null pointer", at_culprit}, 0, Fault::null},
    {"global_store", {"store to memory of the host", at_culprit}, 0, Fault::host},
    {"store_by_tile",
     {"out-of-bounds global store of 4 bytes: byte 256 of a", "at src/tile/epilogue.hpp:", ", called at test/emulator",
      at_culprit},
     elements},
    {"global_vector", {"misaligned global load of 16 bytes: the address ends in 0x4", at_culprit}, 1},
    {"global_vector", {"out-of-bounds global load of 16 bytes: byte 256 of a", at_culprit}, elements},
    {"read_only", {"__ldg of 4 bytes of b that this kernel has written at test/emulator/faults.cuh:", at_culprit}},
    {"read_only_load", {"out-of-bounds global load of 4 bytes: byte 256 of a, which has 256", at_culprit}, elements},
    {"read_only_load", {"out-of-bounds global load of 4 bytes: byte 40000000 of a", at_culprit}, 10000000},
    {"trap", {"__trap() ends the kernel", at_culprit}},
    {"division", {"an integer is divided by zero", at_culprit}},
    {"recursion", {"a thread needs more than 262144 bytes for its calls", at_culprit}},
    {"global_atomic", {"out-of-bounds global atomic access of 4 bytes: byte 256 of a", at_culprit}, elements},
    {"shared_load", {"out-of-bounds shared load of 4 bytes at offset 256", at_culprit}, 64},
    {"shared_load", {"out-of-bounds shared load of 4 bytes at offset -4", at_culprit}, -1},
    {"shared_load", {"out-of-bounds shared load of 4 bytes at offset 768 of the block's 768 bytes", at_culprit}, 192},
    {"shared_store", {"out-of-bounds shared store of 4 bytes at offset 256", at_culprit}, 64},
    {"shared_vector", {"misaligned shared load of 16 bytes: the address ends in 0x8", at_culprit}, 2},
    {"unwritten", {"shared load of 4 bytes at offset 20 that no thread of this block has written", at_culprit}, 5},
    {"unwritten_static",
     {"shared load of 4 bytes in a __shared__ variable that no thread of this block has written", at_culprit},
     5},
    {"async_without_wait", {"shared load of 4 bytes", "which a cp.async that nobody has waited for is writing"}},
    {"divergent_barriers", {"lanes 0 and 5 of warp 0 are at different barriers: lane 0 is at"}, 5},
    {"barriers_on_a_line", {"lanes 0 and 5 of warp 0 are at different barriers: lane 0 is at"}},
    {"other_shuffle", {"lanes of warp 0 are at different collectives: lane 0 is at"}},
    {"barrier_counts", {"barrier 2 expects 64 threads, here 96"}},
    {"left_out", {"lane 31 calls a warp collective whose mask 0x7fffffff leaves it out"}},
    {"two_collectives", {"lanes of warp 0 are at different collectives: lane 0 is at"}},
};

const Fault races[] = {
    {"read_too_early", {"race on shared memory", "writes it at", "reads it at"}},
    {"written_too_early", {"race on shared memory", "writes it at", "reads it at"}},
    {"two_writers", {"race on shared memory", "thread (0, 0, 0) writes it at", "thread (37, 0, 0) writes it at"}},
    {"no_syncwarp", {"race on shared memory", "writes it at", "reads it at"}},
    {"shuffle", {"race on shared memory", "writes it at", "reads it at"}},
    {"vote", {"race on shared memory", "writes it at", "reads it at"}},
    {"fence_in_a_warp", {"race on shared memory", "writes it at", "reads it at"}},
    {"syncwarp_of_halves", {"race on shared memory", "writes it at", "reads it at"}},
    {"handed_on", {"race on shared memory", "writes it at", "reads it at"}},
    {"within_half_a_warp", {"race on shared memory", "writes it at", "reads it at"}},
    {"named_barrier", {"race on shared memory", "writes it at", "reads it at"}},
    {"atomic_and_load",
     {"race on shared memory", "several lanes of the warp of thread (0, 0, 0) write it at", "reads it at"}},
    {"counter_of_the_last",
     {"race on shared memory", "several lanes of the warp of thread (0, 0, 0) write it at",
      "thread (63, 0, 0) reads it at"}},
    {"atomic_hides_store",
     {"race on shared memory", "thread (0, 0, 0) writes it at", "thread (37, 0, 0) writes it at"}},
    {"halves_of_a_word", {"race on shared memory", "writes it at"}},
    {"async_without_barrier", {"race on shared memory", "writes it at", "reads it at"}},
    {"async_over_a_load", {"race on shared memory", "writes it at", "reads it at"}},
    {"global_between_threads", {"race on global memory", "writes it at", "reads it at"}},
    {"global_between_blocks", {"race on global memory", "in another block", "in block (1, 0, 0)"}},
    {"halves_between_blocks", {"race on global memory", "in another block", "in block (1, 0, 0)"}},
    {"global_read_by_other_block", {"race on global memory", "reads it at", "in another block", "in block (1, 0, 0)"}},
    {"global_atomic_and_load", {"race on global memory"}},
    {"bytes_between_threads", {"race on global memory", "writes it at"}},
    {"published_without_fence", {"race on global memory", "writes it at", "reads it at"}},
    {"published_to_its_block_alone", {"race on global memory", "writes it at", "reads it at"}},
    {"plain_word", {"race on global memory"}},
    {"lock_without_fence", {"race on global memory"}, 0x3f800000},
    {"global_many_readers",
     {"race on global memory", "several lanes of the warp of thread (0, 0, 0) read it at",
      "thread (64, 0, 0) writes it at"}},
};

const Fault deadlocks[] = {
    {"warp_missing",
     {"deadlock: no thread can go on", "threads 0-31 wait at", "at barrier 0, 32 of 64 threads there",
      "threads 32-63 wait at", "at barrier 1, 32 of 64 threads there", "in block (0, 0, 0)"}},
    {"lane_missing",
     {"deadlock: no thread can go on", "threads 0-6, 8-31 wait at",
      "at a collective of warp 0, lanes 0xffffff7f of 0xffffffff there", "threads 7, 39 wait at",
      "at barrier 0, 2 of 64 threads there"}},
    {"threads_missing",
     {"deadlock: no thread can go on", "threads 32-95 wait at", "at barrier 3, 64 of 96 threads there",
      "threads 0-31 have exited"}},
};

const Fault endless[] = {
    {"silent_loop",
     {"endless loop: the threads of the block have taken 0.2 s without coming to their end", at_culprit}},
    {"plain_loop", {"endless loop: the threads of the block have taken 0.2 s without coming to their end", at_culprit}},
    {"barrier_loop", {"endless loop: the threads of the block have taken 0.2 s without coming to their end"}},
};

class CheckedAccess : public testing::TestWithParam<Fault> {};
INSTANTIATE_TEST_SUITE_P(Faults, CheckedAccess, testing::ValuesIn(accesses));

TEST_P(CheckedAccess, StopsAndNamesThePlace) {
  const Fault& fault = GetParam();
  const TestKernel& kernel = instrumented::faulty_kernels()[fault.kernel];
  expect_report(run(kernel, {.check = true, .threads = 1}, fault.n, fault.a), fault, kernel);
}

class Race : public testing::TestWithParam<Fault> {};
INSTANTIATE_TEST_SUITE_P(Faults, Race, testing::ValuesIn(races));

TEST_P(Race, StopsAndNamesThePlace) {
  const Fault& fault = GetParam();
  const TestKernel& kernel = instrumented::faulty_kernels()[fault.kernel];
  expect_report(run(kernel, {.check = true, .threads = 1}, fault.n), fault, kernel);
}

TEST_P(Race, IsFoundInEveryOrderOfThreads) {
  const TestKernel& kernel = instrumented::faulty_kernels()[GetParam().kernel];
  for (unsigned seed = 1; seed <= seeds; ++seed)
    EXPECT_EQ(run(kernel, {.check = true, .threads = 1, .seed = seed}, GetParam().n).find(GetParam().message.front()),
              0u)
        << seed;
}

class Deadlock : public testing::TestWithParam<Fault> {};
INSTANTIATE_TEST_SUITE_P(Faults, Deadlock, testing::ValuesIn(deadlocks));

TEST_P(Deadlock, SaysWhoWaitsForWhatInEveryBuild) {
  const Fault& fault = GetParam();
  for (const TestKernels& kernels : {plain::faulty_kernels(), instrumented::faulty_kernels()}) {
    const TestKernel& kernel = kernels[fault.kernel];
    expect_report(run(kernel, {.threads = 1}), fault, kernel);
  }
}

// Lines of atomic and volatile accesses are known where accesses are reported, in the instrumented build.
TEST(Deadlock, IsWhereThreadsSpinForEver) {
  for (const char* name : {"spin_on_a_volatile_word", "spin_on_an_atomic"}) {
    const TestKernel& kernel = instrumented::faulty_kernels()[name];
    const Fault fault = {name, {"deadlock: no thread can go on", "thread 37 waits at", "for a word to change"}};
    for (const emulator::Options& options :
         {emulator::Options{.threads = 1}, {.check = true}, {.check = true, .threads = 1, .seed = 3}})
      expect_report(run(kernel, options), fault, kernel);
  }
  EXPECT_EQ(run(plain::faulty_kernels()["spin_on_an_atomic"], {}).find("deadlock: no thread can go on"), 0u);
}

// The thread that waits reads the word before the other one writes it, and then never again; or afterwards.
TEST(Spinning, OnAPlainWordIsARaceOrHasNoEnd) {
  const TestKernel& kernel = instrumented::faulty_kernels()["spin_on_a_plain_word"];
  for (unsigned seed = 0; seed < seeds; ++seed) {
    const std::string found = run(kernel, {.check = true, .threads = 1, .seed = seed, .limit_s = 0.1});
    EXPECT_TRUE(found.starts_with("race on shared memory") || found.starts_with("endless loop")) << found;
  }
}

// Those who wait for a word look at it at any time in a random order, not only when nobody else can go on.
TEST(Spinning, ForTooFewIsFoundInSomeOrder) {
  const TestKernel& kernel = instrumented::faulty_kernels()["ring_of_words"];
  constexpr int rounds = 5;
  EXPECT_EQ(run(kernel, {.check = true, .threads = 1}, rounds), "");
  int found = 0;
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    const std::string message = run(kernel, {.check = true, .threads = 1, .seed = seed}, rounds);
    if (message.empty()) continue;
    ++found;
    expect_report(message, {"ring_of_words", {"race on shared memory"}}, kernel);
  }
  EXPECT_GT(found, 0);
}

// What has no end in the plain build has one all the same.
TEST(HostTraps, StopKernelsOfThePlainBuild) {
  for (const auto& [name, message] : {std::pair("division", "an integer is divided by zero"),
                                      std::pair("recursion", "a thread needs more than 262144 bytes")})
    for (const unsigned threads : {1u, 2u})
      EXPECT_EQ(run(plain::faulty_kernels()[name], {.threads = threads}).find(message), 0u) << name;
}

TEST(Lines, OfAMatrixEndWhereItsElementsDo) {
  const auto device = open_emulator({.check = true});
  // Of 4 rows, two elements behind the allocation's first byte, 3 elements of 5.
  const DeviceBuffer a(*device, 80, "a", 80, {8, 12, 20});
  const DeviceArray<float> c(*device, 64);
  const TestKernel& kernel = instrumented::faulty_kernels()["global_load"];
  for (int element = 0; element < 20; ++element) {
    std::string found;
    try {
      kernel.launch(device->stream(), kernel.shape, a.data(), nullptr, c.data(), element);
    } catch (const KernelFault& fault) {
      found = fault.what();
    }
    const bool inside = element >= 2 && (element - 2) % 5 < 3;
    const std::string begin = inside ? "" : "out-of-bounds global load of 4 bytes: byte " + std::to_string(element * 4);
    EXPECT_TRUE(found.starts_with(begin) && found.empty() == inside) << element << "\n" << found;
  }
}

class Endless : public testing::TestWithParam<Fault> {};
INSTANTIATE_TEST_SUITE_P(Faults, Endless, testing::ValuesIn(endless));

TEST_P(Endless, LoopEndsAtTheLimit) {
  const TestKernel& kernel = instrumented::faulty_kernels()[GetParam().kernel];
  expect_report(run(kernel, {.count = true, .threads = 1, .limit_s = 0.2}), GetParam(), kernel);
  expect_report(run(kernel, {.check = true, .threads = 1, .limit_s = 0.2}), GetParam(), kernel);
}

// Nothing is recorded in the plain build, and most lines are unknown.
TEST(Endless, LoopOfThePlainBuildEndsAtTheLimit) {
  for (const char* name : {"silent_loop", "plain_loop", "barrier_loop", "spin_on_a_volatile_word"})
    for (const unsigned threads : {1u, 2u})
      EXPECT_EQ(run(plain::faulty_kernels()[name], {.threads = threads, .limit_s = 0.2})
                    .find("endless loop: the threads of the block have taken 0.2 s"),
                0u)
          << name;
}

TEST(Sound, KernelsAreSilentInEveryOrderOfThreads) {
  const TestKernels sound = instrumented::sound_kernels();
  for (int i = 0; i < sound.count; ++i)
    for (unsigned seed = 0; seed <= seeds; ++seed)
      EXPECT_EQ(run(sound.first[i], {.check = true, .seed = seed}), "")
          << sound.first[i].shape.kernel << ", seed " << seed;
}

TEST(AsynchronousCopies, ArriveAtOnceOrWhenTheyAreWaitedForAsTheSeedHasIt) {
  const TestKernel& kernel = plain::faulty_kernels()["async_without_wait"];
  std::vector<int> arrived;
  for (unsigned seed = 0; seed <= seeds; ++seed) {
    const auto device = open_emulator({.threads = 1, .seed = seed});
    const DeviceArray<float> a(*device, elements, 1, "a"), c(*device, 256, 0, "c");
    kernel.launch(device->stream(), kernel.shape, a.data(), nullptr, c.data(), 0);
    const std::vector<float> read = c.content();
    arrived.push_back(static_cast<int>(std::count(read.begin(), read.end(), 1.0f)));
  }
  EXPECT_EQ(arrived[0], 0) << "in order they arrive as late as they may";
  const auto [fewest, most] = std::minmax_element(arrived.begin() + 1, arrived.end());
  EXPECT_GT(*fewest, elements / 2);
  EXPECT_LT(*most, 2 * elements - elements / 2);
}

TEST(Faults, HaveFactsAndAreSaidWithOtherNamesOfSharedMemory) {
  const auto device = open_emulator({.check = true, .threads = 1});
  const DeviceArray<float> a(*device, elements, 1, "a"), c(*device, 256, 1, "c");
  const auto fault_of = [&](const char* name, int n) -> emulator::Fault {
    const TestKernel& kernel = instrumented::faulty_kernels()[name];
    try {
      kernel.launch(device->stream(), kernel.shape, a.data(), nullptr, c.data(), n);
    } catch (const emulator::DetailedFault& fault) {
      EXPECT_EQ(fault.what(), to_text(fault.fault()));
      return fault.fault();
    }
    throw std::runtime_error("there was no fault");
  };
  const emulator::Fault global = fault_of("global_load", elements + 11), shared = fault_of("shared_load", 64);
  const auto& [load, bytes, at] = std::get<emulator::OutOfBounds>(global.facts).access;
  EXPECT_EQ(load, emulator::Access::global_load);
  EXPECT_EQ(bytes, 4u);
  EXPECT_EQ(at.allocation, "a");
  EXPECT_EQ(at.offset, 300);
  EXPECT_EQ(at.bytes, elements * sizeof(float));
  EXPECT_EQ(std::get<emulator::OutOfBounds>(shared.facts).access.at.offset, 256);
  for (const emulator::Fault& fault : {global, shared}) {
    EXPECT_EQ(fault.kind(), FaultKind::out_of_bounds);
    EXPECT_EQ(fault.block.x, 1u);
    EXPECT_EQ(fault.thread.value().x, 37u);
    EXPECT_EQ(to_string(fault.line.value()), place(instrumented::faulty_kernels()[fault.kernel.c_str()].line));
  }
  const std::string said = to_text(shared, [](std::int64_t offset) { return fmt::format("x[{}]", offset / 4); });
  EXPECT_EQ(said.find("out-of-bounds shared load of 4 bytes at x[64]\n"), 0u) << said;
  EXPECT_EQ(to_text(global, [](std::int64_t) { return "x"; }), to_text(global));
}

TEST(Faults, LeaveTheMachineUsable) {
  const auto device = open_emulator({.check = true});
  const DeviceArray<float> a(*device, elements, 1, "a"), b(*device, 256, NAN, "b"), c(*device, 256, NAN, "c");
  const TestKernel& faulty = instrumented::faulty_kernels()["read_too_early"];
  const TestKernel& sound = instrumented::sound_kernels()["read_too_early"];
  for (int i = 0; i < 3; ++i) {
    EXPECT_THROW(faulty.launch(device->stream(), faulty.shape, a.data(), b.data(), c.data(), 0), KernelFault);
    sound.launch(device->stream(), sound.shape, a.data(), b.data(), c.data(), 0);
    EXPECT_EQ(c.content()[elements - 1], 1.0f);
  }
}

}  // namespace
}  // namespace lapidary::test
