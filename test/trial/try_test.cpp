// Kernels in the styles of tutorials, sound and broken, as `lapidary try` sees them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>

#include "cli/run_program.hpp"

namespace lapidary {
namespace {

using Json = nlohmann::json;

/// Runs in the folder of the kernels, so that messages name the bare files.
Output run(const std::string& arguments) { return run_program("try " + arguments, "2>&1", LAPIDARY_KERNELS); }

constexpr const char* tiles_of_16 = " --grid 'ceil_div(N, 16), ceil_div(M, 16)' --block '16, 16' ";

void expect_right(const std::string& arguments, bool at_every_size = true) {
  const Output output = run(arguments + " --json");
  ASSERT_EQ(output.code, 0) << output.text;
  const Json json = Json::parse(output.text);
  EXPECT_TRUE(json["ok"]) << output.text;
  EXPECT_EQ(json["ragged"]["ok"], at_every_size) << output.text;
  EXPECT_GT(json["counters"]["global_load"]["requests"], 0);
}

void expect_wrong(const std::string& kernel, const std::string& options, std::initializer_list<const char*> texts) {
  const Output output = run("broken.cu --kernel " + kernel + tiles_of_16 + options);
  EXPECT_EQ(output.code, 1) << output.text;
  for (const char* text : texts) EXPECT_NE(output.text.find(text), std::string::npos) << text << "\n" << output.text;
}

TEST(Try, NaiveKernelWithExchangedIndicesIsRightAndToldToCoalesce) {
  const Output output = run("naive.cu --grid 'ceil_div(M,32), ceil_div(N,32)' --block '32, 32'");
  EXPECT_EQ(output.code, 0);
  EXPECT_EQ(output.text.find("right  sgemm_naive at M = 128, N = 256, K = 64"), 0u) << output.text;
  EXPECT_NE(output.text.find("touch 32 sectors"), std::string::npos) << output.text;
}
TEST(Try, CoalescedTemplateIsRight) {
  expect_right("coalesced.cu --kernel 'sgemm_coalesced<32>' --grid 'ceil_div(M,32), ceil_div(N,32)' --block 1024");
}
TEST(Try, WholeProgramIsRightWithItsOwnLaunch) { expect_right("program.cu"); }
TEST(Try, BlockTiles1dAreRightWhereTilesDivideTheSize) { expect_right("block_1d.cu", false); }
TEST(Try, VectorisedBlockTiles2dAreRightWhereTilesDivideTheSize) {
  expect_right(
      "block_2d.cuh --kernel 'sgemm_vectorized<64, 64, 8, 8, 4>' --grid 'ceil_div(N, BN), ceil_div(M, BM)' "
      "--block '(BM * BN) / (TM * TN)'",
      false);
}
TEST(Try, DynamicSharedMemoryIsRight) {
  expect_right(std::string("dynamic.cu --shared '2 * 16 * 16 * sizeof(float)'") + tiles_of_16);
}
TEST(Try, HalfIsRight) { expect_right("half.cu"); }
TEST(Try, WarpMatricesInSharedMemoryAreRightAndLoadedByLdmatrix) {
  const Output output = run("wmma.cu --json");
  ASSERT_EQ(output.code, 0) << output.text;
  const Json json = Json::parse(output.text);
  EXPECT_TRUE(json["ragged"]["ok"]) << output.text;
  // 8 x 16 tiles, 4 steps of k: one instruction for each of A and B; then 8 loads to copy the results.
  const std::int64_t loads = 8 * 16 * 4 * 2, copies = 8 * 16 * 8;
  EXPECT_EQ(json["counters"]["shared_load"]["instructions"], loads + copies);
  EXPECT_EQ(json["counters"]["shared_load"]["wavefronts"], 4 * loads + copies) << "padded: no conflicts";
}
TEST(Try, WarpMatricesOfBfloat16InGlobalMemoryAreRight) { expect_right("wmma_global.cu --layout RCR", false); }
TEST(Try, WarpMatricesOfHalfSumsAreAsFarOffAsThoseAre) {
  const Output output = run("wmma_half.cu --layout CRC");
  EXPECT_EQ(output.code, 1) << output.text;
  EXPECT_NE(output.text.find("they are as far off as sums of half precision are"), std::string::npos) << output.text;
}
TEST(Try, LeadingDimensionsAndSeparateDAreRight) { expect_right(std::string("pitched.cu") + tiles_of_16); }

TEST(Try, ColumnMajorMatricesAreRightAndFoundToBe) {
  expect_right("column_major.cu --layout NN");
  const Output output = run("column_major.cu");
  EXPECT_EQ(output.code, 1);
  EXPECT_NE(output.text.find("--layout CCC"), std::string::npos) << output.text;
}
TEST(Try, HalfOperandsWithAFloatResultAreHeldAgainstTheBoundOfFloat) {
  const Output output = run("half_to_float.cu --json");
  ASSERT_EQ(output.code, 0) << output.text;
  const Json json = Json::parse(output.text);
  EXPECT_EQ(json["type"], "f16 x f16 to f32");
  EXPECT_TRUE(json["ragged"]["ok"]);
  EXPECT_LT(json["bound"], 1e-3);
  EXPECT_EQ(json["counters"]["fma"], 128 * 256 * 64);
  EXPECT_EQ(output.text.find("cuda_fp16.h"), std::string::npos) << "accesses of half2 belong to the line of the kernel";
}
TEST(Try, DoubleWithLeadingDimensionsAndATransposedIsRightInDouble) {
  expect_right("dgemm_tn.cu --layout TN");
  expect_right("dgemm_tn.cu --layout RCC --lda 65 --ldb 80 --ldc 131");
  expect_wrong("float_sum", "", {"right to single precision only"});
}
TEST(Try, SizesThatAreConstantsOfTheFileAreGivenValues) {
  const Output output = run("constants.cu --json");
  ASSERT_EQ(output.code, 0) << output.text;
  const Json json = Json::parse(output.text);
  EXPECT_EQ(json["m"], 128) << "1024 takes too long";
  EXPECT_EQ(json["grid"], (std::array{8, 16, 1}));
  EXPECT_EQ(Json::parse(run("constants.cu --json -n 48").text)["k"], 48);
}
TEST(Try, MatricesAsStructuresWithTheirSizesAreRight) { expect_right("structures.cu", false); }
TEST(Try, NamesInNamespacesAndTemplatesAreResolved) {
  expect_right("namespaces.cu --kernel product");
  expect_right("namespaces.cu --kernel 'gemm::of_matrices<16>'" + std::string(tiles_of_16));
  const Output output = run("namespaces.cu");
  EXPECT_NE(output.text.find("gemm::detail::product, gemm::of_matrices"), std::string::npos) << output.text;
}
TEST(Try, LayoutsAndLeadingDimensionsThatCannotBeAreRefused) {
  for (const auto& [arguments, text] :
       {std::pair("dgemm_tn.cu --layout TN --lda 63", "--lda is 63; a row of A has 64 elements"),
        std::pair("column_major.cu --lda 512", "gemm_tiled has no such parameter"),
        std::pair("column_major.cu --layout RRX", "two of BLAS")}) {
    const Output output = run(arguments);
    EXPECT_EQ(output.code, 2);
    EXPECT_NE(output.text.find(text), std::string::npos) << output.text;
  }
}
TEST(Try, PitchThatIsNotUsedIsFoundWithLongerRows) {
  const Output output = run(std::string("broken.cu --kernel forgotten_lda") + tiles_of_16);
  EXPECT_EQ(output.text.find("right, but not at every size and leading dimension:"), 0u) << output.text;
  EXPECT_NE(output.text.find("wrong: all rows from 1 on"), std::string::npos) << output.text;
  EXPECT_EQ(output.text.find("never written"), std::string::npos) << output.text;
}
TEST(Try, SumsInHalfAreToldFromMistakes) {
  const Output output = run(std::string("half_sums.cu") + tiles_of_16);
  EXPECT_EQ(output.code, 1);
  EXPECT_NE(output.text.find("sums of half precision are"), std::string::npos) << output.text;
}
TEST(Try, SaysThatItWasNotTimedWhereThereIsNoGpu) {
  const Json json = Json::parse(run("half.cu --json").text);
  EXPECT_EQ(json["gpu"].is_null(), json["not_timed"].is_string());
}

// What published walk-throughs of matrix multiplication build, with their mistakes.

/// Counters of one line of a kernel that is right at one size.
Json line_of(const std::string& arguments, int line) {
  const Output output = run(arguments + " --json");
  EXPECT_EQ(output.code, 0) << output.text;
  const Json json = Json::parse(output.text);
  for (const Json& counted : json["lines"])
    if (counted["line"] == line) return counted["counters"];
  ADD_FAILURE() << "nothing is counted at line " << line << "\n" << output.text;
  return {};
}
std::int64_t ways(const Json& counters, const char* access) {
  return counters[access]["wavefronts"].get<std::int64_t>() / counters[access]["instructions"].get<std::int64_t>();
}

TEST(Try, PaddingByAWordHelpsNarrowAccessesOfHalvesAndMakesWideOnesFault) {
  const std::string kernel = "half_padded.cu -k 64 -m 128 -n 128 --kernel ";
  EXPECT_EQ(ways(line_of(kernel + "'hgemm<0, 128>'", 41), "shared_store"), 8) << "A, transposed";
  EXPECT_EQ(ways(line_of(kernel + "'hgemm<2, 32>'", 41), "shared_store"), 4);
  const Output wide = run("half_padded.cu --kernel 'hgemm<2, 128>'");
  EXPECT_EQ(wide.code, 1);
  EXPECT_NE(wide.text.find("misaligned shared load of 16 bytes"), std::string::npos) << wide.text;
  EXPECT_NE(wide.text.find("half_padded.cu:20"), std::string::npos) << wide.text;
}
TEST(Try, SizesOfWholeTilesAreToldToBeNeeded) {
  const Output output = run("half_padded.cu");
  EXPECT_EQ(output.code, 0) << output.text;
  EXPECT_EQ(output.text.find("right, but not at every size:"), 0u) << output.text;
  EXPECT_NE(output.text.find("the grid has an extent of 0"), std::string::npos) << output.text;
}
TEST(Try, TransposingAWarpTilesOperandMovesItsConflictToTheStores) {
  const std::string kernel = "warp_tiles.cu -m 128 -n 128 -k 8 --kernel ";
  EXPECT_EQ(ways(line_of(kernel + "'sgemm<false, false>'", 25), "shared_load"), 4) << "sequential";
  EXPECT_EQ(ways(line_of(kernel + "'sgemm<true, true>'", 18), "shared_store"), 8) << "strided, transposed";
}
TEST(Try, FactorsThatAreNotAppliedAreNamed) {
  const auto kernel = [](const char* arguments) {
    return run(fmt::format("unscaled.cu --kernel 'product<{}>' --grid '8, 4' --block '16, 16' -m 64 -n 128 -k 24 ",
                           arguments));
  };
  const Output neither = kernel("false, false"), no_beta = kernel("true, false");
  EXPECT_EQ(neither.code, 1);
  EXPECT_NE(neither.text.find("A B is right, but alpha and beta are not applied"), std::string::npos) << neither.text;
  EXPECT_NE(no_beta.text.find("alpha A B is right, but beta C is not added"), std::string::npos) << no_beta.text;
  const Output asked = run("unscaled.cu --kernel 'product<false, false>' --alpha 1 --beta 0" +
                           std::string(tiles_of_16));
  EXPECT_EQ(asked.code, 0) << asked.text;
}
TEST(Try, FactorsThatKernelsTreatApartAreTried) {
  const auto kernel = [](int mistake, const char* more) {
    return run(fmt::format(
        "factors.cu --kernel 'product<{}>' --grid M --block 64 --shared 'K * 4' -m 32 -n 48 -k 16 {}", mistake, more));
  };
  const Json right = Json::parse(kernel(0, "--json").text);
  EXPECT_EQ(right["factors"], Json({{2, 3}, {2, 0}, {1, 3}}));
  EXPECT_TRUE(right["ok"]) << right;
  for (const auto& [mistake, factors, cause] :
       {std::tuple(1, "D = 2 A B,", "A B is right, but alpha is not applied to it"),
        std::tuple(2, "D = 2 A B,", "alpha A B is right, but C is added although beta is 0"),
        std::tuple(3, "D = A B + 3 C,", "alpha A B is right, but beta C is not added to it")}) {
    const Output output = kernel(mistake, "");
    EXPECT_EQ(output.code, 1);
    EXPECT_EQ(output.text.find("WRONG  product"), 0u) << output.text;
    for (const char* text : {cause, factors, "it is right with alpha = 2 and beta = 3"})
      EXPECT_NE(output.text.find(text), std::string::npos) << text << "\n" << output.text;
  }
  EXPECT_EQ(kernel(1, "--beta 3").code, 0) << "what is given is not varied";
}
TEST(Try, InputsThatAreChangedAreFound) {
  const Output cleared = run("factors.cu --kernel 'product<4>' --grid M --block 64 --shared 'K * 4' -m 32 -k 16");
  EXPECT_EQ(cleared.code, 1);
  EXPECT_NE(cleared.text.find("512 elements of A were changed, which is an input"), std::string::npos) << cleared.text;
  const Output by_way_of_c = run("factors.cu --kernel by_way_of_c --grid M --block 64 -m 32 -n 48 -k 16 --json");
  EXPECT_EQ(by_way_of_c.code, 1);
  const std::string message = Json::parse(by_way_of_c.text)["message"];
  EXPECT_NE(message.find("1536 elements of C were changed"), std::string::npos) << message;
}
TEST(Try, IntegerFactorsAndSmallSizesBesideATileInCapitalsAreRight) {
  expect_right("integers.cu");
  const Output half = run("integers.cu --beta 0.5");
  EXPECT_EQ(half.code, 2);
  EXPECT_NE(half.text.find("--beta is 0.5; `beta` of sgemm is of type int"), std::string::npos) << half.text;
}
TEST(Try, WrongAssertionAndExchangedBlockOffsetsAreFound) {
  const Output assertion = run("wrong_blocks.cu --kernel 'sgemm<true, false>'");
  EXPECT_EQ(assertion.code, 1);
  EXPECT_NE(assertion.text.find("assert(blockDim.x == threads) is false\n    at wrong_blocks.cu:11"), std::string::npos)
      << assertion.text;
  const Output exchanged = run("wrong_blocks.cu --layout RRR --kernel 'sgemm<false, true>'");
  EXPECT_NE(exchanged.text.find("out-of-bounds global load of 4 bytes"), std::string::npos) << exchanged.text;
  EXPECT_NE(exchanged.text.find("wrong_blocks.cu:19"), std::string::npos) << exchanged.text;
  const Output square = run("wrong_blocks.cu --layout RRR --kernel 'sgemm<false, true>' -m 128 -n 128 -k 8");
  EXPECT_NE(square.text.find("8192 of 16384 results are wrong"), std::string::npos) << square.text;
}

TEST(Try, InlinePtxOfTensorCoresIsRight) {
  const Json json = Json::parse(run("mma_ptx.cu --layout RCR -m 128 -n 64 -k 64 --json").text);
  EXPECT_TRUE(json["ok"]) << json;
  // 2 blocks of 4 warps, 8 products of 32 x 32 x 8 each, of m16n8k8.
  EXPECT_EQ(json["counters"]["mma"], Json({{"instructions", 2 * 4 * 8 * 8}, {"flop", 2 * 128 * 64 * 64}}));
  // 8 bytes a lane of A and 4 of B: no conflicts in padded rows.
  EXPECT_EQ(json["counters"]["shared_load"]["wavefronts"], 2 * 4 * 8 * (2 * 2 + 4));
  EXPECT_EQ(json["counters"]["async_copy"]["requests"], 2 * 2 * 4 * 2 * 2);
}
TEST(Try, QualifiersOfInlinePtxAreTakenInEveryOrderThatPtxasTakes) {
  for (const int at_a_time : {4, 2, 1}) {
    const std::string kernel = fmt::format("ldmatrix_orders.cu --kernel 'gemm<{}>' --grid 'N / 16, M / 16' ",
                                           at_a_time);
    const Output output = run(kernel + "--block 32 -m 32 -n 48 -k 64 --json");
    ASSERT_EQ(output.code, 0) << output.text;
    // 6 tiles, 4 steps along k, 4 matrices of A and of B.
    EXPECT_EQ(Json::parse(output.text)["counters"]["shared_load"]["instructions"], 6 * 4 * 2 * (4 / at_a_time));
  }
}
TEST(Try, InlinePtxThatIsNoneOrNotKnownIsNamed) {
  const auto kernel = [](const std::string& assembly) {
    const std::string file = testing::TempDir() + "lapidary_inline_ptx.cu";
    std::ofstream(file) << "__global__ void gemm(const float* A, const float* B, float* C, int N) {\n"
                        << "  asm volatile(\"" << assembly << "\");\n}\n";
    return run(file + " --grid 1 --block 32").text;
  };
  EXPECT_NE(
      kernel("mma.sync.aligned.m16n8k6.row.col.f32.bf16.bf16.f32 a, b, c, d;")
          .find(".cu:2: `mma.sync.aligned.m16n8k6.row.col.f32.bf16.bf16.f32` is no instruction: of bf16 there are "
                "m16n8k8 and m16n8k16"),
      std::string::npos);
  EXPECT_NE(kernel("ctva.to.shared.u64 a, b;").find(".cu:2: `ctva.to.shared.u64` of inline PTX is not supported"),
            std::string::npos);
}

TEST(Try, WhatKernelsPrintIsSetApart) {
  const std::string file = testing::TempDir() + "lapidary_printing.cu";
  std::ofstream(file) << "#include <cstdio>\n"
                         "__global__ void gemm(const float* A, const float* B, float* C, int N) {\n"
                         "  if (threadIdx.x == 0) printf(\"{\\\"row\\\": %d}\\n\", N);\n"
                         "  float sum = 0;\n"
                         "  for (int k = 0; k < N; ++k) sum += A[blockIdx.x * N + k] * B[k * N + threadIdx.x];\n"
                         "  C[blockIdx.x * N + threadIdx.x] = sum;\n}\n";
  const Json json = Json::parse(run(file + " --grid N --block N -n 2 --json").text);
  EXPECT_TRUE(json["ok"]);
  EXPECT_EQ(json["printed"], "{\"row\": 2}\n{\"row\": 2}\n");
  const Output text = run(file + " --grid N --block N -n 2");
  EXPECT_NE(text.text.find("it printed:\n    {\"row\": 2}\n"), std::string::npos) << text.text;
}
TEST(Try, NumbersByPointerAndKernelsElsewhereAreExplained) {
  const std::string folder = testing::TempDir(), file = folder + "lapidary_elsewhere.cu";
  std::ofstream(folder + "lapidary_pointers.cuh")
      << "__global__ void gemm(int N, const float* alpha, const float* A, const float* B, float* C) {}\n";
  std::ofstream(file) << "#include \"lapidary_pointers.cuh\"\nint main() {}\n";
  const Output elsewhere = run(file), pointer = run(folder + "lapidary_pointers.cuh --grid 1 --block 1");
  EXPECT_EQ(elsewhere.code, 2);
  EXPECT_NE(elsewhere.text.find("what it includes is not searched"), std::string::npos) << elsewhere.text;
  EXPECT_NE(elsewhere.text.find(folder + "lapidary_pointers.cuh"), std::string::npos) << elsewhere.text;
  EXPECT_NE(pointer.text.find("declare it as `float alpha`"), std::string::npos) << pointer.text;
  EXPECT_EQ(run(folder + "lapidary_pointers.cuh --args N,alpha,A,B,C").text, pointer.text);
}

TEST(Try, MissingBarrierIsARaceWithBothLines) {
  expect_wrong("missing_barrier", "",
               {"race on shared memory", "writes it at broken.cu:9", "reads it at broken.cu:12"});
}
TEST(Try, WrongPitchIsFoundAtSizesThatDiffer) {
  expect_wrong("wrong_pitch", "", {"out-of-bounds global load", "of A", "broken.cu:20", "thread ("});
}
TEST(Try, MissingBoundsCheckIsFoundAtRaggedSizes) {
  expect_wrong("no_bounds", "-m 100 -n 70 -k 33", {"out-of-bounds global load", "broken.cu:27", "thread (6, 0, 0)"});
}
TEST(Try, UnalignedVectorIsFound) {
  expect_wrong("unaligned", "", {"misaligned global load of 16 bytes", "broken.cu:35", "thread (0, 0, 0)"});
}
TEST(Try, ForgottenLastTileIsToldByItsSums) {
  expect_wrong("forgotten_tile", "-m 32 -n 48 -k 40", {"every result", "their sums end before k = 32"});
}
TEST(Try, UninitialisedSharedMemoryIsNamed) {
  expect_wrong("uninitialised", "", {"As[15][16] that no thread of this block has written", "broken.cu:57"});
}
TEST(Try, SharedArrayOverrunIsNamed) {
  expect_wrong("past_the_end", "", {"element 256 of As, which has 256", "broken.cu:66"});
}
TEST(Try, UnwrittenRowsAreDescribed) {
  expect_wrong("rows_left_out", "", {"wrong: rows 12 to 15 of every 16", "no thread writes them"});
}
TEST(Try, CompilerErrorsNameTheLineOfTheFile) {
  const Output output = run(std::string("mistyped.cu") + tiles_of_16);
  EXPECT_EQ(output.code, 2);
  EXPECT_NE(output.text.find("mistyped.cu:4:"), std::string::npos) << output.text;
  EXPECT_EQ(output.text.find("cuda_runtime"), std::string::npos) << output.text;
}
TEST(Try, MissingLaunchIsAskedForWithAnExample) {
  const Output output = run("naive.cu");
  EXPECT_EQ(output.code, 2);
  EXPECT_NE(output.text.find("--grid \"ceil_div(N,32), ceil_div(M,32)\""), std::string::npos) << output.text;
}
TEST(Try, WhatIsNotSupportedIsNamedWithItsLine) {
  const Output output = run("cooperative.cu");
  EXPECT_EQ(output.code, 2);
  EXPECT_NE(output.text.find("cooperative.cu:3: `cooperative_groups` is not supported"), std::string::npos)
      << output.text;
}

}  // namespace
}  // namespace lapidary
