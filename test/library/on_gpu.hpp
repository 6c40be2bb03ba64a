#pragma once
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>

#include "lapidary/gemm.hpp"

namespace lapidary::test {

/// Ends the test if CUDA fails, whatever function is in between.
inline void check(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

/// A GPU and a context on it; without a GPU the test is skipped.
class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (gpu_count() == 0) GTEST_SKIP() << "there is no GPU";
    device_ = open_gpu();
    context_ = std::make_unique<Context>(*device_);
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Context> context_;
};

}  // namespace lapidary::test
