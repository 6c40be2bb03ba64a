#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/launch_shape.hpp"
#include "device/stream.hpp"
#include "trial/cuda/arguments.hpp"
#include "trial/cuda_source.hpp"
#include "trial/shared_object.hpp"

namespace lapidary::trial {

/// The program that an environment variable names, or else the first of these that there is.
std::optional<std::string> find_tool(const char* variable, const std::vector<std::string>& names);
std::optional<std::string> find_nvcc();

/// A unit that has the kernel, instantiated, and what launches it, for nvcc. @param instance, roles  as of GpuKernel
std::string gpu_unit(const CudaSource& source, const CudaKernel& kernel, const std::string& instance,
                     const std::vector<std::string>& roles);
/// The shell's command that compiles such a unit. @param options  what to make of it, and where
std::string nvcc_command(const std::string& compiler, const CudaSource& source, const std::string& unit,
                         int compute_capability, const std::string& options);

/// A kernel of a CUDA file, compiled by nvcc as it is written, and loaded.
class GpuKernel {
 public:
  /// @param instance            the kernel with its template arguments
  /// @param roles               for each parameter the member of KernelArguments that it is given
  /// @param compute_capability  major * 10 + minor
  /// @param keep                folder for the unit and the object; empty for one that is removed
  /// @throws InvalidArgument if there is no nvcc, or with what it says of the file
  GpuKernel(const CudaSource& source, const CudaKernel& kernel, const std::string& instance,
            const std::vector<std::string>& roles, int compute_capability, const std::string& keep);

  /// Starts it and returns without waiting. @throws DeviceError if CUDA refuses the launch
  void launch(const LaunchShape& shape, const KernelArguments& arguments, const Stream& stream) const;

 private:
  using Launch = const char* (*)(const KernelArguments*, const unsigned* grid, const unsigned* block, unsigned shared,
                                 void* stream);
  WorkFolder folder_;
  SharedObject library_;
  Launch launch_;
};

}  // namespace lapidary::trial
