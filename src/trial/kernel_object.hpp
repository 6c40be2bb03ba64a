#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "emulator/fault.hpp"
#include "emulator/machine.hpp"
#include "trial/cuda/arguments.hpp"
#include "trial/cuda/shared.hpp"
#include "trial/cuda_source.hpp"
#include "trial/shared_object.hpp"

namespace lapidary::trial {

/// A kernel of a CUDA file, compiled by the host compiler with every access reported, and loaded.
class KernelObject {
 public:
  /// @param instance  the kernel with its template arguments: "sgemm<64, 64>"
  /// @param roles     for each parameter of the kernel the member of KernelArguments that it is given
  /// @param keep      folder for the unit and the object; empty for one that is removed
  /// @throws InvalidArgument with what the compiler says of the file
  KernelObject(const CudaSource& source, const CudaKernel& kernel, const std::string& instance,
               const std::vector<std::string>& roles, const std::string& keep);

  /// The body of a thread; `arguments` must outlive the launch.
  emulator::ThreadBody body(const KernelArguments& arguments) const { return {run_, &arguments}; }

  /// What the compiler warns of in the kernel and in what it calls, as far as it is in the file, a warning a line.
  const std::string& warnings() const { return warnings_; }

  /// Bytes of the __shared__ variables that the kernel can reach.
  unsigned static_shared_bytes() const { return static_bytes_; }
  /// What the emulated machine has to give: these, the red zones between them, and `extern __shared__` memory.
  unsigned shared_bytes(unsigned dynamic_bytes) const { return arena_bytes_ + dynamic_bytes; }

  /// The __device__ and static variables of the file as they are now.
  Variables variables() const { return SharedObject::variables(reinterpret_cast<const void*>(run_)); }

  /// A fault in words, with shared memory by the names of its variables and source lines with their text.
  std::string explain(const emulator::Fault& fault) const;

 private:
  void compile(const CudaSource& source, const CudaKernel& kernel, const std::string& unit);
  std::string name_of(std::int64_t offset) const;

  std::string path_;
  WorkFolder folder_;
  SharedObject library_;
  std::string warnings_;
  void (*run_)(const void*) = nullptr;
  std::vector<const SharedVariable*> variables_;  ///< by offset
  unsigned static_bytes_ = 0, arena_bytes_ = 0;
};

}  // namespace lapidary::trial
