// What the emulated machine counts. Where a number was also read from a GPU's counters, by Nsight Compute on an H200,
// it is the same one unless a comment says what the GPU counted.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "device/device.hpp"
#include "device_array.hpp"
#include "emulator/report.hpp"
#include "test_kernel.hpp"

namespace lapidary::test {
namespace instrumented {
TestKernels probes();
}

namespace {

using emulator::Access;
using emulator::AccessSite;
using emulator::Counters;
using emulator::GlobalCounters;
using emulator::LineCounters;
using emulator::Report;
using emulator::SharedCounters;

std::string text(const GlobalCounters& counters) {
  return fmt::format("{} requests, {} sectors", counters.requests, counters.sectors);
}
std::string text(const SharedCounters& counters) {
  return fmt::format("{} instructions, {} wavefronts, minimum {}", counters.instructions, counters.wavefronts,
                     counters.minimum);
}

/// One probe by itself, on arrays of its own with the value 1.
Report probe(const char* name, int n = 0) {
  const auto device = open_emulator({.count = true, .check = true});
  DeviceArray<float> a(*device, 2048, 1), b(*device, 2048, 1), c(*device, 2048, 1);
  const TestKernel& kernel = instrumented::probes()[name];
  kernel.launch(device->stream(), kernel.shape, a.data(), b.data(), c.data(), n);
  return device->stream().machine->report();
}

TEST(Counters, SharedLoadsOf128Bits) {
  EXPECT_EQ(text(probe("float4 in sequence").total.shared_load), "1 instructions, 4 wavefronts, minimum 4");
  EXPECT_EQ(text(probe("float4 with stride 2").total.shared_load), "1 instructions, 8 wavefronts, minimum 4");
  EXPECT_EQ(text(probe("float4 at one address").total.shared_load), "1 instructions, 2 wavefronts, minimum 2");
}

TEST(Counters, SharedLoadsOf64Bits) {
  EXPECT_EQ(text(probe("float2 in sequence").total.shared_load), "1 instructions, 2 wavefronts, minimum 2");
  EXPECT_EQ(text(probe("float2 with stride 2").total.shared_load), "1 instructions, 4 wavefronts, minimum 2");
}

TEST(Counters, PaddingTakesTheConflictsOutOfColumns) {
  EXPECT_EQ(text(probe("columns of 32").total.shared_load), "32 instructions, 1024 wavefronts, minimum 32");
  EXPECT_EQ(text(probe("columns of 33").total.shared_load), "32 instructions, 32 wavefronts, minimum 32");
  EXPECT_EQ(text(probe("columns of 32").total.shared_store), "32 instructions, 32 wavefronts, minimum 32");
}

TEST(Counters, SectorsOfGlobalAccesses) {
  EXPECT_EQ(text(probe("floats in sequence").total.global_load), "1 requests, 4 sectors");
  EXPECT_EQ(text(probe("floats off by one").total.global_load), "1 requests, 5 sectors");
  EXPECT_EQ(text(probe("floats with stride 2").total.global_load), "1 requests, 8 sectors");
  EXPECT_EQ(text(probe("floats with stride 8").total.global_load), "1 requests, 32 sectors");
  EXPECT_EQ(text(probe("one float").total.global_load), "1 requests, 1 sectors");
  EXPECT_EQ(text(probe("float4").total.global_load), "1 requests, 16 sectors");
  EXPECT_EQ(text(probe("float4").total.global_store), "1 requests, 16 sectors");
  EXPECT_EQ(text(probe("some lanes", 9).total.global_load), "1 requests, 2 sectors");
  EXPECT_EQ(text(probe("some lanes", 0).total.global_load), "0 requests, 0 sectors");
}

TEST(Counters, VectorsAreAsManyAccessesAsInstructionsOfAGpu) {
  struct Kind {
    const char* name;
    std::size_t bytes;
  };
  for (const auto& [name, bytes] : {Kind{"char", 1}, Kind{"uchar", 1}, Kind{"short", 2}, Kind{"ushort", 2},
                                    Kind{"int", 4}, Kind{"uint", 4}, Kind{"float", 4}, Kind{"long", 8},
                                    Kind{"ulong", 8}, Kind{"longlong", 8}, Kind{"ulonglong", 8}, Kind{"double", 8}})
    for (const char* const form : {"1", "2", "3", "4", "4_16a", "4_32a"}) {
      if (form[1] && bytes < 8) continue;
      const int elements = form[0] - '0';
      const std::string vector = fmt::format("{}{}", name, form);
      SCOPED_TRACE(vector);
      const Counters total = probe(("variables of " + vector).c_str()).total;
      // Those of three elements no instruction moves; what is not used of them need not be loaded.
      const bool whole = elements != 3;
      const auto moves = static_cast<unsigned>(!whole ? elements : elements * bytes > 16 ? 2 : 1);
      EXPECT_LE(total.global_load.requests, 2 * moves);
      EXPECT_GE(total.global_load.requests, (whole ? moves : 1) + moves);
      EXPECT_EQ(total.global_store.requests, moves);
    }
}

TEST(Counters, VectorsToAndFromRegistersAreAccessesOf16Bytes) {
  const Counters total = probe("vectors of registers").total;
  EXPECT_EQ(text(total.global_load), "2 requests, 32 sectors");
  EXPECT_EQ(text(total.global_store), "1 requests, 16 sectors");
  EXPECT_EQ(text(total.shared_load), "1 instructions, 4 wavefronts, minimum 4");
  EXPECT_EQ(text(total.shared_store), "1 instructions, 4 wavefronts, minimum 4");
}

TEST(Counters, ReadModifyWriteIsALoadAndAStore) {
  const Counters total = probe("read-modify-write").total;
  EXPECT_EQ(text(total.global_load), "1 requests, 4 sectors");
  EXPECT_EQ(text(total.global_store), "1 requests, 4 sectors");
}

TEST(Counters, AtomicsAreNeitherLoadsNorStores) {
  const Counters total = probe("atomics").total;
  EXPECT_EQ(text(total.global_atomic), "1 requests, 8 sectors");
  EXPECT_EQ(text(total.shared_atomic), "1 instructions, 2 wavefronts, minimum 1");
  EXPECT_EQ(text(total.global_load), "0 requests, 0 sectors");
  EXPECT_EQ(text(total.shared_load), "0 instructions, 0 wavefronts, minimum 0");
}

TEST(Counters, RegisterArraysAreNoTraffic) {
  const Counters total = probe("registers", 20).total;
  EXPECT_EQ(text(total.global_load), "8 requests, 32 sectors");
  EXPECT_EQ(text(total.shared_load), "0 instructions, 0 wavefronts, minimum 0");
}

TEST(Counters, LanesThatLeaveALoopEarlyAreExact) {
  // In round i lanes i to 31 read neighbours; sectors hold eight of them.
  std::uint64_t sectors = 0;
  for (int i = 0; i < 32; ++i) sectors += 4 - i / 8;
  EXPECT_EQ(text(probe("triangular loop").total.global_load), fmt::format("32 requests, {} sectors", sectors));
}

TEST(Counters, SidesOfABranchAreRequestsOfTheirOwn) {
  const Report report = probe("branches");
  EXPECT_EQ(text(report.total.global_load), fmt::format("3 requests, {} sectors", 4 + 16 + 4));
  EXPECT_EQ(report.divergent_intervals, 1u);
}

TEST(Counters, DivergenceIsToldWhereItMayMiscount) {
  // Exact: 31 lanes that begin a sector, then rounds that are off by one.
  constexpr int rounds = 10;
  const std::string exact = fmt::format("{} requests, {} sectors", rounds, 4 + (rounds - 1) * 5);
  const Report apart = probe("skipped round", rounds), together = probe("skipped round, barrier", rounds);
  EXPECT_EQ(text(together.total.global_load), exact);
  EXPECT_EQ(together.divergent_intervals, 0u);
  // Without a barrier lane 0's second round is taken for its first one, and the report warns of it.
  EXPECT_EQ(text(apart.total.global_load), fmt::format("{} requests, {} sectors", rounds, rounds * 4));
  EXPECT_EQ(apart.divergent_intervals, 1u);
}

TEST(Counters, BelongToTheLineThatCausedThem) {
  constexpr int rounds = 7;
  const Report report = probe("lines", rounds);
  const int first = instrumented::probes()["lines"].line;
  std::map<int, Counters> lines;
  for (const LineCounters& line : report.lines) {
    EXPECT_EQ(line.file, "test/emulator/probes.cuh");
    lines[line.line - first] = line.counters;
  }
  EXPECT_EQ(text(lines[0].global_load), "1 requests, 4 sectors");
  EXPECT_EQ(text(lines[2].shared_store), "1 instructions, 1 wavefronts, minimum 1");
  EXPECT_EQ(lines[5].fma, 32u * rounds);
  EXPECT_EQ(text(lines[5].shared_load), fmt::format("{0} instructions, {0} wavefronts, minimum {0}", rounds));
  EXPECT_EQ(lines[6].fma, 2 * 32u * rounds);
  EXPECT_EQ(text(lines[8].global_store), "1 requests, 4 sectors");
  EXPECT_EQ(report.total.fma, 3 * 32u * rounds);
  EXPECT_EQ(text(report.total.global_load), "2 requests, 9 sectors");
}

TEST(Counters, AddUpOverLaunchesUntilTheyAreCleared) {
  const auto device = open_emulator({.count = true});
  DeviceArray<float> a(*device, 64, 1), c(*device, 64, 1);
  const TestKernel& kernel = instrumented::probes()["floats off by one"];
  emulator::Machine& machine = *device->stream().machine;
  for (int launch = 0; launch < 3; ++launch)
    kernel.launch(device->stream(), kernel.shape, a.data(), nullptr, c.data(), 0);
  EXPECT_EQ(text(machine.report().total.global_load), "3 requests, 15 sectors");
  machine.clear_report();
  EXPECT_EQ(text(machine.report().total.global_load), "0 requests, 0 sectors");
}

// The GPU's counts of the kernel "tiles", of which the compiler merged the loads of A four by four.
TEST(Counters, MergedAccessesAreThoseOfTheHardware) {
  constexpr int n = 256;
  const TestKernel& kernel = instrumented::probes()["tiles"];
  emulator::Options options{.count = true};
  for (const bool merged : {false, true}) {
    const auto device = open_emulator(options);
    const DeviceArray<float> a(*device, n * n, 1), b(*device, n * n, 2), c(*device, n * n, NAN);
    kernel.launch(device->stream(), kernel.shape, a.data(), b.data(), c.data(), n);
    const Report report = device->stream().machine->report();
    EXPECT_EQ(text(report.total.shared_load), merged ? "655360 instructions, 786432 wavefronts, minimum 786432"
                                                     : "1048576 instructions, 1048576 wavefronts, minimum 1048576");
    EXPECT_EQ(text(report.total.shared_store), "32768 instructions, 32768 wavefronts, minimum 32768");
    // B's neighbours are in other rows: allowing all loads to merge merges those of A alone.
    for (const AccessSite& site : report.sites)
      if (site.access == Access::shared_load)
        for (const std::uintptr_t pc : site.pcs) options.merge[pc] = {.group = 0, .bytes = 16};
  }
}

TEST(Counters, ASampleOfBlocksStandsForAll) {
  constexpr int n = 256;
  const TestKernel& kernel = instrumented::probes()["vectors"];
  std::string counts[2];
  for (const bool sampled : {false, true}) {
    emulator::Options options{.count = true};
    if (sampled)
      options.sample = [](const LaunchShape& shape) {
        return std::vector<emulator::BlockSample>{{.block = 1, .weight = std::uint64_t{shape.grid.x} * shape.grid.y}};
      };
    const auto device = open_emulator(options);
    const DeviceArray<float> a(*device, n * n, 1), b(*device, n * n, 2), c(*device, n * n, NAN);
    kernel.launch(device->stream(), kernel.shape, a.data(), b.data(), c.data(), n);
    const Report report = device->stream().machine->report();
    counts[sampled] = text(report.total.global_load) + text(report.total.global_store) +
                      text(report.total.shared_load) + text(report.total.shared_store) +
                      std::to_string(report.total.fma);
    const std::vector<float> results = c.content();
    const auto unwritten = std::count_if(results.begin(), results.end(), [](float x) { return std::isnan(x); });
    EXPECT_EQ(unwritten, sampled ? n * n * 3 / 4 : 0);
  }
  EXPECT_EQ(counts[0], counts[1]);
}

TEST(Counters, ASampleBeyondTheGridIsRefused) {
  const auto device = open_emulator({.count = true, .sample = [](const LaunchShape&) {
                                       return std::vector<emulator::BlockSample>{{.block = 99, .weight = 1}};
                                     }});
  DeviceArray<float> a(*device, 64, 1), c(*device, 64, 1);
  const TestKernel& kernel = instrumented::probes()["one float"];
  EXPECT_THROW(kernel.launch(device->stream(), kernel.shape, a.data(), nullptr, c.data(), 0), InvalidArgument);
}

/// The only access of a kind that a probe makes.
AccessSite site(const char* name, Access access) {
  std::vector<AccessSite> found;
  for (AccessSite& candidate : probe(name).sites)
    if (candidate.access == access) found.push_back(std::move(candidate));
  EXPECT_EQ(found.size(), 1u);
  return found.at(0);
}

TEST(Counters, SitesKnowTheirMatrixAndWhatEachAccessAsksFor) {
  const AccessSite strided = site("floats with stride 2", Access::global_load);
  EXPECT_EQ(strided.memory, "array");
  EXPECT_EQ(strided.bytes, 4);
  EXPECT_EQ(strided.lanes, 32u);
  EXPECT_EQ(strided.distinct_bytes, 128u);
  EXPECT_EQ(strided.minimum, 4u);
  EXPECT_EQ(strided.units, 8u);
  EXPECT_EQ(site("one float", Access::global_load).distinct_bytes, 4u);
}

TEST(Counters, SitesKeepTheirWorstAccess) {
  const AccessSite columns = site("columns of 32", Access::shared_load);
  EXPECT_EQ(columns.memory, "");
  EXPECT_EQ(wavefronts(columns.worst), 32);
  EXPECT_EQ(columns.worst.active, ~0u);
  EXPECT_EQ(columns.worst.address[1] - columns.worst.address[0], 128u);
  EXPECT_EQ(columns.worst_block, 0u);
  EXPECT_EQ(columns.worst_warp, 0u);
}

struct Product {
  const char* kernel;
  const char *global_load, *global_store, *shared_load, *shared_store;
};

const Product products[] = {
    {"coalesced", "1048576 requests, 2621440 sectors", "2048 requests, 8192 sectors",
     "0 instructions, 0 wavefronts, minimum 0", "0 instructions, 0 wavefronts, minimum 0"},
    {"uncoalesced", "1048576 requests, 17301504 sectors", "2048 requests, 65536 sectors",
     "0 instructions, 0 wavefronts, minimum 0", "0 instructions, 0 wavefronts, minimum 0"},
    // As written. The compiler merged scalar loads of A that lie side by side: the GPU counted 655360 instructions and
    // 786432 wavefronts.
    {"tiles", "32768 requests, 131072 sectors", "2048 requests, 8192 sectors",
     "1048576 instructions, 1048576 wavefronts, minimum 1048576",
     "32768 instructions, 32768 wavefronts, minimum 32768"},
    // The GPU counted 12645 wavefronts of stores: stores that meet other traffic are arbitrated.
    {"vectors", "2048 requests, 32768 sectors", "512 requests, 16384 sectors",
     "32768 instructions, 163840 wavefronts, minimum 98304", "5120 instructions, 12288 wavefronts, minimum 8192"},
    // Likewise, 8658.
    {"vectors, padded", "2048 requests, 32768 sectors", "512 requests, 16384 sectors",
     "32768 instructions, 163840 wavefronts, minimum 98304", "5120 instructions, 8192 wavefronts, minimum 8192"},
};

TEST(Counters, AreThoseOfTheHardwareForMatrixProducts) {
  constexpr int n = 256;
  const auto device = open_emulator({.count = true});
  const DeviceArray<float> a(*device, n * n, 1), b(*device, n * n, 2), c(*device, n * n, NAN);
  emulator::Machine& machine = *device->stream().machine;
  for (const Product& product : products) {
    SCOPED_TRACE(product.kernel);
    const TestKernel& kernel = instrumented::probes()[product.kernel];
    machine.clear_report();
    kernel.launch(device->stream(), kernel.shape, a.data(), b.data(), c.data(), n);
    const Report report = machine.report();
    EXPECT_EQ(text(report.total.global_load), product.global_load);
    EXPECT_EQ(text(report.total.global_store), product.global_store);
    EXPECT_EQ(text(report.total.shared_load), product.shared_load);
    EXPECT_EQ(text(report.total.shared_store), product.shared_store);
    EXPECT_EQ(report.total.fma, std::uint64_t{n} * n * n);
    EXPECT_EQ(report.divergent_intervals, 0u);
    EXPECT_EQ(c.content(), std::vector<float>(n * n, 2 * n));
  }
}

}  // namespace
}  // namespace lapidary::test
