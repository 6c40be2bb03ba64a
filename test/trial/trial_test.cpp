// Kernels in the styles of tutorials, sound and broken.
#include "trial/trial.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>
#include <utility>

#include "core/error.hpp"
#include "scratch_folder.hpp"
#include "trial/kernel_call.hpp"
#include "trial/load_widths.hpp"
#include "trial/several_tiles.hpp"

namespace lapidary::trial {
namespace {

Trial run(Request request) {
  request.file.insert(0, LAPIDARY_KERNELS "/");
  return try_kernel(request);
}

Request in_tiles_of_16(Request request) {
  if (request.grid.empty()) request.grid = "ceil_div(N, 16), ceil_div(M, 16)";
  request.block = "16, 16";
  return request;
}

/// All that is said of a run that is not right.
std::string text_of(const EmulatedRun& run) {
  return fmt::format("{}\n{}\n{}\n{}", run.fault ? run.fault->message : "", run.verification.message, run.wrong.pattern,
                     run.wrong.cause);
}

void expect_right(const Request& request, bool at_every_size = true) {
  const Trial trial = run(request);
  EXPECT_TRUE(trial.ok()) << text_of(trial.run);
  ASSERT_TRUE(trial.other);
  EXPECT_EQ(trial.other->ok(), at_every_size) << text_of(*trial.other);
  EXPECT_GT(trial.run.report.total.global_load.requests, 0u);
  // The source that named the kernel and the object that had its code are gone.
  EXPECT_STREQ(trial.run.shape.kernel, "");
  EXPECT_TRUE(trial.run.report.launches.empty());
}

void expect_text(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

void expect_refused(const Request& request, const std::string& why) {
  try {
    run(request);
    ADD_FAILURE() << request.file << " is run";
  } catch (const InvalidArgument& error) {
    expect_text(error.what(), {why.c_str()});
  }
}

// Sound ones.

TEST(Trial, WhatNvccDefinesIsDefined) {
  expect_right(in_tiles_of_16({.file = "as_nvcc.cu", .kernel = "guarded"}));
  expect_right(in_tiles_of_16({.file = "as_nvcc.cu", .kernel = "by_macro"}));
  const Trial trial = run(in_tiles_of_16({.file = "as_nvcc.cu", .kernel = "trapped"}));
  ASSERT_TRUE(trial.run.fault);
  expect_text(trial.run.fault->message, {"__trap() ends the kernel", "as_nvcc.cu:18"});
}
TEST(Trial, MatricesAreToldByWhatIsStored) {
  using Taken = std::vector<std::pair<std::string, std::string>>;
  const auto taken = [](const char* kernel) { return run(in_tiles_of_16({.file = "roles.cu", .kernel = kernel})); };
  const Trial textbook = taken("textbook"), linear = taken("linear"), exchanged = taken("exchanged");
  EXPECT_TRUE(textbook.ok()) << text_of(textbook.run);
  EXPECT_EQ(textbook.matrices, (Taken{{"P", "C"}, {"M", "A"}, {"N", "B"}}));
  EXPECT_TRUE(linear.ok()) << text_of(linear.run);
  EXPECT_EQ(linear.matrices, (Taken{{"X", "A"}, {"W", "B"}, {"Y", "C"}}));
  EXPECT_FALSE(exchanged.ok());
  EXPECT_EQ(exchanged.matrices, (Taken{{"out", "C"}, {"first", "A"}, {"second", "B"}}));
  EXPECT_TRUE(run(in_tiles_of_16({.file = "roles.cu", .kernel = "exchanged", .roles = "C,B,A,M,N,K"})).ok());
  EXPECT_TRUE(run(in_tiles_of_16({.file = "naive.cu"})).matrices.empty()) << "their names tell it";
}

TEST(Trial, CoalescedTemplateIsRight) {
  expect_right({.file = "coalesced.cu",
                .kernel = "sgemm_coalesced<32>",
                .grid = "ceil_div(M,32), ceil_div(N,32)",
                .block = "1024"});
}
TEST(Trial, WholeProgramIsRightWithItsOwnLaunch) { expect_right({.file = "program.cu"}); }
TEST(Trial, BlockTiles1dAreRightWhereTilesDivideTheSize) { expect_right({.file = "block_1d.cu"}, false); }
TEST(Trial, VectorisedBlockTiles2dAreRightWhereTilesDivideTheSize) {
  expect_right({.file = "block_2d.cuh",
                .kernel = "sgemm_vectorized<64, 64, 8, 8, 4>",
                .grid = "ceil_div(N, BN), ceil_div(M, BM)",
                .block = "(BM * BN) / (TM * TN)"},
               false);
}
// An H200 counted 12,582,912 loads and 20,974,626 wavefronts of such a kernel at 1024^3, which are 512 times as many.
TEST(Trial, LoadsThatLieSideBySideAreCountedAsTheMachineHasThem) {
  const Trial trial = run({.file = "block_1d.cu", .m = 128, .n = 128, .k = 128});
  EXPECT_EQ(trial.run.report.total.shared_load.instructions, 128 * 128 * 128 / 32 * 9 / 8);
  ASSERT_TRUE(trial.compiled);
  EXPECT_EQ(trial.compiled->report.total.shared_load.instructions, 12'582'912 / 512);
  EXPECT_EQ(trial.compiled->report.total.shared_load.wavefronts, 20'974'626 / 512 - 6);
  EXPECT_EQ(trial.compiled->report.total.global_load.sectors, trial.run.report.total.global_load.sectors);
}
TEST(Trial, WordsThatAreReadAgainAreNoWiderLoad) {
  const ScratchFolder folder;
  const std::string file = folder.file("again.cu");
  std::ofstream(file) << R"(
__global__ void gemm(const float* A, const float* B, float* C, int N) {
  __shared__ float pair[2];
  if (threadIdx.x < 2) pair[threadIdx.x] = A[threadIdx.x];
  __syncthreads();
  float sum = 0;
  for (int k = 0; k < 4; ++k)
    for (int i = 0; i < 2; ++i) sum += pair[(2 * k + i) % (N / 16)] * B[k];  // N is 32, which no compiler knows
  C[blockIdx.x * N + threadIdx.x] = sum;
}
)";
  // By the rule alone: where nvcc can be asked it says that it merges none of these.
  const char* const given = std::getenv("NVDISASM");
  const std::string before = given ? given : "";
  setenv("NVDISASM", "/nowhere/nvdisasm", 1);
  const Trial trial = try_kernel({.file = file, .grid = "N", .block = "N", .n = 32});
  setenv("NVDISASM", before.c_str(), 1);
  EXPECT_EQ(trial.run.report.total.shared_load.instructions, 32 * 8);
  ASSERT_TRUE(trial.compiled);
  EXPECT_EQ(trial.compiled->report.total.shared_load.instructions, 32 * 4);
}
TEST(Trial, MachineCodeTellsHowWideLoadsAre) {
  const auto widths = read_load_widths(R"(	//## File "/home/me/sgemm.cu", line 12
        /*00f0*/                   LDS.128 R8, [R12+UR4] ;
        /*0100*/                   LDS R4, [R12+UR4+0x10] ;
	//## File "/home/me/sgemm.cu", line 14
        /*0110*/                   LDSM.16.M88.4 R4, [R12] ;
        /*0120*/                   LDS.U.64 R4, [R13] ;
	//## File "/home/me/tile.cuh", line 14
        /*0130*/              @!P0 LDS.U16 R4, [R13] ;
)");
  const LoadWidths known{"", widths};
  EXPECT_EQ(known.widest("sgemm.cu", 12), 16u);
  EXPECT_EQ(known.widest("src/sgemm.cu", 14), 8u);
  EXPECT_EQ(known.widest("tile.cuh", 14), 2u);
  EXPECT_EQ(known.widest("tile.cuh", 15), 16u) << "the machine has it elsewhere";
}
TEST(Trial, OneBlockOfAThreadForEachResultHasAsManyAsABlockHolds) {
  const ScratchFolder folder;
  const std::string file = folder.file("one_block.cu");
  std::ofstream(file) << R"(
__global__ void product(const float* x, const float* y, float* z, int n) {
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += x[threadIdx.y * n + k] * y[k * n + threadIdx.x];
  z[threadIdx.y * n + threadIdx.x] = sum;
}
int main() { int n = 16; float *x, *y, *z; dim3 block(n, n); product<<<1, block>>>(x, y, z, n); }
)";
  const Trial trial = try_kernel({.file = file});
  EXPECT_TRUE(trial.ok()) << text_of(trial.run);
  EXPECT_EQ(trial.run.spec.problem.M, 32);
  expect_text(trial.not_taken, {"threads a block; 1 to 1024 are legal"});
}
TEST(Trial, AGridOfNumbersIsForTheSizesBesideIt) {
  const ScratchFolder folder;
  for (const auto& [launch, M, N, K] :
       {std::tuple("gemm<<<dim3(8, 8), dim3(16, 16)>>>(a, b, c, 128, 128, 128);", 128, 128, 128),
        std::tuple("int n = 64; gemm<<<dim3(4, 4), dim3(16, 16)>>>(a, b, c, n, n, n);", 64, 64, 64),
        std::tuple(
            "const int M = 64, N = 96, K = 32; dim3 grid(6, 4), block(16, 16); gemm<<<grid, block>>>(a, b, c, M, "
            "N, K);",
            64, 96, 32)}) {
    const std::string file = folder.file("numbers.cu");
    std::ofstream(file) << R"(
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
  if (i >= M || j >= N) return;
  float sum = 0;
  for (int k = 0; k < K; k++) sum += A[i * K + k] * B[k * N + j];
  C[i * N + j] = sum;
}
int main() { float *a, *b, *c; )"
                        << launch << " }\n";
    const Trial trial = try_kernel({.file = file});
    EXPECT_TRUE(trial.run.ok()) << launch << text_of(trial.run);
    const Problem& p = trial.run.spec.problem;
    EXPECT_EQ(std::tuple(p.M, p.N, p.K), std::tuple(M, N, K)) << launch;
  }
}
TEST(Trial, FactorsThatAreRoundedToHalfAreWrong) {
  const ScratchFolder folder;
  const std::string file = folder.file("rounded.cu");
  std::ofstream(file) << R"(
#include <cuda_fp16.h>
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K, float alpha, float beta) {
  int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
  if (i >= M || j >= N) return;
  float sum = 0;
  for (int k = 0; k < K; k++) sum += A[i * K + k] * B[k * N + j];
  C[i * N + j] = __half2float(__float2half(alpha)) * sum + (beta == 0 ? 0 : beta * C[i * N + j]);
}
)";
  EXPECT_FALSE(try_kernel(in_tiles_of_16({.file = file})).ok());
  Request exact = in_tiles_of_16({.file = file});
  exact.alpha = 0.5f;
  EXPECT_TRUE(try_kernel(exact).ok()) << "half has it";
}
TEST(Trial, MatricesWhoseNamesDoNotTellAreToldByWhatIsConst) {
  const ScratchFolder folder;
  const std::string file = folder.file("matrices.cu");
  const std::string rest = R"(, int M, int N, int K) {
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += first[blockIdx.x * K + k] * second[k * N + threadIdx.x];
  target[blockIdx.x * N + threadIdx.x] = sum;
}
)";
  for (const char* const parameters : {"float* target, const float* first, float const* second",
                                       "const float* first, float* target, const float* __restrict__ second"}) {
    std::ofstream(file) << "__global__ void product(" << parameters << rest;
    const Trial trial = try_kernel({.file = file, .grid = "M", .block = "N", .m = 20, .n = 30, .k = 10});
    EXPECT_TRUE(trial.ok()) << parameters << text_of(trial.run);
  }
}
TEST(Trial, DynamicSharedMemoryIsRight) {
  expect_right(in_tiles_of_16({.file = "dynamic.cu", .shared = "2 * 16 * 16 * sizeof(float)"}));
}
TEST(Trial, AThousandBlocksMayWaitForEachOther) { expect_right({.file = "many_blocks.cu"}); }
TEST(Trial, LastBlockSumsUpByAtomicsOnDeviceVariables) { expect_right({.file = "last_block.cu"}); }
TEST(Trial, NumbersOf16BitsAreAddedUpByAtomics) {
  for (const char* const kernel : {"added<__half, __half2>", "added<__nv_bfloat16, __nv_bfloat162>"}) {
    const Trial trial = run(
        {.file = "narrow_atomics.cu", .kernel = kernel, .grid = "1", .block = "N, M", .m = 16, .n = 16, .k = 32});
    EXPECT_TRUE(trial.run.ok()) << kernel << "\n" << text_of(trial.run);
    // Of 8 warps. Variables of the file are no memory of the problem.
    EXPECT_EQ(trial.run.report.total.shared_atomic.instructions, 2u * 8) << kernel;
  }
}
TEST(Trial, BlocksOfAGridWaitForEachOther) {
  // 128 blocks of 256 threads, which multiprocessors of Hopper hold at a time.
  const Trial trial = run({.file = "grid_barrier.cu", .m = 128, .n = 256, .k = 8});
  EXPECT_TRUE(trial.ok()) << text_of(trial.run);
}
TEST(Trial, LaunchesAreRefusedAsTheRuntimeRefusesThem) {
  expect_refused({.file = "last_block.cu", .block = "16, 32"},
                 "split is launched with 512 threads a block; its __launch_bounds__ allow 256");
  expect_refused({.file = "too_much_shared.cu"},
                 "tiled is launched with 65536 bytes of shared memory; without cudaFuncSetAttribute(tiled, "
                 "cudaFuncAttributeMaxDynamicSharedMemorySize, 65536) a block has at most 49152");
}
TEST(Trial, HalfIsRight) { expect_right({.file = "half.cu"}); }
TEST(Trial, WarpMatricesInSharedMemoryAreRightAndLoadedByLdmatrix) {
  const Trial trial = run({.file = "wmma.cu"});
  ASSERT_TRUE(trial.ok()) << text_of(trial.run);
  EXPECT_TRUE(trial.other->ok()) << text_of(*trial.other);
  // 8 x 16 tiles, 4 steps of k: one instruction for each of A and B; then 8 loads to copy the results.
  constexpr std::uint64_t loads = 8 * 16 * 4 * 2, copies = 8 * 16 * 8;
  const emulator::SharedCounters& counted = trial.run.report.total.shared_load;
  EXPECT_EQ(counted.instructions, loads + copies);
  EXPECT_EQ(counted.wavefronts, 4 * loads + copies) << "padded: no conflicts";
}
TEST(Trial, WarpMatricesOfBfloat16InGlobalMemoryAreRight) {
  expect_right({.file = "wmma_global.cu", .layout = "RCR"}, false);
}
TEST(Trial, WarpMatricesInDeviceVariablesAreRight) {
  expect_right({.file = "wmma_variables.cu", .layout = "RRR"}, false);
}
TEST(Trial, SumsInHalfAreToldFromMistakes) {
  for (const Request& request : {Request{.file = "wmma_half.cu", .layout = "CRC"},
                                 in_tiles_of_16({.file = "half_sums.cu", .kernel = "hgemm_naive"}),
                                 in_tiles_of_16({.file = "half_sums.cu", .kernel = "rounded_products"})}) {
    const Trial trial = run(request);
    EXPECT_FALSE(trial.ok());
    EXPECT_EQ(trial.run.wrong.mistake, Mistake::half_sums) << text_of(trial.run);
    expect_text(trial.run.wrong.cause, {"sums, products or operands are rounded to half"});
    Request meant = request;
    meant.sums = Element::f16;
    const Trial narrow = run(meant);
    EXPECT_TRUE(narrow.ok()) << text_of(narrow.run);
    EXPECT_GT(narrow.run.verification.bound, 8 * trial.run.verification.bound);
  }
  EXPECT_FALSE(run(in_tiles_of_16({.file = "broken.cu", .kernel = "rows_left_out", .sums = Element::f16})).ok());
  const Trial forgotten = run(in_tiles_of_16(
      {.file = "broken.cu", .kernel = "forgotten_tile", .m = 32, .n = 48, .k = 40, .sums = Element::f16}));
  EXPECT_FALSE(forgotten.ok());
  EXPECT_EQ(forgotten.run.wrong.mistake, Mistake::short_sums);
  expect_text(forgotten.run.verification.message, {"results are wrong for sums in f16; the worst is D("});
}
// Of 1152 products one, the others in float.
TEST(Trial, AProductThatIsMissingIsNotTakenForSumsInHalf) {
  const Trial trial = run(
      in_tiles_of_16({.file = "broken.cu", .kernel = "one_product_left_out", .m = 32, .n = 48, .k = 1152}));
  EXPECT_FALSE(trial.ok());
  EXPECT_NE(trial.run.wrong.mistake, Mistake::half_sums) << text_of(trial.run);
}
TEST(Trial, AForgottenBarrierBetweenVolatileAccessesIsHintedAt) {
  const Trial trial = run(in_tiles_of_16({.file = "broken.cu", .kernel = "volatile_tiles"}));
  EXPECT_FALSE(trial.ok());
  EXPECT_NE(trial.run.wrong.cause.find("without `volatile`"), std::string::npos) << text_of(trial.run);
  EXPECT_TRUE(trial.warnings.empty()) << trial.warnings;
}
TEST(Trial, LeadingDimensionsAndSeparateDAreRight) { expect_right(in_tiles_of_16({.file = "pitched.cu"})); }
TEST(Trial, ColumnMajorMatricesAreRightAndFoundToBe) {
  expect_right({.file = "column_major.cu", .layout = "NN"});
  const Trial trial = run({.file = "column_major.cu"});
  EXPECT_FALSE(trial.ok());
  EXPECT_EQ(trial.right_with, (Layouts{true, true, true}));
}
TEST(Trial, HalfOperandsWithAFloatResultAreHeldAgainstTheBoundOfFloat) {
  const Trial trial = run({.file = "half_to_float.cu"});
  ASSERT_TRUE(trial.ok()) << text_of(trial.run);
  EXPECT_EQ(trial.run.operands.A.element, Element::f16);
  EXPECT_EQ(trial.run.operands.D.element, Element::f32);
  EXPECT_TRUE(trial.other->ok());
  EXPECT_LT(trial.run.verification.bound, 1e-3);
  EXPECT_EQ(trial.run.report.total.fma, 128u * 256 * 96);
  for (const emulator::LineCounters& line : trial.run.report.lines)
    EXPECT_EQ(line.file.find("cuda_fp16.h"), std::string::npos) << "accesses of half2 belong to the kernel's line";
}
TEST(Trial, DoubleWithLeadingDimensionsAndATransposedIsRightInDouble) {
  expect_right({.file = "dgemm_tn.cu", .layout = "TN"});
  expect_right({.file = "dgemm_tn.cu", .layout = "RCC", .lda = 65, .ldb = 80, .ldc = 131});
  expect_text(text_of(run(in_tiles_of_16({.file = "broken.cu", .kernel = "float_sum"})).run),
              {"right to single precision only"});
}
TEST(Trial, SizesThatAreConstantsOfTheFileAreGivenValues) {
  const Trial trial = run({.file = "constants.cu"});
  ASSERT_TRUE(trial.ok()) << text_of(trial.run);
  EXPECT_EQ(trial.run.spec.problem.M, 128) << "1024 takes too long";
  EXPECT_EQ(trial.run.shape.grid.x, 8u);
  EXPECT_EQ(trial.run.shape.grid.y, 16u);
  EXPECT_FALSE(trial.constants.empty());
  EXPECT_EQ(run({.file = "constants.cu", .n = 48}).run.spec.problem.K, 48);
}
TEST(Trial, VectorsInUnionsAndStructuresAreRightAndMovedWhole) {
  expect_right({.file = "vectors.cu"}, false);
  const emulator::Counters total = run({.file = "vectors.cu", .m = 64, .n = 64, .k = 64}).run.report.total;
  // Of 4 blocks of 8 warps: A by all of them, B by one.
  EXPECT_EQ(total.global_load.requests, 4u * 64 * (8 + 1));
  EXPECT_EQ(total.shared_store.instructions, 4u * 64);
  EXPECT_EQ(total.shared_load.instructions, 4u * 64 * 8);
  EXPECT_EQ(total.global_store.requests, 4u * 8);
}
TEST(Trial, UnionsAndConstantsOfVectorsCompileAsTheyDoByNvcc) { expect_right({.file = "unions.cu"}); }
TEST(Trial, LoadsOfHalvesAreOfTheirOwnLines) {
  const Trial trial = run({.file = "lines.cu", .m = 16, .n = 16, .k = 16});
  std::vector<std::pair<int, std::uint64_t>> loads;
  for (const emulator::LineCounters& line : trial.run.report.lines)
    if (line.counters.global_load.requests > 0) loads.emplace_back(line.line, line.counters.global_load.requests);
  EXPECT_EQ(loads, (std::vector<std::pair<int, std::uint64_t>>{{9, 8 * 16}, {10, 8 * 16}}));
}
TEST(Trial, MatricesAsStructuresWithTheirSizesAreRight) { expect_right({.file = "structures.cu"}, false); }
TEST(Trial, NamesInNamespacesAndTemplatesAreResolved) {
  expect_right({.file = "namespaces.cu", .kernel = "product"});
  expect_right(in_tiles_of_16({.file = "namespaces.cu", .kernel = "gemm::of_matrices<16>"}));
  expect_refused({.file = "namespaces.cu"}, "gemm::detail::product, gemm::of_matrices");
}
TEST(Trial, IntegerFactorsAndSmallSizesBesideATileInCapitalsAreRight) {
  expect_right({.file = "integers.cu"});
  expect_refused({.file = "integers.cu", .beta = 0.5f}, "--beta is 0.5; `beta` of sgemm is of type int");
}
TEST(Trial, SaysWhyItWasNotTimedOrHow) {
  const GpuRun gpu = run({.file = "half.cu"}).gpu;
  EXPECT_NE(gpu.time.has_value(), !gpu.not_timed.empty());
}

// What published walk-throughs of matrix multiplication build, with their mistakes.

/// Counters of one line of a kernel that is right.
emulator::Counters line_of(const Request& request, int line) {
  const Trial trial = run(request);
  EXPECT_TRUE(trial.ok()) << text_of(trial.run);
  for (const emulator::LineCounters& counted : trial.run.report.lines)
    if (counted.line == line) return counted.counters;
  ADD_FAILURE() << "nothing is counted at line " << line;
  return {};
}
std::uint64_t ways(const emulator::SharedCounters& counted) { return counted.wavefronts / counted.instructions; }

TEST(Trial, PaddingByAWordHelpsNarrowAccessesOfHalvesAndMakesWideOnesFault) {
  const auto padded = [](const char* kernel) {
    return line_of({.file = "half_padded.cu", .kernel = kernel, .m = 128, .n = 128, .k = 64}, 41).shared_store;
  };
  EXPECT_EQ(ways(padded("hgemm<0, 128>")), 8u) << "A, transposed";
  EXPECT_EQ(ways(padded("hgemm<2, 32>")), 4u);
  const Trial wide = run({.file = "half_padded.cu", .kernel = "hgemm<2, 128>"});
  ASSERT_TRUE(wide.run.fault);
  EXPECT_EQ(wide.run.fault->kind, FaultKind::misaligned);
  expect_text(wide.run.fault->message, {"misaligned shared load of 16 bytes", "half_padded.cu:20"});
}
TEST(Trial, WhereTheGridHasNoBlockOfSmallSizesLargerOnesBesideWholeTilesAreTried) {
  const Trial trial = run({.file = "half_padded.cu"});
  EXPECT_TRUE(trial.ok()) << text_of(trial.run);
  expect_text(trial.not_taken, {"the grid has an extent of 0"});
  ASSERT_TRUE(trial.other);
  EXPECT_EQ(trial.other->wrong.mistake, Mistake::unwritten) << text_of(*trial.other);
  EXPECT_EQ(trial.tried, std::vector<std::string>{"M is no multiple of 128"});
  ASSERT_EQ(trial.wrong_too.size(), 2u);
  expect_text(trial.wrong_too[0], {"(N is no multiple of 128): 2048 of 100352 results are wrong"});
  expect_text(trial.wrong_too[1], {"(K is no multiple of 64): out-of-bounds"});
}
// Any M and N are right, K alone need not be.
TEST(Trial, AGridThatIsRoundedDownMayBeRightAtEverySize) {
  const auto tried = [](const char* kernel) {
    return run({.file = "rounded_down.cu", .kernel = kernel, .grid = "N / 128, M / 128", .block = "32, 8"});
  };
  const Trial right = tried("product<true>"), wrong = tried("product<false>");
  ASSERT_TRUE(right.ok() && right.other);
  EXPECT_TRUE(right.other->ok()) << text_of(*right.other);
  EXPECT_GT(right.tried.size(), 6u) << "other problems of the list, too";
  ASSERT_TRUE(wrong.ok() && wrong.other);
  EXPECT_EQ(wrong.tried.back(), "K is no multiple of 8");
  EXPECT_EQ(wrong.other->wrong.mistake, Mistake::short_sums) << text_of(*wrong.other);
}
TEST(Trial, SizesThatALaunchHasOneVariableForAreEqual) {
  const ScratchFolder folder;
  const std::string file = folder.file("squares.cu");
  const auto tried = [&](const char* launch, const Request& given = {}) {
    std::ofstream(file) << R"(
__global__ void gemm(int M, int N, int K, const float* A, const float* B, float* C) {
  const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  if (row >= M || col >= N) return;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
  C[row * N + col] = sum;
}
int main() { int n = 512, k = 1024; float *A, *B, *C; dim3 block(16, 16), grid((n + 15) / 16, (n + 15) / 16); )"
                        << launch << "; }\n";
    Request request = given;
    request.file = file;
    return try_kernel(request);
  };
  for (const auto& [launch, equal] : {std::pair("gemm<<<grid, block>>>(n, n, n, A, B, C)", "MNK"),
                                      std::pair("gemm<<<grid, block>>>(n, n, k, A, B, C)", "MN")}) {
    const Trial trial = tried(launch);
    EXPECT_TRUE(trial.ok() && trial.other && trial.other->ok()) << launch << text_of(trial.run);
    EXPECT_EQ(trial.equal, equal);
    EXPECT_GT(trial.tried.size(), 10u);
    for (const Problem& p : {trial.run.spec.problem, trial.other->spec.problem}) {
      EXPECT_EQ(p.M, p.N) << launch;
      EXPECT_EQ(p.K == p.M, trial.equal == "MNK") << launch;
    }
  }
  // What is given by hand stands.
  const Trial sized = tried("gemm<<<grid, block>>>(n, n, n, A, B, C)", {.m = 40, .n = 24, .k = 8});
  EXPECT_EQ(sized.run.spec.problem.N, 24);
  const Trial launched = tried("gemm<<<grid, block>>>(n, n, n, A, B, C)",
                               {.grid = "(N + 15) / 16, (M + 15) / 16", .block = "16, 16"});
  EXPECT_NE(launched.run.spec.problem.M, launched.run.spec.problem.N);
  EXPECT_TRUE(launched.ok() && sized.ok() && sized.equal.empty() && launched.equal.empty());
}
TEST(Trial, TransposingAWarpTilesOperandMovesItsConflictToTheStores) {
  const auto tiles = [](const char* kernel, int line) {
    return line_of({.file = "warp_tiles.cu", .kernel = kernel, .m = 128, .n = 128, .k = 8}, line);
  };
  EXPECT_EQ(ways(tiles("sgemm<false, false>", 25).shared_load), 4u) << "sequential";
  EXPECT_EQ(ways(tiles("sgemm<true, true>", 18).shared_store), 8u) << "strided, transposed";
}
TEST(Trial, FactorsThatAreNotAppliedAreNamed) {
  const auto mistake = [](const char* kernel) {
    return run({.file = "unscaled.cu", .kernel = kernel, .grid = "8, 4", .block = "16, 16", .m = 64, .n = 128, .k = 24})
        .run.wrong.mistake;
  };
  EXPECT_EQ(mistake("product<false, false>"), Mistake::no_factors);
  EXPECT_EQ(mistake("product<true, false>"), Mistake::no_beta_c);
  expect_right(in_tiles_of_16({.file = "unscaled.cu", .kernel = "product<false, false>", .alpha = 1, .beta = 0}));
}

TEST(Trial, OneTermThatIsAnotherIsNamed) {
  const auto wrong = [](const char* kernel) {
    Request request{.file = "one_term.cu",
                    .kernel = kernel,
                    .grid = "3, 2",
                    .block = "16, 16",
                    .shared = "2048",
                    .m = 32,
                    .n = 48,
                    .k = 24};
    const Trial trial = run(request);
    EXPECT_FALSE(trial.ok()) << kernel;
    return trial.run.wrong;
  };
  EXPECT_EQ(wrong("product<0>").mistake, Mistake::alpha_of_c);
  EXPECT_EQ(wrong("product<1>").mistake, Mistake::beta_alone);
  const WrongResults twice = wrong("product<2>");
  EXPECT_EQ(twice.mistake, Mistake::multiples);
  expect_text(twice.cause, {"they are 2 times what they should be"});
  expect_text(wrong("one_array").cause, {"tile_a and tile_b are both `extern __shared__`"});
  const Trial counted = run(
      {.file = "one_term.cu", .kernel = "counted", .grid = "4", .block = "32", .m = 32, .n = 48, .k = 24});
  EXPECT_FALSE(counted.ok());
  expect_text(counted.run.wrong.cause, {"no thread writes them when it is launched again"});
}

Request with_factors(const char* kernel) {
  return {
      .file = "factors.cu", .kernel = kernel, .grid = "M", .block = "64", .shared = "K * 4", .m = 32, .n = 48, .k = 16};
}
TEST(Trial, FactorsThatKernelsTreatApartAreTried) {
  const Trial right = run(with_factors("product<0>"));
  EXPECT_TRUE(right.ok()) << text_of(right.run);
  const auto factors_of = [](const Trial& trial) {
    std::vector<std::pair<float, float>> factors;
    for (const Factors& one : trial.factors) factors.emplace_back(one.alpha, one.beta);
    return factors;
  };
  using Pairs = std::vector<std::pair<float, float>>;
  EXPECT_EQ(factors_of(right), (Pairs{{2, 3}, {2, 0}, {1, 3}, {1, 0}, {1, 1}, {0, 3}, {-1, 1}, {2, -1}, {0.7f, 0.6f}}));
  Request integers = with_factors("product<0>");
  integers.beta = 1;
  EXPECT_EQ(factors_of(run(integers)), (Pairs{{2, 1}, {1, 1}, {0, 1}, {-1, 1}, {0.7f, 1}})) << "what is given stays";
  for (const auto& [kernel, factors, mistake] : {std::tuple("product<1>", std::pair(2.f, 0.f), Mistake::no_alpha),
                                                 std::tuple("product<2>", std::pair(2.f, 0.f), Mistake::c_without_beta),
                                                 std::tuple("product<3>", std::pair(1.f, 3.f), Mistake::no_beta_c)}) {
    const Trial trial = run(with_factors(kernel));
    EXPECT_FALSE(trial.ok()) << kernel;
    EXPECT_EQ(trial.run.wrong.mistake, mistake) << text_of(trial.run);
    EXPECT_EQ(std::pair(trial.run.spec.alpha, trial.run.spec.beta), factors) << kernel;
    EXPECT_EQ(factors_of(trial).back(), factors) << kernel;
  }
  Request given = with_factors("product<1>");
  given.beta = 3;
  EXPECT_TRUE(run(given).ok()) << "what is given is not varied";
}
TEST(Trial, InputsThatAreChangedAreFound) {
  Request request = with_factors("product<4>");
  request.n = {};
  expect_text(run(request).run.verification.message, {"512 elements of A were changed, which is an input"});
  request = with_factors("by_way_of_c");
  request.shared = {};
  expect_text(run(request).run.verification.message, {"1536 elements of C were changed"});
}
TEST(Trial, WrongAssertionAndExchangedBlockOffsetsAreFound) {
  const Trial assertion = run({.file = "wrong_blocks.cu", .kernel = "sgemm<true, false>"});
  ASSERT_TRUE(assertion.run.fault);
  expect_text(assertion.run.fault->message, {"assert(blockDim.x == threads) is false\n  at ", "wrong_blocks.cu:11"});
  Request request{.file = "wrong_blocks.cu", .kernel = "sgemm<false, true>", .layout = "RRR"};
  expect_text(text_of(run(request).run), {"out-of-bounds global load of 4 bytes", "wrong_blocks.cu:19"});
  request.m = request.n = 128;
  request.k = 8;
  expect_text(text_of(run(request).run), {"8192 of 16384 results are wrong"});
}

TEST(Trial, InlinePtxOfTensorCoresIsRight) {
  const Trial trial = run({.file = "mma_ptx.cu", .layout = "RCR", .m = 128, .n = 64, .k = 64});
  EXPECT_TRUE(trial.ok()) << text_of(trial.run);
  const emulator::Counters& counted = trial.run.report.total;
  // 2 blocks of 4 warps, 8 products of 32 x 32 x 8 each, of m16n8k8.
  EXPECT_EQ(counted.mma.instructions, 2u * 4 * 8 * 8);
  EXPECT_EQ(counted.mma.flop, 2u * 128 * 64 * 64);
  // 8 bytes a lane of A and 4 of B: no conflicts in padded rows.
  EXPECT_EQ(counted.shared_load.wavefronts, 2u * 4 * 8 * (2 * 2 + 4));
  EXPECT_EQ(counted.async_copy.requests, 2u * 2 * 4 * 2 * 2);
}
TEST(Trial, QualifiersOfInlinePtxAreTakenInEveryOrderThatPtxasTakes) {
  for (const unsigned at_a_time : {4u, 2u, 1u}) {
    const Trial trial = run({.file = "ldmatrix_orders.cu",
                             .kernel = fmt::format("gemm<{}>", at_a_time),
                             .grid = "N / 16, M / 16",
                             .block = "32",
                             .m = 32,
                             .n = 48,
                             .k = 64});
    EXPECT_TRUE(trial.ok()) << text_of(trial.run);
    // 6 tiles, 4 steps along k, 4 matrices of A and of B.
    EXPECT_EQ(trial.run.report.total.shared_load.instructions, 6 * 4 * 2 * (4 / at_a_time));
  }
}
TEST(Trial, WhatKernelsPrintIsSetApart) {
  const ScratchFolder folder;
  const std::string file = folder.file("printing.cu");
  std::ofstream(file) << "#include <cstdio>\n"
                         "__global__ void gemm(const float* A, const float* B, float* C, int N) {\n"
                         "  if (threadIdx.x == 0) printf(\"row %d\\a\\n\", N);\n"
                         "  float sum = 0;\n"
                         "  for (int k = 0; k < N; ++k) sum += A[blockIdx.x * N + k] * B[k * N + threadIdx.x];\n"
                         "  C[blockIdx.x * N + threadIdx.x] = sum;\n}\n";
  const Trial trial = try_kernel({.file = file, .grid = "N", .block = "N", .n = 2});
  EXPECT_TRUE(trial.ok()) << text_of(trial.run);
  EXPECT_EQ(trial.run.printed, "row 2?\nrow 2?\n");
}

// Broken ones.

EmulatedRun broken(const char* kernel) { return run(in_tiles_of_16({.file = "broken.cu", .kernel = kernel})).run; }

TEST(Trial, SumsAreLongerThanTilesOnceAtLeast) {
  const Trial trial = run({.file = "broken.cu", .kernel = "short_row", .grid = "M", .block = "128"});
  EXPECT_TRUE(trial.ok()) << text_of(trial.run);
  ASSERT_TRUE(trial.other && trial.other->fault);
  expect_text(trial.other->fault->message, {"out-of-bounds shared store"});
  EXPECT_GT(trial.other->spec.problem.K, 1000);
}

TEST(Trial, FactorsBetweenWholeNumbersAreTried) {
  const Trial trial = run(in_tiles_of_16({.file = "broken.cu", .kernel = "whole_factors"}));
  EXPECT_FALSE(trial.ok());
  EXPECT_NE(trial.run.spec.beta, std::trunc(trial.run.spec.beta));
}

TEST(Trial, WhatAStoppedLaunchLeftInVariablesIsNotSeen) {
  const EmulatedRun stopped = run({.file = "broken.cu",
                                   .kernel = "forgotten_fence",
                                   .grid = "(N + 15) / 16, (M + 15) / 16, 2",
                                   .block = "16, 16"})
                                  .run;
  ASSERT_TRUE(stopped.fault);
  expect_text(stopped.fault->message, {"race on global memory"});
  EXPECT_TRUE(stopped.verification.ok) << stopped.verification.message;
}

TEST(Trial, PitchThatIsNotUsedIsFoundWithLongerRows) {
  const Trial trial = run(in_tiles_of_16({.file = "broken.cu", .kernel = "forgotten_lda"}));
  EXPECT_TRUE(trial.ok()) << text_of(trial.run);
  EXPECT_TRUE(trial.takes_leading_dimensions);
  ASSERT_TRUE(trial.other && trial.other->fault);
  expect_text(trial.other->fault->message, {"of A, where a line of the matrix has ended", "broken.cu:91"});
}
TEST(Trial, WhatIsRightInOneOrderOfBlocksOnlyIsFound) {
  const Trial trial = run(
      in_tiles_of_16({.file = "orders.cu", .kernel = "overwriting", .grid = "ceil_div(N, 16), ceil_div(M, 16), 2"}));
  EXPECT_FALSE(trial.ok());
  EXPECT_NE(trial.run.order, 0u) << "the first run is right";
}
TEST(Trial, WhatIsRightOnceOnlyIsFound) {
  const Trial trial = run(in_tiles_of_16({.file = "orders.cu", .kernel = "counting_once", .m = 32, .n = 48, .k = 8}));
  EXPECT_FALSE(trial.ok());
  EXPECT_EQ(trial.run.order, 0u) << "it is wrong in order, too, once it has been launched";
  EXPECT_EQ(trial.launches, 2);
}
TEST(Trial, NarrowOffsetsOfWideLeadingDimensionsAreFound) {
  const Trial trial = run(in_tiles_of_16({.file = "orders.cu", .kernel = "narrow"}));
  EXPECT_TRUE(trial.ok()) << text_of(trial.run);
  ASSERT_TRUE(trial.other && trial.other->fault);
  EXPECT_EQ(trial.tried.back(), "offsets beyond 32 bits");
  expect_text(trial.other->fault->message, {"of A", "orders.cu:36"});
}
TEST(Trial, MissingBarrierIsARaceWithBothLines) {
  const EmulatedRun run = broken("missing_barrier");
  ASSERT_TRUE(run.fault);
  EXPECT_EQ(run.fault->kind, FaultKind::race);
  expect_text(run.fault->message,
              {"race on shared memory", "writes it at ", "broken.cu:9\n", "reads it at ", "broken.cu:12\n"});
  EXPECT_GT(run.verification.results, 0) << "it is run past";
}
TEST(Trial, WrongPitchIsFoundAtSizesThatDiffer) {
  expect_text(broken("wrong_pitch").fault.value().message,
              {"out-of-bounds global load", "of A", "broken.cu:20", "thread ("});
}
TEST(Trial, MissingBoundsCheckIsFoundAtRaggedSizes) {
  const Trial trial = run(in_tiles_of_16({.file = "broken.cu", .kernel = "no_bounds", .m = 100, .n = 70, .k = 33}));
  expect_text(trial.run.fault.value().message, {"out-of-bounds global load", "broken.cu:27", "thread (6, 0, 0)"});
}
TEST(Trial, UnalignedVectorIsFound) {
  expect_text(broken("unaligned").fault.value().message,
              {"misaligned global load of 16 bytes", "broken.cu:35", "thread (0, 0, 0)"});
}
TEST(Trial, UnalignedVectorOfADeviceVariableIsFound) {
  expect_text(run({.file = "misaligned_variable.cu"}).run.fault.value().message,
              {"misaligned global load of 16 bytes", "misaligned_variable.cu:11", "thread (0, 0, 0)"});
}
TEST(Trial, ForgottenLastTileIsToldByItsSums) {
  const WrongResults wrong =
      run(in_tiles_of_16({.file = "broken.cu", .kernel = "forgotten_tile", .m = 32, .n = 48, .k = 40})).run.wrong;
  EXPECT_EQ(wrong.pattern, "every result");
  EXPECT_EQ(wrong.mistake, Mistake::short_sums);
  expect_text(wrong.cause, {"their sums end before k = 32"});
}
TEST(Trial, UninitialisedSharedMemoryIsNamed) {
  expect_text(broken("uninitialised").fault.value().message,
              {"As[15][16] that no thread of this block has written", "broken.cu:57"});
}
TEST(Trial, SharedArrayOverrunIsNamed) {
  expect_text(broken("past_the_end").fault.value().message, {"element 256 of As, which has 256", "broken.cu:66"});
}
TEST(Trial, WhatIsReadOfCIsToldFromWhatIsNotWritten) {
  const auto tried = [](const char* kernel, InitialC initial_c) {
    return run({.file = "reads_c.cu",
                .kernel = kernel,
                .grid = "ceil_div(N, 16), ceil_div(M, 16), 2",
                .block = "16, 16",
                .m = 32,
                .n = 48,
                .k = 40,
                .initial_c = initial_c});
  };
  for (const auto& [kernel, mistake] :
       {std::pair("times_zero", Mistake::reads_c), std::pair("added", Mistake::adds_to_c),
        std::pair("atomic_halves", Mistake::adds_to_c), std::pair("zero_by_zero", Mistake::not_numbers)}) {
    const EmulatedRun of_nan = tried(kernel, InitialC::nan).run;
    EXPECT_FALSE(of_nan.fault || of_nan.ok()) << kernel;
    EXPECT_EQ(of_nan.wrong.mistake, mistake) << kernel << ": " << text_of(of_nan);
    EXPECT_EQ(of_nan.verification.message.find("never written"), std::string::npos) << of_nan.verification.message;
  }
  expect_text(tried("zero_by_zero", InitialC::nan).run.wrong.cause, {"whatever C holds"});
  EXPECT_TRUE(tried("times_zero", InitialC::zeros).ok());
  for (const char* kernel : {"added", "atomic_halves"})
    for (const InitialC initial_c : {InitialC::zeros, InitialC::numbers}) {
      const Trial trial = tried(kernel, initial_c);
      EXPECT_TRUE(trial.ok()) << kernel << ": " << text_of(trial.run);
    }
  expect_refused({.file = "reads_c.cu", .kernel = "added", .grid = "1", .block = "1", .beta = 1}, "no such parameter");
  expect_refused({.file = "naive.cu", .grid = "1", .block = "1", .initial_c = InitialC::numbers},
                 "--initial-c numbers is for kernels");
}
TEST(Trial, WhatIsLeftAsItWasIsNotWritten) {
  for (const InitialC initial_c : {InitialC::nan, InitialC::zeros}) {
    const WrongResults wrong =
        run(in_tiles_of_16({.file = "broken.cu", .kernel = "rows_left_out", .initial_c = initial_c})).run.wrong;
    EXPECT_EQ(wrong.mistake, Mistake::unwritten) << static_cast<int>(initial_c);
  }
  // At sizes of which the grid covers a part C holds numbers.
  const Trial trial = run(in_tiles_of_16({.file = "reads_c.cu", .kernel = "plain", .grid = "N / 16, M / 16, 1"}));
  EXPECT_TRUE(trial.ok());
  ASSERT_TRUE(trial.other);
  EXPECT_EQ(trial.other->wrong.mistake, Mistake::unwritten) << text_of(*trial.other);
}
TEST(Trial, SumsOfVectorsAreNoMatrixProducts) {
  const WrongResults wrong = run({.file = "reads_c.cu", .kernel = "vectors", .grid = "1", .block = "N"}).run.wrong;
  EXPECT_EQ(wrong.mistake, Mistake::elementwise);
  expect_text(wrong.cause, {"no matrix product", "elements of A plus elements of B"});
}
TEST(Trial, ProblemsAreSeveralTilesEachWay) {
  const CudaSource source(LAPIDARY_KERNELS "/several_tiles.cu");
  const auto sizes = [&](const char* kernel) {
    const Request request{.kernel = kernel};
    const Problem p = several_tiles(source, bind_call(source, request), request);
    return std::tuple(p.M, p.N, p.K);
  };
  EXPECT_EQ(sizes("tiled<32, 32, 8>"), (std::tuple(128, 256, 64)));
  EXPECT_EQ(sizes("tiled<256, 192, 48>"), (std::tuple(512, 384, 144)));
  EXPECT_EQ(sizes("in_one_row<128, 128, 64>"), (std::tuple(256, 384, 192)));
  EXPECT_EQ(sizes("tiled<256, 256, 128>"), (std::tuple(512, 768, 128))) << "three steps would take long";
  // By what a loop along K goes on, whatever that is called.
  EXPECT_EQ(sizes("in_steps_of_96"), (std::tuple(128, 256, 288)));
  EXPECT_EQ(sizes("in_steps<80>"), (std::tuple(128, 256, 240)));
  // Not by those of loops that end elsewhere; with what is named as many as all have in common.
  EXPECT_EQ(sizes("along_others<32>"), (std::tuple(128, 256, 96)));
}
TEST(Trial, RacesBetweenStepsAreFoundWhateverTheStepIsCalled) {
  const EmulatedRun found = run({.file = "several_tiles.cu", .kernel = "in_steps_of_96"}).run;
  ASSERT_TRUE(found.fault);
  EXPECT_EQ(found.fault->kind, FaultKind::race);
}
TEST(Trial, WhatTheCompilerSeesOfVariablesOfAThreadIsTold) {
  const Trial trial = run({.file = "reads_c.cu", .kernel = "locals", .grid = "1", .block = "N"});
  expect_text(trial.warnings, {"reads_c.cu:", "[-Wmaybe-uninitialized]"});
  EXPECT_EQ(run({.file = "half.cu"}).warnings, "");
}
TEST(Trial, WarningsOfWhatOtherKernelsDoAreNotTold) {
  const ScratchFolder folder;
  const std::string file = folder.file("warnings.cu");
  std::ofstream(file) << R"(
__device__ float twice(const float* sums) { return 2 * sums[1] - sums[1]; }
__device__ float unset(float x) { float y; if (x > 3) y = x; return y; }
__global__ void other(const float* A, const float* B, float* C, int N) {
  float sums[4];
  sums[0] = A[0];
  C[threadIdx.x] = twice(sums);
}
__global__ void sound(const float* A, const float* B, float* C, int N) {
  float sums[2] = {};
  for (int k = 0; k < N; ++k) sums[1] += A[blockIdx.x * N + k] * B[k * N + threadIdx.x];
  C[blockIdx.x * N + threadIdx.x] = twice(sums);
}
__global__ void calling(const float* A, const float* B, float* C, int N) {
  float sum = 0;
  for (int k = 0; k < N; ++k) sum += A[blockIdx.x * N + k] * unset(B[k * N + threadIdx.x]);
  C[blockIdx.x * N + threadIdx.x] = sum;
}
)";
  const auto warnings = [&](const char* kernel) {
    return try_kernel({.file = file, .kernel = kernel, .grid = "N", .block = "N", .n = 16}).warnings;
  };
  EXPECT_EQ(warnings("sound"), "");
  expect_text(warnings("other"), {"sums"});
  expect_text(warnings("calling"), {".cu:3:"});
}
TEST(Trial, NegativeResultsThatAreZeroAreToldFromMissingSums) {
  const EmulatedRun of = broken("without_negative");
  EXPECT_EQ(of.wrong.mistake, Mistake::negative_as_zero) << text_of(of);
}
TEST(Trial, SumsThatAreNotSetBeforeAreAmongTheReasonsOfNoNumbers) {
  expect_text(broken("unset_sums").wrong.cause, {"not numbers", "is added to before it is set"});
}
TEST(Trial, AdviceIsOfOneInstruction) {
  // On one line each: neighbours of A beside a column of B, and one word of shared memory beside a column.
  const Trial trial = run({.file = "one_line.cu", .grid = "N / 32, M", .block = "32", .m = 32, .n = 64, .k = 64});
  ASSERT_TRUE(trial.ok()) << text_of(trial.run);
  ASSERT_EQ(trial.advice.size(), 2u);
  expect_text(text_of(trial.advice[0]), {"one_line.cu:9: the lanes of a warp touch 32 sectors of B with one"});
  expect_text(text_of(trial.advice[1]), {"one_line.cu:12: bank conflicts, up to 32 wavefronts for one load where "});
}
TEST(Trial, UnwrittenRowsAreDescribed) {
  const WrongResults wrong = broken("rows_left_out").wrong;
  EXPECT_EQ(wrong.pattern, "rows 12 to 15 of every 16");
  EXPECT_EQ(wrong.mistake, Mistake::unwritten);
}

// What cannot be run.

TEST(Trial, LayoutsAndLeadingDimensionsThatCannotBeAreRefused) {
  expect_refused({.file = "dgemm_tn.cu", .layout = "TN", .lda = 63}, "--lda is 63; a row of A has 64 elements");
  expect_refused({.file = "column_major.cu", .lda = 512}, "gemm_tiled has no such parameter");
  expect_refused({.file = "column_major.cu", .layout = "RRX"}, "two of BLAS");
}
TEST(Trial, ResultsThatHaveOneNameHaveOneLeadingDimension) {
  const ScratchFolder folder;
  Request request{.file = folder.file("named_d.cu"), .grid = "N, M", .block = "1", .m = 5, .n = 6, .k = 7, .ldd = 9};
  std::ofstream(request.file) << R"(
__global__ void gemm(int M, int N, int K, const float* A, const float* B, float* D, int ldd) {
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[blockIdx.y * K + k] * B[k * N + blockIdx.x];
  D[blockIdx.y * ldd + blockIdx.x] = sum;
}
)";
  EXPECT_TRUE(try_kernel(request).ok());
  request.ldc = 9;
  try {
    try_kernel(request);
    ADD_FAILURE() << "its results are called D";
  } catch (const InvalidArgument& error) {
    expect_text(error.what(), {"--ldc is given, and gemm has no such parameter"});
  }
}
TEST(Trial, HeadersThatItHasNotAreNamedWithTheirLine) {
  const ScratchFolder folder;
  const std::string file = folder.file("narrow.cu");
  for (const char* const name : {"cuda_fp8.h", "cuda_pipeline.h", "cuda/atomic"}) {
    std::ofstream(file) << "#include <cuda_runtime.h>\n#include <" << name
                        << ">\n__global__ void nothing(float* A, float* B, float* C) {}\n";
    try {
      try_kernel({.file = file});
      ADD_FAILURE() << name;
    } catch (const InvalidArgument& error) {
      expect_text(error.what(), {fmt::format("narrow.cu:2: <{}> is not supported", name).c_str()});
    }
  }
}
TEST(Trial, WhatNvccTakesNotIsRefused) {
  const auto kernel = [](const char* name) { return in_tiles_of_16({.file = "not_by_nvcc.cu", .kernel = name}); };
  expect_refused(kernel("returns"), "returns int; a __global__ function must return void");
  expect_refused(kernel("catches"), "has a `try`; there are no exceptions in device code");
  expect_refused(kernel("refers"), "`M` is a reference, to memory of the host");
  expect_refused(kernel("has_any_length"),
                 "not_by_nvcc.cu:20:9: error: an array of the kernel has a length that no constant tells");
}
TEST(Trial, CompilerErrorsNameTheLineOfTheFile) {
  expect_refused(in_tiles_of_16({.file = "mistyped.cu"}), "mistyped.cu:4:");
}
TEST(Trial, MissingLaunchIsAskedForWithAnExample) {
  expect_refused({.file = "naive.cu"}, "--grid \"ceil_div(N,32), ceil_div(M,32)\"");
}
TEST(Trial, ExpressionsOfALaunchThatCannotBeEvaluatedAreNamed) {
  expect_refused({.file = "naive.cu", .grid = "N / BX", .block = "32"},
                 "the grid is not known: `N / BX`: \"BX\" is unknown; give the launch, as in");
}
TEST(Trial, WhatIsNotSupportedIsNamedWithItsLine) {
  expect_refused({.file = "naive.cu", .grid = "99999999999", .block = "32"},
                 "the grid has an extent of 99999999999; legal are 1 to 2147483647");
  expect_refused({.file = "naive.cu", .grid = "1, 2, 3, 4", .block = "32"}, "the grid has 4 extents");
  expect_refused({.file = "cooperative.cu"}, "cooperative.cu:3: `cooperative_groups` is not supported");
}
TEST(Trial, InlinePtxThatIsNoneOrNotKnownIsNamed) {
  const auto expect = [](const std::string& assembly, const std::string& why) {
    const ScratchFolder folder;
    const std::string file = folder.file("inline_ptx.cu");
    std::ofstream(file) << "__global__ void gemm(const float* A, const float* B, float* C, int N) {\n"
                        << "  asm volatile(\"" << assembly << "\");\n}\n";
    try {
      try_kernel({.file = file, .grid = "1", .block = "32"});
      ADD_FAILURE() << assembly;
    } catch (const InvalidArgument& error) {
      expect_text(error.what(), {why.c_str()});
    }
  };
  expect("mma.sync.aligned.m16n8k6.row.col.f32.bf16.bf16.f32 a, b, c, d;",
         ".cu:2: `mma.sync.aligned.m16n8k6.row.col.f32.bf16.bf16.f32` is no instruction: of bf16 there are m16n8k8 and "
         "m16n8k16");
  expect("ctva.to.shared.u64 a, b;", ".cu:2: `ctva.to.shared.u64` of inline PTX is not supported");
}

// Names are given to a shell, to addr2line and to a compiler as they are.
TEST(Trial, FilesAndFoldersMayHaveAnyName) {
  const ScratchFolder folder;
  const std::filesystem::path inside = folder.path() / "o'brien \"$(touch ran)\"; touch ran;'";
  std::filesystem::create_directories(inside);
  const std::string file = (inside / "be\"yond'.cu").string();
  std::ofstream(file) << R"(
__global__ void gemm(const float* A, const float* B, float* C, int N) {
  C[N * N] = A[0] + B[0];
}
)";
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  const Trial trial = try_kernel({.file = file, .grid = "1", .block = "1", .keep = inside.string(), .n = 32});
  EXPECT_FALSE(std::filesystem::exists("ran"));
  std::filesystem::current_path(before);
  ASSERT_TRUE(trial.run.fault);
  EXPECT_NE(trial.run.fault->message.find(file + ":3"), std::string::npos) << trial.run.fault->message;
}

TEST(Trial, FramesLargerThanAStackAndDivisionsByZeroAreTold) {
  const ScratchFolder folder;
  const auto told = [&](const std::string& body) {
    const std::string file = folder.file("wrong.cu");
    std::ofstream(file) << "__global__ void gemm(const float* A, const float* B, float* C, int N) {\n" + body + "}\n";
    const Trial trial = try_kernel({.file = file, .grid = "1", .block = "1", .n = 32});
    return trial.run.fault ? trial.run.fault->message : "";
  };
  for (const int floats : {66200, 100000, 118000, 125000, 3000000})
    expect_text(told(fmt::format("  float q[{}];\n  for (int k = 0; k < N; ++k) q[k * (sizeof(q) / 4 / N)] = A[k];\n"
                                 "  for (int k = 0; k < N; ++k) C[k] = q[k * (sizeof(q) / 4 / N)] * B[k];\n",
                                 floats)),
                {"a thread needs more than"});
  expect_text(told("  int i = threadIdx.x;\n  int z = N / (i - i);\n  C[0] = z;\n"), {"divided by zero"});
}

}  // namespace
}  // namespace lapidary::trial
