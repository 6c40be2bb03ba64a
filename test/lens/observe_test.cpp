// A few blocks in place of all: what is counted must be what the whole launch counts.
#include "lens/observe.hpp"

#include <gtest/gtest.h>

#include <tuple>

#include "device/device.hpp"

namespace lapidary::lens {
namespace {

constexpr int multiprocessors = 8;

emulator::Report whole_launch(const KernelEntry& kernel, const Problem& problem) {
  const auto device = open_emulator({.count = true, .multiprocessors = multiprocessors});
  const auto bytes = [&](Matrix matrix) {
    return static_cast<std::size_t>(shape_of(resolved(problem), matrix).bytes());
  };
  const DeviceBuffer A(*device, bytes(Matrix::A), "A"), B(*device, bytes(Matrix::B), "B"),
      C(*device, bytes(Matrix::C), "C"), D(*device, bytes(Matrix::D), "D");
  run(kernel, Build::instrumented, device->stream(), problem,
      {.A = A.data(), .B = B.data(), .C = C.data(), .D = D.data(), .beta = 0.5f});
  return device->stream().machine->report();
}

struct Case {
  const char *kernel, *tile;
  std::int64_t M, N, K, blocks_run;
};

class Sample : public testing::TestWithParam<Case> {};

TEST_P(Sample, OfBlocksCountsWhatTheWholeLaunchDoes) {
  const auto& [name, tile, M, N, K, blocks_run] = GetParam();
  const Rung& rung = find_rung(name);
  const KernelEntry& kernel = rung.kernel(rung.kernels.front().kind, tile);
  const Problem problem{.kind = kernel.kind, .M = M, .N = N, .K = K, .beta = Factor::any};
  const Observation found = observe(kernel, problem, multiprocessors);
  EXPECT_EQ(found.blocks_run, blocks_run) << "of " << found.blocks;
  const emulator::Report whole = whole_launch(kernel, problem);
  EXPECT_EQ(found.written.total.fma, whole.total.fma);
  EXPECT_EQ(found.written.total.mma.flop, whole.total.mma.flop);
  EXPECT_EQ(found.written.bytes_in_flight, whole.bytes_in_flight);
  ASSERT_EQ(found.written.sites.size(), whole.sites.size());
  for (std::size_t i = 0; i < whole.sites.size(); ++i) {
    const auto counts = [](const emulator::AccessSite& s) {
      return std::tuple(s.line, s.access, s.memory, s.bytes, s.instructions, s.lanes, s.units, s.lines, s.minimum,
                        s.distinct_bytes);
    };
    EXPECT_EQ(counts(found.written.sites[i]), counts(whole.sites[i])) << "line " << whole.sites[i].line;
  }
}

// Tiles of 16 columns begin at the start and in the middle of lines of 128 bytes in turns; leading dimensions that are
// no multiple of a line do the same to rows.
INSTANTIATE_TEST_SUITE_P(
    Problems, Sample,
    testing::Values(Case{"naive", "16x16", 333, 335, 50, 9}, Case{"coalesced", "16x16", 129, 1027, 31, 9},
                    Case{"shared_tiles", "16x16x16", 100, 1000, 35, 9}, Case{"coalesced", "16x16", 96, 128, 32, 4},
                    Case{"thread_tiles_1d", "64x64x8", 333, 335, 17, 4},
                    Case{"f16_padded", "128x128x64", 300, 517, 65, 4}, Case{"mma_tiles", "128x128x32", 300, 520, 72, 4},
                    Case{"multistage", "128x128x32", 300, 520, 200, 4},
                    // Eight blocks go through 48 tiles, of which the last column's are one block's.
                    Case{"wgmma_unaligned", "128x128x64", 300, 2047, 65, 2},
                    Case{"vectorized", "128x128x8", 512, 384, 16, 1}));

}  // namespace
}  // namespace lapidary::lens
