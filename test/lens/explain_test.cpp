// Figures of explanations that can be worked out by hand. No two of M, N and K are alike.
#include "lens/explain.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "model/calibration.hpp"
#include "model/gpu.hpp"
#include "model/measured.hpp"

namespace lapidary::lens {
namespace {

/// @param problem  of the kind of the rung's first kernel, whatever it says
Explanation explained(const char* kernel, const char* tile, Problem problem, const char* gpu) {
  const Rung& rung = find_rung(kernel);
  problem.kind = rung.kernels.front().kind;
  return explain({&rung, &rung.kernel(problem.kind, tile), problem, model::find_gpu(gpu)});
}

// 512 x 1024 x 256: A, B, C and D are (512 x 256 + 256 x 1024 + 2 x 512 x 1024) x 4 = 5,767,168 bytes, and 2 x 512 x
// 1024 x 256 = 268,435,456 FLOP.
TEST(LeastTime, IsBytesOverDramAndFlopOverCudaCores) {
  const LeastTime a100 = explained("vectorized", "128x128x8", {.M = 512, .N = 1024, .K = 256, .beta = Factor::any},
                                   "a100 pcie 80gb")
                             .least;
  EXPECT_FALSE(a100.dram_measured);
  EXPECT_NEAR(a100.memory_seconds, 2.9805e-6, 1e-10);  // at 1935 GB/s
  EXPECT_EQ(a100.peak.name, "f32");
  ASSERT_TRUE(a100.compute_seconds);
  EXPECT_NEAR(*a100.compute_seconds, 13.772e-6, 1e-9);  // at 108 x 64 x 2 x 1.41 GHz = 19.49 TFLOP/s

  const LeastTime h200 =
      explained("vectorized", "128x128x8", {.M = 512, .N = 1024, .K = 256, .beta = Factor::any}, "h200").least;
  EXPECT_TRUE(h200.dram_measured);
  EXPECT_NEAR(h200.memory_seconds, 1.24480e-6, 1e-11);  // at the 4633 GB/s of its calibration's dram_bytes_all
}

// Sectors of A and B that each block of shared_tiles touches, one by one, where no line but the first begins in one.
TEST(L1, HoldsAllButTheFirstTouchOfEachSector) {
  constexpr int tile = 16;
  const Problem p = resolved({.M = 77, .N = 55, .K = 33});
  const Explanation e = explained("shared_tiles", "16x16x16", p, "rtx 4090");
  double first = 0, loaded = 0;
  for (std::int64_t row = 0; row < p.M; row += tile)
    for (std::int64_t col = 0; col < p.N; col += tile) {
      std::set<std::int64_t> a, b;
      for (std::int64_t k = 0; k < p.K; ++k) {
        for (std::int64_t m = row; m < std::min(p.M, row + tile); ++m) a.insert((m * p.lda + k) * 4 / 32);
        for (std::int64_t n = col; n < std::min(p.N, col + tile); ++n) b.insert((k * p.ldb + n) * 4 / 32);
      }
      first += static_cast<double>(a.size() + b.size());
    }
  for (const emulator::AccessSite& site : e.observation.written.sites)
    if (site.access == emulator::Access::global_load && site.memory != "C") loaded += static_cast<double>(site.units);
  EXPECT_NEAR(e.l1_hit, 1 - first / loaded, 0.01);
}

TEST(LeastTime, IsOverTensorCoresWhereTheyMultiply) {
  const Explanation a100 = explained("mma_tiles", "128x128x32", {.M = 128, .N = 256, .K = 64}, "a100 pcie 80gb");
  EXPECT_EQ(a100.least.peak.name, "mma.sync bf16");
  ASSERT_TRUE(a100.least.compute_seconds);
  EXPECT_NEAR(*a100.least.compute_seconds, 1.3449e-8, 1e-12);  // 4,194,304 FLOP at 108 x 2048 x 1.41 GHz
  const Explanation v100 = explained("mma_tiles", "128x128x32", {.M = 128, .N = 256, .K = 64}, "v100 sxm2 16gb");
  EXPECT_EQ(v100.least.peak.flops, 0) << "no bf16 there";
  EXPECT_FALSE(v100.least.compute_seconds);
}

// By the H200's calibration m16n8k16 of other operands each time takes 6.22 cycles, where the peak rate would be 4, and
// m16n8k8 4.35, where it would be 2. The peak is 132 x 4096 x 1.98 GHz = 1070.5 TFLOP/s.
TEST(LeastTime, IsByTheFormOfMmaThatIsExecuted) {
  const auto peak = [](const char* kernel, const char* gpu) {
    return explained(kernel, "128x128x32", {.M = 128, .N = 256, .K = 64}, gpu).least.peak;
  };
  for (const char* const kernel : {"mma_k8", "mma_k8_plain", "mma_k8_padded"}) {
    const Peak k8 = peak(kernel, "h200");
    EXPECT_EQ(k8.name, "mma.sync m16n8k8 bf16");
    EXPECT_NEAR(k8.flops, 492.0e12, 0.1e12) << kernel;
  }
  for (const char* const kernel : {"wmma", "mma_swizzled"}) {
    const Peak k16 = peak(kernel, "h200");
    EXPECT_EQ(k16.name, "mma.sync bf16");
    EXPECT_NEAR(k16.flops, 687.9e12, 0.1e12) << kernel;
  }
  EXPECT_EQ(peak("mma_k8", "a100 pcie 80gb").flops, peak("mma_swizzled", "a100 pcie 80gb").flops);

  const Rung& rung = find_rung("mma_multistage");
  const auto of_type = [&](Type type) {
    const KernelEntry& kernel = rung.kernel({type, Type::f32, Order::row_major, Order::column_major});
    return explain({&rung, &kernel, {.kind = kernel.kind, .M = 128, .N = 256, .K = 128}, model::find_gpu("h200")})
        .least.peak.flops;
  };
  EXPECT_NEAR(of_type(Type::e4m3), 687.9e12, 0.1e12) << "FP8 passes as f16";
  EXPECT_NEAR(of_type(Type::s8), 1421.3e12, 0.1e12);  // 6.026 cycles of 16 x 8 x 32
}

/// What is said of the accesses of a kind, line by line: merged, split, or neither.
std::vector<std::string> changes_of(const char* kernel, const char* tile, model::InstructionClass kind) {
  std::vector<std::string> changes;
  for (const CompiledAccess& access : explained(kernel, tile, {.M = 256, .N = 256, .K = 256}, "h200").compiled_accesses)
    if (access.kind == kind && !access.written.empty())
      changes.push_back(access.is_merged() ? "merged" : access.is_split() ? "split" : "");
  return changes;
}

// Line information has some of one line's instructions under its neighbour; and a path along ragged edges, which is not
// taken here, stores by narrower ones.
TEST(CompiledAccesses, AreMergedOrSplitOnlyWhereTheMachineCodeIsOtherwiseThanWritten) {
  using Kind = model::InstructionClass;
  using Texts = std::vector<std::string>;
  EXPECT_EQ(changes_of("f16_padded", "128x128x64", Kind::shared_store), (Texts{"", ""}));
  EXPECT_EQ(changes_of("f16_unpadded", "128x128x64", Kind::shared_store), (Texts{"", ""}));
  EXPECT_EQ(changes_of("multistage", "128x128x32", Kind::async_copy), (Texts{"", ""}));
  EXPECT_EQ(changes_of("wgmma_tma", "128x128x64", Kind::global_store), (Texts{""}));
  EXPECT_EQ(changes_of("wmma", "128x128x32", Kind::shared_load), (Texts{"split", "split", ""}));
  EXPECT_EQ(changes_of("thread_tiles_2d", "128x128x8", Kind::shared_load), (Texts{"merged", "merged"}));
}

// What texts of rungs say of measurements.
TEST(RungTexts, SayWhatIsOnRecord) {
  const model::Gpu h200 = model::find_gpu("h200");
  bool own = false;
  const model::Calibration calibration = model::calibration_of(h200, own);
  ASSERT_TRUE(own);
  const double mma = calibration.mma_share(h200, Type::bf16, 16 * 8 * 16);
  EXPECT_NEAR(mma, 0.64, 0.01) << "mma_multistage";
  EXPECT_NEAR(1 / calibration.wgmma_slowdown() / mma, 1.55, 0.02) << "wgmma_tma";

  const std::vector<model::MeasuredRate> rates = model::measured_rates(h200);
  const auto burst = [&](const char* kernel) {
    for (const model::MeasuredRate& rate : rates)
      if (rate.kernel == kernel && rate.tile == "128x128x8" && rate.size == 4096 && rate.mode == "burst")
        return rate.flops;
    return 0.0;
  };
  EXPECT_NEAR(1 - burst("padded_folk") / burst("vectorized"), 1.0 / 8, 0.02) << "padded_folk: an eighth of the speed";

  const auto shared = [](const char* kernel, const char* tile) {
    const Explanation e = explained(kernel, tile, {.M = 256, .N = 256, .K = 256}, "h200");
    return e.observation.written.total;
  };
  const emulator::Counters padded = shared("f16_padded", "128x128x64"), unpadded = shared("f16_unpadded", "128x128x64");
  EXPECT_EQ(padded.shared_load.instructions, 4 * unpadded.shared_load.instructions);
  EXPECT_EQ(3 * padded.shared_store.instructions, 4 * unpadded.shared_store.instructions) << "a third more in all";
}

struct Unable {
  const char *kernel, *tile, *gpu, *why;
};

class NoTime : public testing::TestWithParam<Unable> {};

TEST_P(NoTime, IsToldOfACardThatCannotRunTheKernel) {
  const Unable& p = GetParam();
  const Explanation e = explained(p.kernel, p.tile, {.M = 256, .N = 256, .K = 64}, p.gpu);
  EXPECT_FALSE(e.time);
  EXPECT_FALSE(e.occupancy) << "no block of it is on a multiprocessor";
  EXPECT_EQ(e.no_time, p.why);
}

INSTANTIATE_TEST_SUITE_P(
    Cards, NoTime,
    testing::Values(
        Unable{"wgmma_tma", "128x128x64", "rtx 4090",
               "wgmma_tma needs compute capability 9.0 itself, as wgmma is of sm_90a alone; RTX 4090 has 8.9"},
        Unable{"wgmma_cluster", "128x256x64", "b200",
               "wgmma_cluster needs compute capability 9.0 itself, as wgmma is of sm_90a alone; B200 has 10.0"},
        Unable{"wgmma_promoted", "128x192x128", "rtx 5090",
               "wgmma_promoted needs compute capability 9.0 itself, as wgmma is of sm_90a alone; RTX 5090 has "
               "12.0"},
        Unable{
            "bulk_transposed", "128x256x32", "b200",
            "bulk_transposed needs compute capability 9.0 itself, as it is compiled for sm_90a alone; B200 has 10.0"},
        Unable{"mma_tiles", "128x128x32", "t4", "mma_tiles needs compute capability 8.0; T4 has 7.5"}));

// What warps execute and how many blocks are resident is known all the same.
TEST(NoTime, IsToldWhereNoBlockFitsAndOfProblemsThatTakeAnotherPath) {
  const Explanation large = explained("multistage", "128x256x32", {.M = 256, .N = 256, .K = 64}, "rtx 3090");
  EXPECT_FALSE(large.time);
  EXPECT_EQ(large.occupancy.value().blocks, 0);
  EXPECT_TRUE(large.executed);
  EXPECT_EQ(large.no_time, "no block fits a multiprocessor of RTX 3090: " + large.occupancy->reason);

  const Explanation ragged = explained("mma_swizzled", "128x128x32", {.M = 256, .N = 250, .K = 63}, "h200");
  EXPECT_FALSE(ragged.time);
  EXPECT_GT(ragged.occupancy.value().blocks, 0);
  EXPECT_FALSE(ragged.executed);
  EXPECT_EQ(ragged.no_time, "the machine code on record is that for aligned problems, which this one is not");
}

TEST(NoTime, IsToldOfACardWithoutTheTensorCores) {
  const auto without_bf16 = [](const char* kernel) {
    const Rung& rung = find_rung(kernel);
    model::Gpu gpu = model::find_gpu("h200");
    gpu.tensor_bf16_flop_per_clk = 0;
    const KernelEntry& first = rung.kernels.front();
    return explain({&rung, &first, {.kind = first.kind, .M = 256, .N = 256, .K = 64}, gpu}).no_time;
  };
  EXPECT_EQ(without_bf16("wgmma_cluster"), "H200 has no tensor cores for bf16 RC");
  EXPECT_EQ(without_bf16("mma_swizzled"), "H200 has no tensor cores for HMMA.16816.F32.BF16");
}

TEST(LeastTime, IsNotThatOfInstructionsThatTheCardLacks) {
  EXPECT_FALSE(explained("wgmma_tma", "128x128x64", {.M = 256, .N = 256, .K = 64}, "b200").least.compute_seconds);
  EXPECT_TRUE(explained("wgmma_tma", "128x128x64", {.M = 256, .N = 256, .K = 64}, "h100 pcie").least.compute_seconds);
}

struct Reads {
  const char *kernel, *tile;
  Problem problem;
  double a;
  std::int64_t a_tiles;
  double b;
  std::int64_t b_tiles;
};

class OperandsAreRead : public testing::TestWithParam<Reads> {};

TEST_P(OperandsAreRead, OnceForEachTileThatNeedsThemOrItIsSaidWhyNot) {
  const Reads& p = GetParam();
  const std::vector<OperandReads> found = explained(p.kernel, p.tile, p.problem, "h200").operand_reads;
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].matrix, "A");
  EXPECT_EQ(found[0].times, p.a);
  EXPECT_EQ(found[0].tiles, p.a_tiles);
  EXPECT_EQ(found[0].why.empty(), p.a == static_cast<double>(p.a_tiles)) << found[0].why;
  EXPECT_EQ(found[1].matrix, "B");
  EXPECT_EQ(found[1].times, p.b);
  EXPECT_EQ(found[1].tiles, p.b_tiles);
  EXPECT_EQ(found[1].why.empty(), p.b == static_cast<double>(p.b_tiles)) << found[1].why;
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, OperandsAreRead,
    testing::Values(Reads{"vectorized", "128x128x8", {.M = 384, .N = 640, .K = 256}, 5, 5, 3, 3},
                    Reads{"multistage", "128x256x32", {.M = 520, .N = 300, .K = 40}, 2, 2, 5, 5},
                    Reads{"thread_tiles_1d", "64x64x8", {.M = 67, .N = 141, .K = 19}, 3, 3, 2, 2},
                    // Each of a result's threads reads for itself.
                    Reads{"naive", "16x16", {.M = 40, .N = 72, .K = 24}, 72, 5, 40, 3},
                    // Two blocks of a cluster lie below each other and share B.
                    Reads{"wgmma_cluster", "128x256x64", {.M = 512, .N = 768, .K = 128}, 3, 3, 2, 4}));

TEST(OperandsAreRead, FewerTimesWhereAMulticastDoesIt) {
  const auto why = [](const char* kernel, const char* tile, const Problem& p, std::size_t operand) {
    return explained(kernel, tile, p, "h200").operand_reads.at(operand).why;
  };
  EXPECT_EQ(why("wgmma_cluster", "128x256x64", {.M = 512, .N = 768, .K = 128}, 1),
            "a multicast hands each read to 2 blocks");
  EXPECT_EQ(why("naive", "16x16", {.M = 40, .N = 72, .K = 24}, 1),
            "no tile goes through shared memory, and each of 40 threads reads it for itself");
}

// Blocks of bulk_transposed go through several tiles, and copy in bulk: 512 x 2048 are 4 x 8 tiles of 128 x 256. In
// 5 x 27, the blocks with two tiles hold up those with one.
TEST(PersistentThreads, AreTimedByTheBlocksThatHaveMostTiles) {
  const auto explained_of = [](std::int64_t M, std::int64_t N) {
    return explained("bulk_transposed", "128x256x32", {.M = M, .N = N, .K = 384}, "h200");
  };
  const Explanation one = explained_of(512, 2048), two = explained_of(640, 6912);
  ASSERT_TRUE(one.time && two.time);
  EXPECT_EQ(one.time->waves.count, 1);
  EXPECT_EQ(two.observation.tiles, 135);
  EXPECT_LT(two.observation.blocks, 132);
  EXPECT_EQ(two.time->waves.blocks, 135);
  EXPECT_EQ(two.time->waves.per_wave, two.observation.blocks);
  EXPECT_EQ(two.time->waves.count, 2);
  const auto in_blocks = [](const Explanation& e) { return e.time->seconds - e.time->launch_seconds; };
  EXPECT_NEAR(in_blocks(two) / in_blocks(one), 2, 0.3);
  const auto& busy = one.time->busy;
  const auto l2 = std::find_if(busy.begin(), busy.end(), [](const auto& b) { return b.what == "the way from L2"; });
  ASSERT_NE(l2, busy.end());
  EXPECT_GT(l2->share, 0.02);
}

// A kernel for few rows would read B again for more than a tile has; one for few columns A.
TEST(PageProblem, HasNoMoreRowsOrColumnsThanATileOfAKernelForFew) {
  const Rung& skinny = find_rung("wgmma_skinny");
  const GemmKind kind(Type::bf16, Type::bf16, Order::row_major, Order::column_major);
  const Problem tall = page_problem(skinny.kernel(kind, "64x32x64"));
  EXPECT_EQ(tall.M, page_size);
  EXPECT_EQ(tall.N, 32);
  EXPECT_EQ(tall.K, page_size);
  for (const auto& [rung, rows] : {std::pair("wgmma_cluster", page_size), {"wgmma_skinny", 16}}) {
    const Problem problem = page_problem(find_rung(rung).kernels.front());
    EXPECT_EQ(problem.M, rows) << rung;
    EXPECT_EQ(problem.N, page_size) << rung;
    EXPECT_EQ(problem.K, page_size) << rung;
  }
}

// TMA takes rows of whole 16 bytes; what runs instead is explained as if it had been asked for.
TEST(Explain, IsOfTheKernelThatRuns) {
  const Problem odd = {.M = 256, .N = 384, .K = 65};
  const Explanation e = explained("wgmma_tma", "128x128x64", odd, "h200");
  ASSERT_NE(e.instead, nullptr);
  EXPECT_EQ(e.instead->rung, "wgmma_tma");
  EXPECT_NE(e.why.find("wgmma_tma does not take it: A's leading dimension is 65"), std::string::npos) << e.why;
  EXPECT_EQ(e.question.kernel->rung, "mma_multistage");
  EXPECT_EQ(e.question.rung->name(), "mma_multistage");
  const Explanation same = explain(e.question);
  EXPECT_EQ(same.instead, nullptr);
  EXPECT_EQ(e.compiled->id, same.compiled->id);
  EXPECT_EQ(e.occupancy->blocks, same.occupancy->blocks);
  for (const OperandReads& reads : e.operand_reads) EXPECT_EQ(reads.times, reads.tiles) << reads.matrix;
}

// A tile leaves by bulk copies of its parts, five slices of 32 columns and one of 16 for each 64 rows, of which all but
// two lie beyond D's 48 columns.
TEST(Explain, HasBulkCopiesBeyondAMatrixAmongThoseOfThatMatrix) {
  const Explanation e = explained("wgmma_waves", "128x176x64", {.M = 128, .N = 48, .K = 64}, "h200");
  const auto d = std::find_if(e.matrices.begin(), e.matrices.end(),
                              [](const MatrixTraffic& matrix) { return matrix.name == "D"; });
  ASSERT_NE(d, e.matrices.end());
  EXPECT_EQ(d->boxes, 12u);
  EXPECT_EQ(d->boxes, e.observation.written.total.bulk_store.requests);
}

}  // namespace
}  // namespace lapidary::lens
