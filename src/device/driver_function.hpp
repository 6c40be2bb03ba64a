#pragma once
// For code that nvcc compiles.
#include <cuda_runtime.h>

#include <string>

#include "core/error.hpp"
#include "device/cuda_check.hpp"

namespace lapidary {

/// A function of the driver as it was in a version of CUDA, 12000 for 12.0; by the runtime, so that the program needs
/// no library of the driver. @throws DeviceError if it has none
template <class Function>
Function driver_function(const char* name, unsigned version) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  check_cuda(cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &found), name);
  if (found != cudaDriverEntryPointSuccess)
    throw DeviceError(std::string("the driver has no ") + name + "; it comes with CUDA " +
                      std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10));
  return reinterpret_cast<Function>(function);
}

}  // namespace lapidary
