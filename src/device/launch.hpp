#pragma once
#include <string>

#include "core/error.hpp"
#include "core/launch_shape.hpp"
#include "device/stream.hpp"
#include "emulator/machine.hpp"
#include "ptx/cuda.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

#if defined(__CUDACC__)
/// @throws DeviceError with CUDA's name and text of the error
inline void check_cuda(cudaError_t status, const char* what) {
  if (status != cudaSuccess)
    throw DeviceError(std::string(what) + ": " + cudaGetErrorName(status) + ", " + cudaGetErrorString(status));
}
#endif

/// How many blocks a grid has whose blocks stay and take tile after tile: one a multiprocessor. The emulated machine
/// says that it has few, so that small problems too have several tiles for each.
/// @throws DeviceError if there is no GPU
inline int multiprocessors([[maybe_unused]] const Stream& stream) {
#if defined(__CUDACC__)
  int device = 0, count = 0;
  check_cuda(cudaGetDevice(&device), "the current device");
  check_cuda(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device), "multiprocessors");
  return count;
#else
  return stream.machine->options().multiprocessors;
#endif
}

/// Launches `kernel` with the arguments that it declares. On the GPU it returns at once and the kernel runs in the
/// order of the stream; on the emulated machine it returns when the kernel has run.
/// @throws DeviceError, or on the emulated machine KernelFault, if the launch or the kernel fails
template <class... Parameters, class... Arguments>
void launch(const Stream& stream, const LaunchShape& shape, void (*kernel)(Parameters...),
            const Arguments&... arguments) {
#if defined(__CUDACC__)
  if (shape.shared_bytes > LaunchLimits::shared_bytes_default)
    check_cuda(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shape.shared_bytes)),
        shape.kernel);
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(shape.grid.x, shape.grid.y, shape.grid.z);
  config.blockDim = dim3(shape.block.x, shape.block.y, shape.block.z);
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = static_cast<cudaStream_t>(stream.cuda);
  const auto& [x, y, z] = shape.cluster;
  cudaLaunchAttribute attributes[2]{};
  config.attrs = attributes;
  if (x * y * z > 1) {
    cudaLaunchAttribute& cluster = attributes[config.numAttrs++];
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {x, y, z};
  }
  if (shape.overlaps) {
    cudaLaunchAttribute& overlap = attributes[config.numAttrs++];
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
  }
  if (x * y * z > LaunchLimits::cluster_portable)
    check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1), shape.kernel);
  check_cuda(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...), shape.kernel);
#else
#if !defined(LAPIDARY_INSTRUMENTED)
  // The instrumented build's red zones may take more than a GPU has.
  if (shape.shared_bytes > LaunchLimits::shared_bytes_opt_in)
    throw InvalidArgument(std::string(shape.kernel) + " asks for " + std::to_string(shape.shared_bytes) +
                          " bytes of shared memory; a block has at most " +
                          std::to_string(LaunchLimits::shared_bytes_opt_in));
#endif
  // Not instrumented: reading the arguments is not the kernel's doing.
  const auto thread = [&]() __attribute__((no_sanitize("thread"))) { kernel(arguments...); };
  const auto call = [](const void* context) __attribute__((no_sanitize("thread"))) {
    (*static_cast<const decltype(thread)*>(context))();
  };
  stream.machine->run(shape, {call, &thread});
#endif
}

}  // namespace lapidary::inline LAPIDARY_BUILD
