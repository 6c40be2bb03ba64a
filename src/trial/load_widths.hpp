#pragma once
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trial/cuda_source.hpp"

namespace lapidary::trial {

/// How wide nvcc makes a kernel's loads from shared memory.
struct LoadWidths {
  std::string compiler;  ///< "nvcc 13.0.88 for sm_90"
  /// By the name of the file, without folders, and the line: the bytes of a lane in the widest machine instruction.
  std::map<std::pair<std::string, int>, unsigned> by_line;

  /// Of a source line, and of one that machine code has no load of the widest of all.
  unsigned widest(const std::string& file, int line) const;
};

/// Reads machine code as nvdisasm -g prints it: source lines, and the instructions that come of them.
std::map<std::pair<std::string, int>, unsigned> read_load_widths(const std::string& disassembly);

/// Compiles the kernel as GpuKernel does and reads its machine code. Nothing where nvcc or nvdisasm is missing (on the
/// PATH, or by the environment variables NVCC and NVDISASM), or where nvcc does not compile it.
/// @param instance, roles, keep  as GpuKernel has them
std::optional<LoadWidths> load_widths(const CudaSource& source, const CudaKernel& kernel, const std::string& instance,
                                      const std::vector<std::string>& roles, const std::string& keep);

}  // namespace lapidary::trial
