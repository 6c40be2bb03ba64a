// Kernels of `lapidary try` as nvcc compiles them: all that can be seen of the way to a GPU without one.
#include "trial/gpu_kernel.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "core/error.hpp"
#include "device/device.hpp"

namespace lapidary::trial {
namespace {

struct Example {
  const char *file, *instance;
  std::vector<std::string> roles;
};

class GpuKernelTest : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("command -v ${NVCC:-nvcc} >/dev/null 2>&1") != 0) GTEST_SKIP() << "there is no nvcc";
  }
  static GpuKernel compiled(const CudaSource& source, const Example& example) {
    return {source, source.kernels().at(0), example.instance, example.roles, 80, ""};
  }
};

// A problem of no elements: on a GPU nothing happens, and without one CUDA's refusal comes back.
TEST_F(GpuKernelTest, ProgramsTemplatesAndHalfCompileAndAreLaunched) {
  for (const Example& example :
       {Example{"column_major.cu", "gemm_tiled", {"alpha", "A", "B", "beta", "C", "M", "N", "K"}},
        Example{
            "dgemm_tn.cu", "gemm_tn<double, 16>", {"M", "N", "K", "alpha", "A", "lda", "B", "ldb", "beta", "C", "ldc"}},
        Example{"half_to_float.cu", "hgemm_f32", {"A", "B", "C", "M", "N", "K"}}}) {
    const CudaSource source(std::string(LAPIDARY_KERNELS "/") + example.file);
    const GpuKernel kernel = compiled(source, example);
    LaunchShape shape{.kernel = example.instance, .grid = 1, .block = 256};
    if (gpu_count() > 0) {
      const auto device = open_gpu();
      EXPECT_NO_THROW(kernel.launch(shape, {}, device->stream()));
      EXPECT_NO_THROW(device->synchronize());
    } else {
      EXPECT_THROW(kernel.launch(shape, {}, {}), DeviceError) << example.file;
    }
  }
}

TEST_F(GpuKernelTest, StructuresCompile) {
  const CudaSource source(LAPIDARY_KERNELS "/structures.cu");
  EXPECT_NO_THROW(compiled(source, {"", "MatMul", {"A", "B", "C"}}));
}

TEST_F(GpuKernelTest, KernelsInNamespacesCompile) {
  const CudaSource source(LAPIDARY_KERNELS "/namespaces.cu");
  const CudaKernel& kernel = source.kernels().at(1);
  EXPECT_EQ(kernel.scope, "gemm::");
  EXPECT_NO_THROW(GpuKernel(source, kernel, "gemm::of_matrices<16>", {"A", "B", "C", "M", "N", "K"}, 80, ""));
}

TEST_F(GpuKernelTest, ErrorsOfNvccComeWithTheLineOfTheFile) {
  const CudaSource source(LAPIDARY_KERNELS "/mistyped.cu");
  try {
    compiled(source, {"", "matmul", {"A", "B", "C", "M", "N", "K"}});
    FAIL() << "it compiles";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("mistyped.cu(4): error"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace lapidary::trial
