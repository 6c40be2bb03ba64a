#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "core/launch_shape.hpp"
#include "emulator/report.hpp"

namespace lapidary::emulator {

struct Options {
  /// Count memory traffic and arithmetic; needs kernels of the instrumented build.
  bool count = false;
  /// Stop at the first fault (see Fault); needs kernels of the instrumented build.
  bool check = false;
  /// Host threads, each of which runs one block at a time; 0 means one for each core.
  unsigned threads = 0;
  /// 0 runs warps in order; any other value seeds a random order of warps and lanes, the same for the same seed.
  std::uint64_t seed = 0;
};

/// The body of one CUDA thread: `call(context)` runs the kernel with its arguments.
struct ThreadBody {
  void (*call)(const void* context);
  const void* context;
};

/// A GPU on the CPU. Every CUDA thread is a fiber; the threads of a block run on one host thread, blocks in parallel
/// over the host's cores. Launches are synchronous. Not to be shared between host threads.
class Machine {
 public:
  explicit Machine(const Options& options = {});
  ~Machine();
  Machine(Machine&&) noexcept;
  Machine& operator=(Machine&&) noexcept;

  /// Runs a grid to its end.
  /// @throws InvalidArgument if the shape breaks a limit of the machine
  /// @throws KernelFault if the kernel deadlocks or, with `check`, does anything that is not allowed
  void run(const LaunchShape& shape, ThreadBody body);

  /// What all launches since construction or the last `clear_report` counted; needs `count`.
  Report report() const;
  void clear_report();

  const Options& options() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lapidary::emulator
