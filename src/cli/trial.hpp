#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "bench/problem.hpp"
#include "bench/timing.hpp"
#include "bench/verify.hpp"
#include "cli/kernel_call.hpp"
#include "cli/kernel_object.hpp"
#include "cli/wrong_results.hpp"
#include "core/error.hpp"
#include "emulator/report.hpp"

// A kernel of the user's is run, and its result compared.

namespace lapidary::cli {

/// One run on the emulated machine.
struct Trial {
  bench::RandomProblem spec;
  LaunchShape shape;
  Operands operands;
  std::string fault;  ///< empty if there was none
  std::optional<FaultKind> kind;
  bench::Verification verification;
  WrongResults wrong;
  emulator::Report report;
  std::string printed;  ///< by the kernel, of much the beginning

  bool ok() const { return fault.empty() && verification.ok; }
};

/// What a kernel finds in C where beta is 0: NaN, which it must not read, or numbers, which beta takes off.
enum class UnusedC : bool { poison, numbers };

Trial try_problem(const KernelObject& object, const bench::RandomProblem& spec, const LaunchShape& shape,
                  const Operands& operands, UnusedC unused = UnusedC::poison);

/// Layouts with which a kernel is right that is wrong or out of bounds with row-major matrices, or nothing.
std::string other_layouts(const KernelObject& object, const Call& call, const TryOptions& options, const Trial& trial,
                          const Layouts& tried);

/// How a kernel does on a GPU.
struct GpuTrial {
  std::string not_timed;  ///< why, if it was not
  std::string device;
  bench::Verification verification;
  std::int64_t size = 0;  ///< M = N = K of what was timed
  std::optional<bench::KernelTime> time;
};

/// @param right  a trial that ended well on the emulated machine; it is repeated first
/// @param shape  of a launch on a problem
GpuTrial try_on_gpu(const CudaSource& source, const Call& call, const std::string& instance, const Layouts& layouts,
                    const TryOptions& options, const Trial& right,
                    const std::function<LaunchShape(const Problem&)>& shape);

}  // namespace lapidary::cli
