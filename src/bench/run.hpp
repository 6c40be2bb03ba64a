#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/host_problem.hpp"
#include "bench/verify.hpp"
#include "core/problem.hpp"
#include "device/device.hpp"
#include "kernels/registry.hpp"

namespace lapidary::bench {

/// So many matrices of one shape, which begin every so many elements.
struct Repeated {
  std::int64_t count = 1, stride = 0;
};

/// Room for a matrix of each product of a batch in device memory, or for one that they share, surrounded by guard bands
/// that are verified later. On an emulated machine that checks every access there are none at its ends: the allocation
/// is of exact size and the machine itself its guard.
class GuardedMatrix {
 public:
  /// @param displacement  elements by which the matrix begins behind a multiple of 256 bytes
  /// @throws InvalidArgument if there is not enough device memory
  GuardedMatrix(Device& device, const MatrixShape& shape, const Repeated& repeated, std::int64_t displacement,
                const char* name);

  /// Bytes of memory that it takes, guard bands included; the largest number there is if they cannot be counted. What
  /// is between lines that are far apart takes memory of a GPU alone.
  static std::size_t bytes(Device& device, const MatrixShape& shape, const Repeated& repeated,
                           std::int64_t displacement);

  void* data() const { return static_cast<std::byte*>(buffer_.data()) + front_; }
  const char* name() const { return name_; }

  /// Copies a matrix whose lines are as far apart here, so many elements behind the first one, or from there.
  void upload(const HostMatrix& content, std::int64_t offset);
  void download(HostMatrix& content, std::int64_t offset) const;

  void lay_guards();
  /// How many bytes of the guard bands have changed since they were laid.
  std::int64_t damaged_bytes() const;

 private:
  /// Calls copy(here, offset, count) for what lies together both here and in the host's matrix, at the offset, in
  /// bytes.
  template <class Copy>
  void for_each_run(const HostMatrix& content, std::int64_t offset, Copy&& copy) const;
  /// Calls band(here, bytes) for each guard band.
  template <class Band>
  void for_each_band(Band&& band) const;

  Device* device_;
  MatrixShape shape_;
  Repeated repeated_;
  const char* name_;
  std::size_t front_, back_;  ///< bytes before and behind the matrices
  DeviceBuffer buffer_;
};

struct RunResult {
  HostMatrix D;               ///< of the first product
  std::string ran;            ///< the id of the kernel that ran; empty if none is known
  std::string why;            ///< it is not the one that was asked for; empty if it is
  Verification verification;  ///< guard bands included: damage to one makes the result wrong and is told in the message
};

/// A problem in the memory of a device with its reference result, ready for any number of kernels of its type. Of a
/// batch each product has random numbers of its own, but for an A or B that all share, or have parts of; so has each
/// group of rows, and rows behind the last one are NaN.
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

  /// The first product, of groups as if it were alone.
  const HostProblem& problem() const { return products_.front(); }
  /// Where its matrices are in device memory; if beta is 0, C is NaN, or null on a device that finds wrong accesses
  /// unless the problem has an `unread_c`.
  Operands operands() const;

 private:
  GuardedMatrix matrix_of(Matrix matrix) const;
  std::int64_t offset_of(Matrix matrix, std::size_t product) const;

  Device* device_;
  OnProgress progress_;
  RandomProblem spec_;  ///< resolved
  std::vector<HostProblem> products_;
  std::vector<Reference> references_;
  GuardedMatrix A_, B_, C_;
  GuardedMatrix D_;  ///< has no elements if D is C
  std::optional<DeviceBuffer> group_ends_;
};

/// One kernel on one problem.
/// @throws what Experiment does
RunResult run_gemm(Device& device, const Rung& rung, const KernelEntry& kernel, Build build, const RandomProblem& spec);

/// @throws InvalidArgument if a device lacks what a rung needs for products of a kind
void require_support(const Rung& rung, const GemmKind& kind, const DeviceProperties& device);
void require_support(const Rung& rung, const GemmKind& kind, const Device& device);

}  // namespace lapidary::bench
