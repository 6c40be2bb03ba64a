#pragma once
#include <optional>
#include <string>
#include <unordered_map>

#include "bench/host_problem.hpp"
#include "bench/verify.hpp"
#include "core/error.hpp"
#include "core/launch_shape.hpp"
#include "emulator/machine.hpp"
#include "emulator/report.hpp"
#include "trial/kernel_data.hpp"
#include "trial/kernel_object.hpp"
#include "trial/kernel_problem.hpp"
#include "trial/wrong_results.hpp"

namespace lapidary::trial {

/// Why a run ended, or could not begin.
struct Fault {
  std::string message;            ///< with shared memory by the names of its variables and source lines with their text
  std::optional<FaultKind> kind;  ///< of what the emulated machine stops for; none if there was no legal launch
};

/// One run on the emulated machine, every access counted and checked.
struct EmulatedRun {
  bench::RandomProblem spec;
  LaunchShape shape;
  Operands operands;
  InitialC initial_c = InitialC::nan;
  std::optional<Fault> fault;
  /// Of no results if a fault left none. After a race or a read of what nobody wrote these are the results of one order
  /// of the threads.
  bench::Verification verification;
  WrongResults wrong;
  emulator::Report report;
  std::string printed;  ///< by the kernel, of much the beginning
  /// In which blocks and threads were run: 0 one after the other, otherwise a random one.
  std::uint64_t order = 0;

  bool ok() const { return !fault && verification.ok; }
};

/// Counts a run that was right or wrong once more, with loads merged as a compiler merges them.
/// @param merge  emulator::Options::merge, of the instructions of that run's report
emulator::Report count_merged(const KernelObject& object, const EmulatedRun& run,
                              const std::unordered_map<std::uintptr_t, emulator::Merge>& merge);

/// @param order  EmulatedRun::order
EmulatedRun run_emulated(const KernelObject& object, const bench::RandomProblem& spec, const LaunchShape& shape,
                         const Operands& operands, InitialC initial_c, std::uint64_t order = 0);

}  // namespace lapidary::trial
