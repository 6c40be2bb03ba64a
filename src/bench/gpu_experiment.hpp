#pragma once
#include "bench/contestant.hpp"
#include "bench/host_problem.hpp"
#include "bench/verify.hpp"
#include "device/device.hpp"

namespace lapidary::bench {

/// A random problem in the memory of a GPU with all of its results in fp64 and their bounds (bench/bound.hpp), which
/// the GPU computes (bench/gpu_reference.hpp). It takes M * N * K fp64 products; a GPU needs less than a second for
/// 8192^3 where Reference would have to sample. The random numbers are not those of make_problem.
class GpuExperiment {
 public:
  /// @param spec  neither displaced nor in place
  /// @throws InvalidArgument if the spec is not legal or there is not enough memory, DeviceError
  GpuExperiment(Device& device, const RandomProblem& spec);

  /// Fills D with NaN, runs a contestant once, waits for it and compares every result; elements between the rows of D
  /// must not change. A result that is infinite counts as wrong: this random data stays far below the overflow of f16.
  /// @throws DeviceError if the contestant fails
  Verification run(const Contestant& contestant);

  /// What is run, on the GPU.
  const Problem& problem() const { return spec_.problem; }

 private:
  Device* device_;
  RandomProblem spec_;
  DeviceBuffer A_, B_, C_, D_;
  DeviceBuffer results_, bounds_;  ///< M * N of type double each
  Operands operands_;
};

}  // namespace lapidary::bench
