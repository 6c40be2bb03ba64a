#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "bench/host_problem.hpp"
#include "bench/verify.hpp"
#include "core/problem.hpp"
#include "device/device.hpp"
#include "kernels/registry.hpp"

namespace lapidary::bench {

/// Room for a matrix in device memory, surrounded by guard bands that are verified later. On an emulated machine that
/// checks every access there are none: the allocation is of exact size and the machine itself its guard.
class GuardedMatrix {
 public:
  /// @param displacement  elements by which the matrix begins behind a multiple of 256 bytes
  /// @throws InvalidArgument if there is not enough device memory
  GuardedMatrix(Device& device, const MatrixShape& shape, std::int64_t displacement, const char* name);

  /// Bytes of memory that it takes, guard bands included; the largest number there is if they cannot be counted. What
  /// is between lines that are far apart takes memory of a GPU alone.
  static std::size_t bytes(Device& device, const MatrixShape& shape, std::int64_t displacement);

  void* data() const { return static_cast<std::byte*>(buffer_.data()) + front_; }
  const char* name() const { return name_; }

  /// Copies a matrix of the same lines here, or from here.
  void upload(const HostMatrix& content);
  void download(HostMatrix& content) const;

  void lay_guards();
  /// How many bytes of the guard bands have changed since they were laid.
  std::int64_t damaged_bytes() const;

 private:
  /// Calls copy(here, offset, count) for what lies together both here and in the host's matrix, at the offset, in
  /// bytes.
  template <class Copy>
  void for_each_run(Copy&& copy) const;

  Device* device_;
  MatrixShape shape_;
  const char* name_;
  std::size_t front_, matrix_, back_;  ///< bytes before, of and behind the matrix
  DeviceBuffer buffer_;
};

struct RunResult {
  HostMatrix D;
  std::string ran;            ///< the id of the kernel that ran; empty if none is known
  std::string why;            ///< it is not the one that was asked for; empty if it is
  Verification verification;  ///< guard bands included: damage to one makes the result wrong and is told in the message
};

/// A problem in the memory of a device with its reference result, ready for any number of kernels of its type.
class Experiment {
 public:
  /// Checks that there is memory for all of it before anything is allocated, then makes data and reference.
  /// @throws InvalidArgument if the spec is not legal, or with the bytes needed and the bytes free
  Experiment(Device& device, const RandomProblem& spec, OnProgress progress = {});

  /// Poisons D (restores C if D is C), runs one kernel, waits for it and verifies D.
  /// @throws InvalidArgument if the kernel needs another device or was not built, KernelFault, DeviceError
  RunResult run(const Rung& rung, const KernelEntry& kernel, Build build);

  /// The same with what is to compute the product on the device's stream, instead of a kernel.
  RunResult run(const std::function<Choice(const Problem&, const Operands&)>& compute);

  const HostProblem& problem() const { return problem_; }
  /// Where its matrices are in device memory; if beta is 0, C is NaN, or null on a device that finds wrong accesses
  /// unless the problem has an `unread_c`.
  Operands operands() const;

 private:
  Device* device_;
  OnProgress progress_;
  HostProblem problem_;
  Reference reference_;
  GuardedMatrix A_, B_, C_;
  GuardedMatrix D_;  ///< has no elements if D is C
};

/// One kernel on one problem.
/// @throws what Experiment does
RunResult run_gemm(Device& device, const Rung& rung, const KernelEntry& kernel, Build build, const RandomProblem& spec);

/// @throws InvalidArgument if a device lacks what a rung needs for products of a kind
void require_support(const Rung& rung, const GemmKind& kind, const DeviceProperties& device);
void require_support(const Rung& rung, const GemmKind& kind, const Device& device);

}  // namespace lapidary::bench
