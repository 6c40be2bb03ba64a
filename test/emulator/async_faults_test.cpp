// What checked runs stop at of what is asynchronous, and what they say of it; what they let pass.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <ostream>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "device/device.hpp"
#include "device_array.hpp"
#include "test_kernel.hpp"

namespace lapidary::test {
namespace plain {
TestKernels async_faulty_kernels();
}
namespace instrumented {
TestKernels async_faulty_kernels();
TestKernels unnoticed_kernels();
}

namespace {

constexpr unsigned seeds = 4;
/// More steps than twice the stages of the ring, so that each stage comes round again.
constexpr int ring_size = 200;

struct Outcome {
  std::string message;  ///< of the fault, "" if there was none
  FaultKind kind{};
  bool right = true;  ///< of a ring: whether the product is
};

/// Of the ring the product of matrices of small integers is known exactly.
Outcome run(const TestKernel& kernel, const emulator::Options& options) {
  const auto device = open_emulator(options);
  Outcome outcome;
  const auto launch = [&](void* a, void* b, void* c, int n) {
    try {
      kernel.launch(device->stream(), kernel.shape, a, b, c, n);
    } catch (const KernelFault& fault) {
      outcome.message = fault.what();
      outcome.kind = fault.kind();
    }
  };
  if (!std::string(kernel.shape.kernel).starts_with("ring")) {
    const DeviceArray<float> a(*device, 64, 1, "a"), b(*device, 256, 1, "b"), c(*device, 256, 1, "c");
    launch(a.data(), b.data(), c.data(), 0);
    return outcome;
  }
  constexpr int n = ring_size;
  std::vector<float> x(n * n), y(n * n), expected(n * n);
  for (int i = 0; i < n * n; ++i) {
    x[i] = static_cast<float>(i * 7 % 5 - 2);
    y[i] = static_cast<float>(i * 11 % 3 - 1);
  }
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      for (int k = 0; k < n; ++k) expected[i * n + j] += x[i * n + k] * y[j * n + k];
  const DeviceArray<float> a(*device, std::span<const float>(x), "a"), b(*device, std::span<const float>(y), "b"),
      c(*device, n * n, NAN, "c");
  launch(a.data(), b.data(), c.data(), n);
  outcome.right = c.content() == expected;
  return outcome;
}

/// "test/emulator/ring.cuh:42", by a part of that line which no other line has.
std::string place(const std::string& file, const std::string& text) {
  std::ifstream lines(fmt::format("{}/test/emulator/{}", LAPIDARY_TEST_SOURCES, file));
  std::string line;
  int found = 0, number = 0;
  while (std::getline(lines, line)) {
    ++number;
    if (line.find(text) == line.npos) continue;
    EXPECT_EQ(found, 0) << text << " is in more than one line of " << file;
    found = number;
  }
  EXPECT_GT(found, 0) << text << " is in no line of " << file;
  return fmt::format("test/emulator/{}:{}\n", file, found);
}

struct Fault {
  const char* kernel;
  FaultKind kind;
  std::vector<std::string> message;  ///< what it begins with, and what it also holds
  std::vector<std::string> lines;    ///< parts of the lines that it names

  std::string file() const { return std::string(kernel).starts_with("ring") ? "ring.cuh" : "async_faults.cuh"; }
  friend std::ostream& operator<<(std::ostream& out, const Fault& fault) { return out << fault.kernel; }
};

const std::string initialised = "mbarrier_init(storage.barrier[0], arrivals)";
const std::string ring_initialised = "pipeline.init(";

const Fault faults[] = {
    {"surplus_arrival",
     FaultKind::misuse,
     {"an mbarrier gets 1 arrival more than the phase waits for: phase 0 has 0 of 2 arrivals and 16 bytes pending"},
     {"if (threadIdx.x < 3) mbarrier_arrive"}},
    {"init_twice",
     FaultKind::misuse,
     {"mbarrier.init of the mbarrier at offset", "which is live: mbarrier.inval comes first"},
     {"if (threadIdx.x == 5) mbarrier_init"}},
    {"no_init",
     FaultKind::misuse,
     {"mbarrier.arrive at offset", "where no mbarrier has been initialised"},
     {"/* of nothing */"}},
    {"init_unordered",
     FaultKind::race,
     {"race on shared memory", "thread (0, 0, 0) writes it at", "thread (32, 0, 0) writes it at"},
     {"if (threadIdx.x == 0) mbarrier_init(barrier[0], 32)", "if (threadIdx.x >= 32) mbarrier_arrive"}},
    {"plain_load_of_mbarrier",
     FaultKind::misuse,
     {"shared load of 8 bytes", "which is of an mbarrier that has not been invalidated"},
     {"c[0] = static_cast<float>(barrier[0].state)"}},
    {"overwritten_mbarrier",
     FaultKind::misuse,
     {"shared store of 8 bytes", "which is of an mbarrier that has not been invalidated"},
     {"barrier[0].state = 0"}},
    {"missing_arrival",
     FaultKind::deadlock,
     {"deadlock: no thread can go on", "threads 32-63 wait at", "for parity 0 of the mbarrier at offset",
      "phase 0 has 1 of 32 arrivals and 0 bytes pending", "threads 0-31 have exited"},
     {}},
    {"polled_for_ever",
     FaultKind::deadlock,
     {"deadlock: no thread can go on", "phase 0 has 1 of 1 arrivals and 0 bytes pending"},
     {}},
    {"bytes_pending_at_exit",
     FaultKind::misuse,
     {"a block exits while an mbarrier has bytes pending: phase 0 has 1 of 1 arrivals and 16 bytes pending"},
     {initialised}},
    {"bytes_beyond_count",
     FaultKind::misuse,
     {"an mbarrier has 1048576 bytes pending; -1048575 to 1048575 are legal"},
     {"1 << 19"}},
    {"bulk_load_without_wait",
     FaultKind::in_flight,
     {"shared load of 4 bytes", "which a bulk load that nobody has waited for is writing"},
     {"cp_async_bulk_load(to", "c[threadIdx.x] = x[threadIdx.x]"}},
    {"bulk_load_tried_once",
     FaultKind::in_flight,
     {"shared load of 4 bytes", "which a bulk load that nobody has waited for is writing"},
     {"cp_async_bulk_load(to", "c[threadIdx.x] = x[threadIdx.x]"}},
    {"bulk_load_tested_once",
     FaultKind::in_flight,
     {"shared load of 4 bytes", "which a bulk load that nobody has waited for is writing"},
     {"cp_async_bulk_load(to", "c[threadIdx.x] = x[threadIdx.x]"}},
    {"no_init_fence",
     FaultKind::misuse,
     {"a bulk copy to the mbarrier at offset", "with no fence.mbarrier_init ordered between the two"},
     {"// at an mbarrier of thread 0"}},
    {"init_fence_behind_barrier",
     FaultKind::misuse,
     {"a bulk copy to the mbarrier at offset", "with no fence.mbarrier_init ordered between the two"},
     {"// at an mbarrier of thread 0"}},
    {"init_fence_of_another_thread",
     FaultKind::misuse,
     {"a bulk copy to the mbarrier at offset", "with no fence.mbarrier_init ordered between the two"},
     {"// at an mbarrier of thread 0"}},
    {"load_over_stores_without_fence",
     FaultKind::proxy,
     {"a bulk load overwrites shared memory that thread (0, 0, 0) has written at"},
     {"// over stores"}},
    {"bulk_load_at_exit", FaultKind::in_flight, {"a block exits", "waited for"}, {"cp_async_bulk_load(to"}},
    {"bulk_load_unaligned",
     FaultKind::misaligned,
     {"a bulk copy at a shared address that ends in 0x404; it must be a multiple of 16"},
     {"cp_async_bulk_load(to"}},
    {"bulk_load_beyond_shared",
     FaultKind::out_of_bounds,
     {"out-of-bounds asynchronous shared store of 16 bytes at offset 256"},
     {"cp_async_bulk_load(to"}},
    {"bulk_load_beyond_global",
     FaultKind::out_of_bounds,
     {"out-of-bounds global load of 16 bytes: byte 256 of a, which has 256"},
     {"cp_async_bulk_load(to"}},
    {"bulk_load_odd_bytes",
     FaultKind::misuse,
     {"cp.async.bulk of 255 bytes: multiples of 16 are legal"},
     {"cp_async_bulk_load(to"}},
    {"bulk_store_without_fence",
     FaultKind::proxy,
     {"a bulk store reads shared memory that thread (0, 0, 0) has written at"},
     {"cp_async_bulk_store(b, &x[0], x_bytes);  // of what all threads wrote"}},
    {"bulk_store_fence_elsewhere",
     FaultKind::proxy,
     {"a bulk store reads shared memory that thread (1, 0, 0) has written at"},
     {"cp_async_bulk_store(b, &x[0], x_bytes);  // of what all threads wrote"}},
    {"bulk_store_fence_too_early",
     FaultKind::proxy,
     {"a bulk store reads shared memory that thread (0, 0, 0) has written at"},
     {"cp_async_bulk_store(b, &x[0], x_bytes);  // of what all threads wrote"}},
    {"bulk_store_without_barrier",
     FaultKind::in_flight,
     {"shared store of 4 bytes", "which a bulk store that nobody has waited for is reading"},
     {"cp_async_bulk_store(b, &x[0], x_bytes);  // of what all threads wrote"}},
    {"bulk_store_at_exit",
     FaultKind::in_flight,
     {"a block exits while a bulk store that nobody has waited for reads its shared memory"},
     {"cp_async_bulk_store(b, &x[0], x_bytes);  // of what all threads wrote"}},
    {"bulk_store_overwritten",
     FaultKind::in_flight,
     {"shared store of 4 bytes at offset 12, which a bulk store that nobody has waited for is reading"},
     {"cp_async_bulk_store(b, &x[0], x_bytes);  // of what all threads wrote", "x[3] = 2"}},
    {"fence_between_lanes",
     FaultKind::race,
     {"race on shared memory", "writes it at", "reads it at"},
     {"/* for a neighbour */", "c[threadIdx.x] = x[threadIdx.x ^ 1]"}},
    {"arrival_for_other_lanes",
     FaultKind::race,
     {"race on shared memory", "writes it at", "reads it at"},
     {"/* for the other warp */", "c[threadIdx.x] = x[threadIdx.x - 32]"}},
    {"write_while_stored",
     FaultKind::in_flight,
     {"shared store of 4 bytes at offset 12, which a bulk store that nobody has waited for is reading"},
     {"x[3] = 3"}},
    {"box_before_tensor",
     FaultKind::misuse,
     {"a bulk store to a box that begins before the tensor, at -1 of mode 1"},
     {"cp_async_bulk_tensor_store(map, Coordinates{0, -1}"}},
    {"box_between_chunks",
     FaultKind::misaligned,
     {"a box begins at element 7 of mode 0, 12 bytes beyond a multiple of 16"},
     {"Coordinates{7, 0}"}},
    {"foreign_map", FaultKind::misuse, {"a bulk copy is given a tensor map that"}, {"Coordinates{0, 0}"}},
    {"too_many_registers",
     FaultKind::deadlock,
     {"deadlock: no thread can go on",
      "for registers: setmaxnreg from 168 to 240 for a warp takes 2304, and 256 of the block are free"},
     {}},
    {"fewer_by_inc",
     FaultKind::misuse,
     {"setmaxnreg.inc to 64 registers by a warp whose threads have 255"},
     {"setmaxnreg_inc<64>"}},
    {"registers_of_one_warp",
     FaultKind::divergence,
     {"warp ", " exits without having executed this instruction, which takes all four of its warpgroup"},
     {"if (threadIdx.x < 32) setmaxnreg_dec<40>()"}},
    {"registers_of_other_warps",
     FaultKind::divergence,
     {"the warps of a warpgroup execute different instructions that take all four: another one is at"},
     {"setmaxnreg_dec<48>()"}},
    {"registers_of_a_warp_beside",
     FaultKind::divergence,
     {"warp 4 is in no warpgroup: those are four warps each, and the block has 5"},
     {"setmaxnreg_dec<32>()"}},
    {"registers_of_other_lanes",
     FaultKind::divergence,
     {"lanes of warp 0 are at different collectives: lane 0 is at"},
     {"setmaxnreg_dec<56>()", "setmaxnreg_dec<64>()"}},
    {"peers_mbarrier_unordered",
     FaultKind::race,
     {"race on shared memory", "writes it at", "in block (1, 0, 0)"},
     {"/* for peers */", "mbarrier_arrive_cluster(barrier[0], 0)"}},
    {"peers_mbarrier_unordered_by_multicast",
     FaultKind::race,
     {"race on shared memory", "writes it at", "a bulk copy of thread (0, 0, 0) "},
     {"/* for peers */", "cp_async_bulk_tensor_multicast(&x[0]"}},
    {"remote_store_before_begin",
     FaultKind::race,
     {"access to shared memory of block 1 of the cluster, and nothing orders it after that block's beginning"},
     {"// perhaps nowhere"}},
    {"cluster_barriers_differ",
     FaultKind::divergence,
     {"lanes 0 and 7 of warp 0 are at different barriers: lane 0 is at"},
     {"/* of seven lanes */", "/* of others */"}},
    {"cluster_waits_differ",
     FaultKind::divergence,
     {"lanes 0 and 7 of warp 0 are at different barriers: lane 0 is at"},
     {"/* of seven lanes alone */", "/* of others alone */"}},
    {"remote_store_at_exit", FaultKind::exited, {"access to shared memory of block 1 of the cluster"}, {"other)["}},
    {"remote_store_race",
     FaultKind::race,
     {"race on shared memory", "thread (0, 0, 0) of block (0, 0, 0) writes it at", "in block (1, 0, 0)"},
     {"x[threadIdx.x] = 0", "other)["}},
    {"remote_store_behind_relaxed_arrival",
     FaultKind::race,
     {"race on shared memory", "of block (0, 0, 0) writes it at", "in block (1, 0, 0)"},
     {"x[threadIdx.x] = 0", "other)["}},
    {"remote_wait", FaultKind::misuse, {"mbarrier.try_wait for an mbarrier of another block"}, {"wait(*mapa("}},
    {"two_cluster_arrivals",
     FaultKind::misuse,
     {"barrier.cluster.arrive by a thread that has not waited since it arrived last"},
     {"barrier_cluster_arrive();  // once more"}},
    {"block_missing",
     FaultKind::deadlock,
     {"deadlock: no thread of the cluster can go on", "for the barrier of the cluster, 64 of 128 threads there",
      "in block (0, 0, 0)", "at barrier 1, 64 of 96 threads there", "in block (1, 0, 0)"},
     {}},
    {"static_shared",
     FaultKind::misuse,
     {"a __shared__ variable in a kernel that is launched with clusters"},
     {"s[threadIdx.x] = 1"}},
    {"no_grid_wait",
     FaultKind::misuse,
     {"global load of 4 bytes without a griddepcontrol.wait before"},
     {"const float x = a[threadIdx.x]"}},
    {"rank_beyond", FaultKind::misuse, {"mapa to block 2 of a cluster that has 2"}, {"*mapa(&x[threadIdx.x], 2)"}},
};

const Fault ring_faults[] = {
    {"ring_without_init_fence",
     FaultKind::misuse,
     {"a bulk copy to the mbarrier at offset", "with no fence.mbarrier_init ordered between the two"},
     {"cp_async_bulk_tensor_load(&sA"}},
    {"ring_without_full_wait",
     FaultKind::race,
     {"race on shared memory", "several lanes of the warp of thread (0, 0, 0) read it at",
      "a bulk copy of thread (256, 0, 0) writes it at"},
     {"cp_async_bulk_tensor_load(&sA", "rA[i] = sA"}},
    {"ring_without_empty_wait",
     FaultKind::misuse,
     {"an mbarrier gets 1 arrival more than the phase waits for: phase 0 has 0 of 1 arrivals and 32768 bytes pending"},
     {"pipeline.expect("}},
    {"ring_released_early",
     FaultKind::race,
     {"race on shared memory", "several lanes of the warp of thread (0, 0, 0) read it at",
      "a bulk copy of thread (256, 0, 0) writes it at"},
     {"cp_async_bulk_tensor_load(&sA", "rA[i] = sA"}},
    {"ring_expecting_too_many_bytes",
     FaultKind::deadlock,
     {"deadlock: no thread can go on", "phase 0 has 0 of 1 arrivals and 16 bytes pending", "threads 0-255 wait at"},
     {}},
    {"ring_expecting_too_few_bytes",
     FaultKind::in_flight,
     {"shared load of 4 bytes", "which a bulk load that nobody has waited for is writing"},
     {"cp_async_bulk_tensor_load(to", "rB[j] = sB"}},
    {"ring_with_wrong_full_parity",
     FaultKind::race,
     {"race on shared memory", "several lanes of the warp of thread (0, 0, 0) read it at",
      "a bulk copy of thread (256, 0, 0) writes it at"},
     {"cp_async_bulk_tensor_load(&sA", "rA[i] = sA"}},
    {"ring_with_wrong_empty_parity",
     FaultKind::deadlock,
     {"deadlock: no thread can go on", "thread 256 waits at", "phase 0 has 8 of 8 arrivals and 0 bytes pending"},
     {}},
    {"ring_without_proxy_fence",
     FaultKind::proxy,
     {"a bulk store reads shared memory that thread (0, 0, 0) has written at"},
     {"cp_async_bulk_tensor_store("}},
    {"ring_without_store_wait",
     FaultKind::in_flight,
     {"a block exits while a bulk store that nobody has waited for reads its shared memory"},
     {"cp_async_bulk_tensor_store("}},
    {"ring_of_cluster_without_empty_wait",
     FaultKind::misuse,
     {"an mbarrier gets 1 arrival more than the phase waits for"},
     {"pipeline.expect("}},
    {"ring_of_cluster_released_early",
     FaultKind::race,
     {"race on shared memory", "a bulk copy of thread (256, 0, 0)"},
     {"rA[i] = sA"}},
    {"ring_of_cluster_with_wrong_mask",
     FaultKind::deadlock,
     {"deadlock: no thread of the cluster can go on", "phase 0 has 0 of 1 arrivals and 8192 bytes pending"},
     {}},
    {"ring_of_cluster_exiting_early",
     FaultKind::exited,
     {"a block of the cluster exits, and nothing orders that after this access to its shared memory"},
     {"pipeline.release(p, static_cast<unsigned>"}},
};

void expect_report(const Outcome& outcome, const Fault& fault) {
  EXPECT_EQ(name_of(outcome.kind), std::string(name_of(fault.kind))) << outcome.message;
  EXPECT_EQ(outcome.message.find(fault.message.front()), 0u) << outcome.message;
  for (const std::string& part : fault.message)
    EXPECT_NE(outcome.message.find(part), std::string::npos) << part << "\n" << outcome.message;
  for (const std::string& line : fault.lines)
    EXPECT_NE((outcome.message + "\n").find(place(fault.file(), line)), std::string::npos) << line << "\n"
                                                                                           << outcome.message;
}

class AsyncFault : public testing::TestWithParam<Fault> {};
INSTANTIATE_TEST_SUITE_P(Small, AsyncFault, testing::ValuesIn(faults));
INSTANTIATE_TEST_SUITE_P(Ring, AsyncFault, testing::ValuesIn(ring_faults));

TEST_P(AsyncFault, StopsAndNamesThePlaces) {
  expect_report(run(instrumented::async_faulty_kernels()[GetParam().kernel], {.check = true, .threads = 1}),
                GetParam());
}

TEST_P(AsyncFault, IsFoundInEveryOrder) {
  for (unsigned seed = 1; seed <= seeds; ++seed)
    EXPECT_NE(run(instrumented::async_faulty_kernels()[GetParam().kernel], {.check = true, .threads = 1, .seed = seed})
                  .message,
              "")
        << seed;
}

class RingWithBug : public testing::TestWithParam<Fault> {};
INSTANTIATE_TEST_SUITE_P(Bugs, RingWithBug, testing::ValuesIn(ring_faults));

// Late copies make them show without any checks, in this order of threads or that, but for what only concerns hardware.
TEST_P(RingWithBug, ShowsInThePlainBuild) {
  if (GetParam().kind == FaultKind::proxy) GTEST_SKIP() << "the emulated machine has one proxy";
  bool shows = false;
  for (unsigned seed = 0; seed <= seeds && !shows; ++seed) {
    const Outcome outcome = run(plain::async_faulty_kernels()[GetParam().kernel], {.threads = 1, .seed = seed});
    shows = !outcome.right || !outcome.message.empty();
  }
  EXPECT_TRUE(shows);
}

TEST(AWrongSwizzle, GivesAWrongProduct) {
  EXPECT_FALSE(run(plain::async_faulty_kernels()["ring_with_wrong_swizzle"], {}).right);
}

// Of each of the 4 tiles of 128 x 128 results, 4 steps of 32 of K: 64 rows of 128 bytes of A and B each, 4 sectors a
// row. Blocks of a cluster load half of B's rows each.
TEST(BulkCopies, CountRequestsAndSectorsByMatrix) {
  for (const auto& [kernel, sectors_of_b] : {std::pair("ring", 4096u), std::pair("ring_of_cluster", 2048u)}) {
    constexpr int n = 128;
    const auto device = open_emulator({.count = true});
    const DeviceArray<float> a(*device, n * n, 1, "a"), b(*device, n * n, 1, "b"), c(*device, n * n, NAN, "c");
    const TestKernel& ring = instrumented::async_faulty_kernels()[kernel];
    ring.launch(device->stream(), ring.shape, a.data(), b.data(), c.data(), n);
    const emulator::Report report = device->stream().machine->report();
    EXPECT_EQ(report.total.bulk_load.requests, 32u) << kernel;
    EXPECT_EQ(report.total.bulk_load.sectors, 4096u + sectors_of_b) << kernel;
    EXPECT_EQ(report.total.bulk_store.requests, 4u) << kernel;
    EXPECT_EQ(report.total.bulk_store.sectors, 2048u) << kernel;
    EXPECT_EQ(report.total.global_load.requests + report.total.global_store.requests, 0u) << kernel;
    int sites = 0;
    for (const emulator::AccessSite& site : report.sites) {
      if (!emulator::is_bulk(site.access)) continue;
      ++sites;
      EXPECT_EQ(site.distinct_bytes, site.units * 32) << kernel << " " << site.memory;
      EXPECT_EQ(site.units, site.memory == "a" ? 4096u : site.memory == "b" ? sectors_of_b : 2048u) << kernel;
    }
    EXPECT_EQ(sites, 3) << kernel;
  }
}

TEST(Samples, RunWholeClustersAndCountTheBlocksThatWereChosen) {
  constexpr int n = 128;
  const auto device = open_emulator({.count = true, .sample = [](const LaunchShape&) {
                                       return std::vector<emulator::BlockSample>{{3, 4}};
                                     }});
  const DeviceArray<float> a(*device, n * n, 1, "a"), b(*device, n * n, 1, "b"), c(*device, n * n, NAN, "c");
  const TestKernel& ring = instrumented::async_faulty_kernels()["ring_of_cluster"];
  ring.launch(device->stream(), ring.shape, a.data(), b.data(), c.data(), n);
  const emulator::Counters total = device->stream().machine->report().total;
  EXPECT_EQ(total.bulk_load.requests, 32u);
  EXPECT_EQ(total.bulk_store.sectors, 2048u);
  EXPECT_EQ(total.fma, std::uint64_t{n} * n * n);
  // Blocks 1 and 3 are the cluster of columns 64 on.
  EXPECT_TRUE(std::isnan(c.content()[0]));
  EXPECT_EQ(c.content()[64], n);
}

// What docs/check.md lists. A kernel that is found here some day is to go to the faults above, and off that list.
TEST(UnnoticedKernels, AreThoseThatTheDocumentationNames) {
  const TestKernels unnoticed = instrumented::unnoticed_kernels();
  for (int i = 0; i < unnoticed.count; ++i)
    for (unsigned seed = 0; seed <= seeds; ++seed)
      EXPECT_EQ(run(unnoticed.first[i], {.check = true, .threads = 1, .seed = seed}).message, "")
          << unnoticed.first[i].shape.kernel << ", seed " << seed;
}

TEST(SoundAsyncKernels, AreSilentInEveryOrder) {
  for (const char* const kernel :
       {"bulk_load", "init_fence", "init_fence_by_proxy", "load_over_stores", "bulk_store", "peers_mbarrier",
        "peers_mbarrier_by_multicast", "remote_store", "ring", "ring_of_cluster"})
    for (unsigned seed = 0; seed <= seeds; ++seed) {
      const Outcome outcome = run(instrumented::async_faulty_kernels()[kernel], {.check = true, .seed = seed});
      EXPECT_EQ(outcome.message, "") << kernel << ", seed " << seed;
      EXPECT_TRUE(outcome.right) << kernel << ", seed " << seed;
    }
}

}  // namespace
}  // namespace lapidary::test
