#pragma once
#include <cuda_runtime.h>

#include <string>

#include "core/error.hpp"
#include "core/launch_shape.hpp"

namespace lapidary {

/// @throws DeviceError with CUDA's name and text of the error
inline void check_cuda(cudaError_t status, const char* what) {
  if (status != cudaSuccess)
    throw DeviceError(std::string(what) + ": " + cudaGetErrorName(status) + ", " + cudaGetErrorString(status));
}

/// Lets a kernel have the shared memory and the cluster of a launch on the current device, if it must be asked for.
/// At each preparation, as a device may have been reset.
/// @throws DeviceError
void enable_on_gpu(const void* kernel, const LaunchShape& shape);

}  // namespace lapidary
