// `lapidary try` as its user sees it: what it prints, as text and as JSON, and its exit codes. What it finds is tested
// by test/trial.
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "scratch_folder.hpp"

#include "run_program.hpp"

namespace lapidary {
namespace {

using Json = nlohmann::json;

/// Runs in the folder of the kernels, so that messages name the bare files.
Output run(const std::string& arguments) { return run_program("try " + arguments, "2>&1", LAPIDARY_KERNELS); }

constexpr const char* tiles_of_16 = " --grid 'ceil_div(N, 16), ceil_div(M, 16)' --block '16, 16' ";

void expect_output(const Output& output, int code, std::initializer_list<const char*> texts) {
  EXPECT_EQ(output.code, code) << output.text;
  for (const char* text : texts) EXPECT_NE(output.text.find(text), std::string::npos) << text << "\n" << output.text;
}

TEST(Try, SaysWhatIsRightAndWhatToFixFirst) {
  const Output output = run("naive.cu --grid 'ceil_div(M,32), ceil_div(N,32)' --block '32, 32'");
  EXPECT_EQ(output.text.find("right  sgemm_naive at M = 128, N = 256, K = 64"), 0u) << output.text;
  expect_output(output, 0, {"to fix first, for speed:\n  naive.cu:", "touch 32 sectors", "computed D = 2 A B + 3 C"});
}
TEST(Try, PrintsNumbersAsJson) {
  const Output output = run("half_to_float.cu --json");
  ASSERT_EQ(output.code, 0) << output.text;
  const Json json = Json::parse(output.text);
  EXPECT_TRUE(json["ok"]);
  EXPECT_TRUE(json["other"]["ok"]);
  EXPECT_EQ(json["type"], "f16 x f16 to f32");
  EXPECT_LT(json["bound"], 1e-3);
  EXPECT_EQ(json["counters"]["fma"], 128 * 256 * 96) << "three steps along K of its 32";
  EXPECT_EQ(json["gpu"].is_null(), json["not_timed"].is_string());
}
TEST(Try, SaysWhichConstantsOfTheFileAreGivenValues) {
  expect_output(run("constants.cu"), 0, {"compiled with ", " = 128"});
  const Json json = Json::parse(run("constants.cu --json -n 48").text);
  EXPECT_EQ(json["k"], 48);
  EXPECT_EQ(json["grid"], (std::array{3, 6, 1}));
}
TEST(Try, SaysWithWhichLayoutItIsRight) { expect_output(run("column_major.cu"), 1, {"--layout CCC"}); }
TEST(Try, SaysThatItIsNotRightAtEverySize) {
  const Output output = run(std::string("broken.cu --kernel forgotten_lda") + tiles_of_16);
  EXPECT_EQ(output.text.find("right, but not at every size and leading dimension:"), 0u) << output.text;
  expect_output(output, 1, {"byte 752 of A, where a line of the matrix has ended\n    at broken.cu:91\n"});
  EXPECT_EQ(output.text.find("never written"), std::string::npos) << output.text;
}
TEST(Try, SaysWhichFactorsItIsWrongWith) {
  const std::string kernel = "factors.cu --grid M --block 64 --shared 'K * 4' -m 32 -n 48 -k 16 --kernel ";
  EXPECT_EQ(Json::parse(run(kernel + "'product<0>' --json").text)["factors"],
            Json({{2, 3}, {2, 0}, {1, 3}, {1, 0}, {1, 1}, {0, 3}, {-1, 1}, {2, -1}, {0.7f, 0.6f}}));
  const Output output = run(kernel + "'product<3>'");
  EXPECT_EQ(output.text.find("WRONG  product"), 0u) << output.text;
  expect_output(output, 1,
                {"alpha A B is right, but beta C is not added to it", "D = A B + 3 C,",
                 "it is right with alpha = 2 and beta = 3"});
}
TEST(Try, SaysThatCIsReadWhereBetaIsZeroAndWhatSizesWereTakenFor) {
  const ScratchFolder folder;
  const std::string file = folder.file("sizes.cu");
  std::ofstream(file) << R"(
__global__ void reads_c(int M, int N, int K, const float* A, const float* B, float* C, float alpha, float beta) {
  int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
  if (i >= M || j >= N) return;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[i * K + k] * B[k * N + j];
  C[i * N + j] = alpha * sum + beta * C[i * N + j];
}
__global__ void other_letters(const float* A, const float* B, float* C, int N, int K, int M) {
  int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
  if (i >= N || j >= M) return;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[i * K + k] * B[k * M + j];
  C[i * M + j] = sum;
}
)";
  expect_output(run(file + tiles_of_16 + "--kernel reads_c"), 0,
                {"right with other alpha and beta, too", "where beta is 0 it reads C, too"});
  expect_output(run(file + tiles_of_16 + "--kernel other_letters"), 1,
                {"N has the columns of B and D, K is what A and B share, M has the rows of A and D"});
}
TEST(Try, SetsApartWhatKernelsPrint) {
  const ScratchFolder folder;
  const std::string file = folder.file("printing_json.cu");
  std::ofstream(file) << "#include <cstdio>\n"
                         "__global__ void gemm(const float* A, const float* B, float* C, int N) {\n"
                         "  if (threadIdx.x == 0) printf(\"{\\\"row\\\": %d}\\n\", N);\n"
                         "  float sum = 0;\n"
                         "  for (int k = 0; k < N; ++k) sum += A[blockIdx.x * N + k] * B[k * N + threadIdx.x];\n"
                         "  C[blockIdx.x * N + threadIdx.x] = sum;\n}\n";
  const Json json = Json::parse(run(file + " --grid N --block N -n 2 --json").text);
  EXPECT_EQ(json["printed"], "{\"row\": 2}\n{\"row\": 2}\n");
  expect_output(run(file + " --grid N --block N -n 2"), 0, {"it printed at M = 2, N = 2, K = 2:\n    {\"row\": 2}\n"});
}
TEST(Try, ShowsTheLinesOfAFault) {
  const Output output = run(std::string("broken.cu --kernel missing_barrier") + tiles_of_16);
  EXPECT_EQ(output.text.find("FAULT  missing_barrier"), 0u) << output.text;
  expect_output(output, 1,
                {"race on shared memory", "writes it at broken.cu:9\n        As[", "reads it at broken.cu:12\n"});
}
TEST(Try, SaysWhereWrongResultsAreStoredIfTheyAre) {
  const Output unwritten = run(std::string("broken.cu --kernel rows_left_out") + tiles_of_16);
  expect_output(unwritten, 1, {"no thread writes them"});
  EXPECT_EQ(unwritten.text.find("stored at"), std::string::npos) << unwritten.text;
  expect_output(run(std::string("broken.cu --kernel without_negative") + tiles_of_16), 1,
                {"negative results come out as 0", "stored at broken.cu:"});
}
TEST(Try, SaysWhichSizesItIsWrongAtBesideWholeTiles) {
  const Output output = run("half_padded.cu --kernel 'hgemm<2, 32>'");
  EXPECT_EQ(output.text.find("right, but not at every size:  hgemm"), 0u) << output.text;
  expect_output(output, 1,
                {"(M is no multiple of 128):\n", "also at M = 256, N = 392, K = 192 (N is no multiple of 128): ",
                 "also at M = 256, N = 384, K = 200 (K is no multiple of 64): "});
}
TEST(Try, SaysThatTheLaunchHasOneSize) {
  const ScratchFolder folder;
  const std::string file = folder.file("squares.cu");
  std::ofstream(file) << "__global__ void gemm(int M, int N, int K, const float* A, const float* B, float* C) {\n"
                         "  float sum = 0;\n"
                         "  for (int k = 0; k < K; ++k) sum += A[blockIdx.x * K + k] * B[k * N + threadIdx.x];\n"
                         "  C[blockIdx.x * N + threadIdx.x] = sum;\n}\n"
                         "void run(int n, float* A, float* B, float* C) { gemm<<<n, n>>>(n, n, n, A, B, C); }\n";
  expect_output(run(file), 0, {"the launch has M = N = K: such sizes alone are tried"});
  EXPECT_EQ(Json::parse(run(file + " --json").text)["equal_sizes"], "MNK");
}
TEST(Try, RefusesWhatCannotBeRun) {
  const Output mistyped = run(std::string("mistyped.cu") + tiles_of_16);
  expect_output(mistyped, 2, {"mistyped.cu:4:"});
  EXPECT_EQ(mistyped.text.find("cuda_runtime"), std::string::npos) << mistyped.text;

  const ScratchFolder folder;
  const std::string file = folder.file("elsewhere.cu"), pointers = folder.file("pointers.cuh");
  std::ofstream{pointers}
      << "__global__ void gemm(int N, const float* alpha, const float* A, const float* B, float* C) {}\n";
  std::ofstream(file) << "#include \"pointers.cuh\"\nint main() {}\n";
  const Output elsewhere = run(file), pointer = run(pointers + " --grid 1 --block 1");
  expect_output(elsewhere, 2, {"what it includes is not searched", "pointers.cuh"});
  expect_output(pointer, 2, {"declare it as `float alpha`"});
  EXPECT_EQ(run(pointers + " --args N,alpha,A,B,C").text, pointer.text);
}

}  // namespace
}  // namespace lapidary
