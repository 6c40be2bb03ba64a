#pragma once
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "bench/host_problem.hpp"
#include "bench/verify.hpp"
#include "device/device.hpp"
#include "trial/cuda/arguments.hpp"
#include "trial/kernel_problem.hpp"
#include "trial/matrix_image.hpp"
#include "trial/wrong_results.hpp"

namespace lapidary::trial {

/// Random data in the types of a kernel, and its product.
class KernelData {
 public:
  KernelData(const bench::RandomProblem& spec, const Operands& operands, InitialC initial_c);

  /// What a run left behind.
  struct Outcome {
    MatrixImage D;
    std::vector<std::pair<const char*, std::int64_t>> changed;  ///< inputs and how many of their elements are others
  };

  /// Copies the operands to a device, lets `launch` run the kernel there and reads them back.
  Outcome run(Device& device, const std::function<void(const KernelArguments&)>& launch) const;

  bench::Verification verify(const Outcome& outcome) const;
  WrongResults find_wrong(const Outcome& outcome) const;

 private:
  /// Holds results against other bounds than the reference's.
  void verify_again(const MatrixImage& D, const std::function<double(std::int64_t, std::int64_t)>& bound,
                    bench::Verification& found) const;
  /// Results of f64 that are right as f32 once more, in units of f64.
  void verify_double(const MatrixImage& D, bench::Verification& found) const;
  /// Results that are wrong as sums of f32 once more, as sums of the type that they are said to be.
  void verify_narrow(const MatrixImage& D, bench::Verification& found) const;

  Operands operands_;
  bench::HostProblem problem_;
  bench::Reference reference_;
};

}  // namespace lapidary::trial
