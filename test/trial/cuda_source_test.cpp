#include "trial/cuda_source.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "scratch_folder.hpp"

namespace lapidary::trial {
namespace {

CudaSource source_of(const std::string& text) {
  const ScratchFolder folder;
  const std::string file = folder.file("source.cu");
  std::ofstream(file) << text;
  return CudaSource(file);
}

TEST(CudaSource, FindsKernelsWithTheirScopesAndLaunches) {
  const CudaSource source = source_of(R"(
namespace a { namespace { inline namespace b {
struct Matrix { int rows, cols; float* data; };
template <typename T, int BM = 8>
__global__ __launch_bounds__(256) void product(const T* __restrict__ A, Matrix b, float C[], int n = 1) {}
__global__ void declared(int);
} } }
// __global__ void commented() {}
int main() {
  const int side = 32, blocks = side / 4;
  dim3 grid(blocks, (side + 7) / 8), block{32, 8};
  a::b::product<float, 16><<<grid, block, side * sizeof(float)>>>(A, b, C, side);
}
)");
  ASSERT_EQ(source.kernels().size(), 1u);
  const CudaKernel& kernel = source.kernels()[0];
  EXPECT_EQ(kernel.scope + kernel.name, "a::b::product");
  EXPECT_EQ(kernel.line, 5);
  ASSERT_EQ(kernel.template_parameters.size(), 2u);
  EXPECT_EQ(kernel.template_parameters[1].name, "BM");
  ASSERT_EQ(kernel.parameters.size(), 4u);
  EXPECT_EQ(kernel.parameters[0].type, "const T* __restrict__");
  EXPECT_EQ(kernel.parameters[1].elements()->name, "data");
  EXPECT_TRUE(kernel.parameters[2].is_pointer());
  EXPECT_EQ(kernel.parameters[3].elements(), nullptr);
  const CudaLaunch* const launch = source.launch_of(kernel);
  ASSERT_NE(launch, nullptr);
  EXPECT_EQ(launch->template_arguments, (std::vector<std::string>{"float", "16"}));
  EXPECT_EQ(launch->configuration, (std::vector<std::string>{"grid", "block", "side * sizeof(float)"}));
  EXPECT_EQ(launch->arguments.size(), 4u);
  EXPECT_EQ(source.definitions().before(launch->position, "grid"), "blocks, (side + 7) / 8");
  EXPECT_EQ(source.definitions().before(launch->position, "side"), "32");
  EXPECT_FALSE(source.definitions().constant("side"));
}

TEST(CudaSource, KnowsWhichLinesAKernelMayExecute) {
  const CudaSource source = source_of(R"(
#define SQUARE(x) \
  by_macro(x, x)
__device__ float by_macro(float a, float b) { return a * b; }
namespace a {
__device__ float far(float x) { return x; }
struct Near { __device__ float get() { return far(1); } };
__device__ float operator+(Near, int) { return 1; }
__device__ float of_another(float x) {
  return x;
}
__global__ void other(float* C) { C[0] = of_another(1); }
__device__ float as_kernel(float x) { return x; } __global__ void one(float* C) {
  C[0] = Near().get() + SQUARE(2);
}
}
float of_host(float x) { return x; }
)");
  std::vector<int> unreached;
  const std::vector<bool> reached = source.reached_by(source.kernels()[1]);
  for (std::size_t line = 1; line < reached.size(); ++line)
    if (!reached[line]) unreached.push_back(static_cast<int>(line));
  EXPECT_EQ(unreached, (std::vector<int>{9, 10, 11, 12, 17}));
}

TEST(CudaSource, KnowsWhatNamesStandFor) {
  CudaSource source = source_of(R"(
#define TILE 16  // of a block
typedef half T;
template <class Of> struct Config { using Element = Of; static constexpr int BM = 4 * TILE; };
using Chosen = Config<T>;
const int N = 1024;
void f() { int N = 3; N = 5; }
)");
  const Definitions& names = source.definitions();
  EXPECT_EQ(names.constant("TILE"), "16");
  EXPECT_EQ(names.before(~std::size_t{0}, "N"), "5");
  EXPECT_EQ(names.constant("N"), "1024");
  EXPECT_EQ(names.without_aliases("const T*"), "const half*");
  EXPECT_EQ(names.without_aliases("typename Chosen::Element"), "half");
  EXPECT_EQ(names.without_aliases("Chosen::BM"), "4 * 16");
  source.redefine("N", "64");
  EXPECT_EQ(names.constant("N"), "64");
  EXPECT_NE(source.rewritten(CudaSource::Target::gpu).find("const int N = 64;\n"), std::string::npos);
}

TEST(CudaSource, KeepsLinesWhereItRewrites) {
  const std::string text = R"(#include <thrust/sort.h>
__global__ void kernel(float* C) {
  __shared__ float a[8][33],
      b;
  extern __shared__ char c[];
)"
                           "  asm volatile(\"bar.sync 0;\"\n ::: \"memory\");\n"
                           R"(}
int main() {
  kernel<<<1, 1>>>(nullptr);
}
)";
  const CudaSource source = source_of(text);
  const auto lines = [](const std::string& of) { return std::count(of.begin(), of.end(), '\n'); };
  const std::string emulated = source.rewritten(CudaSource::Target::emulator);
  const std::string gpu = source.rewritten(CudaSource::Target::gpu);
  EXPECT_EQ(lines(emulated), lines(text)) << emulated;
  EXPECT_EQ(lines(gpu), lines(text)) << gpu;
  for (const char* part : {"float (&a)[8][33] = ::lapidary::Shared<0>{\"a\"},", "(&b) = ::lapidary::Shared<1>{\"b\"}",
                           "char* const c = ::lapidary::DynamicShared<char>{}", "__syncthreads();"})
    EXPECT_NE(emulated.find(part), std::string::npos) << part << "\n" << emulated;
  for (const char* part : {"__shared__ float a[8][33],", "bar.sync"})
    EXPECT_NE(gpu.find(part), std::string::npos) << part << "\n" << gpu;
  for (const std::string& of : {emulated, gpu})
    for (const char* part : {"thrust", "<<<"}) EXPECT_EQ(of.find(part), std::string::npos) << part << "\n" << of;
  EXPECT_EQ(source.shared_sites().size(), 2u);
}

TEST(CudaSource, GivesUnionsOfVectorsAnAssignment) {
  const CudaSource source = source_of(R"(
union alignas(16) Four { float4 vector; float element[4]; };  // union Commented { float4 vector; };
typedef union Halves { uint2 words; unsigned short halves[4]; } Halves;
union Word { float number; unsigned bits; };
union Own { int4 vector; Own& operator=(const Own&); };
union { double2 vector; double element[2]; } unnamed;
struct Around { struct Other { int i; }; union { float4 vector; }; union { int2 pair; }; };
struct Owner { Owner& operator=(const Owner&); union { float4 vector; }; };
__device__ void function() { union { float4 vector; float element[4]; }; }
union __attribute__((aligned(16))) Alias { Vector vector; };
union Pairs { half2 pair; __half element[2]; unsigned word; };
struct Constants { static constexpr float2 one = {1, 1}; };
constexpr const int4 four = {4};
constexpr int two = 2;
__global__ void kernel(float* A) {}
)");
  const std::string emulated = source.rewritten(CudaSource::Target::emulator);
  for (const char* const part :
       {"union alignas(16) Four {LAPIDARY_UNION(Four)  float4 vector;",
        "union Halves {LAPIDARY_UNION(Halves)  uint2 words;", "union Commented { float4", "union Word { float",
        "union Own { int4", "{LAPIDARY_UNION(lapidary_union_",
        "{ struct Other { int i; }; LAPIDARY_UNION(Around) union { float4 vector; }; union {",
        "Owner&); union { float4", "function() { union { float4", "Alias {LAPIDARY_UNION(Alias)  Vector",
        "union Pairs { half2", "static inline const float2 one", "\n const int4 four", "constexpr int two"})
    EXPECT_NE(emulated.find(part), emulated.npos) << part << emulated;
  EXPECT_EQ(source.rewritten(CudaSource::Target::gpu).find("LAPIDARY_UNION"), std::string::npos);
}

TEST(CudaSource, EndsWithTextsThatDoNot) {
  for (const char* text :
       {"__shared__ float x];", "template __global__ void f() {}", "__global__", "<<<", "f<<<1, 2>>>(", "struct",
        "namespace {", "/*", "\"", "#", "asm(", "__global__ void f(float x]) {"}) {
    try {
      const CudaSource source = source_of(text);
      source.rewritten(CudaSource::Target::emulator);
    } catch (const InvalidArgument&) {
    }
  }
  EXPECT_THROW(CudaSource("/nonexistent.cu"), InvalidArgument);
}

}  // namespace
}  // namespace lapidary::trial
