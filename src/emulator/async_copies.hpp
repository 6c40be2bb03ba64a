#pragma once
#include <cstdint>
#include <vector>

#include "core/launch_shape.hpp"
#include "emulator/lane.hpp"

namespace lapidary::emulator {

class AccessChecker;
class AccessLog;
class FaultStop;
class Scheduler;
class SharedMemory;
struct Options;

/// A copy that cp.async has issued; `group` counts the thread's commits before it.
struct AsyncCopy {
  unsigned char* shared;
  const unsigned char* global;
  unsigned bytes, source_bytes, group;
  std::uintptr_t pc;
  bool arrived = false;

  void arrive();
};

/// The cp.async of a block's threads that are under way. A copy is carried out as late as its group's wait allows, and
/// until then its destination holds NaN; or, in a random order, as often as not at once. A checked run takes the
/// destination for in flight in either case.
class AsyncCopies {
 public:
  AsyncCopies(const Options& options, Scheduler& scheduler, SharedMemory& shared, AccessChecker& checker,
              AccessLog& log, FaultStop& faults);

  void begin(unsigned threads);

  // What the running lane calls; see abi.hpp.
  void issue(const AsyncCopy& copy);
  void commit() { ++threads_[running->thread].group; }
  void wait(unsigned pending);

  /// Threads run one after the other here, and at the same time on a GPU: what each of them had on its way at most,
  /// added up.
  std::uint64_t most_bytes() const;

 private:
  struct Thread {
    std::vector<AsyncCopy> copies;  ///< that it has not waited for, in the order of their issue
    unsigned group = 0;
    std::uint64_t bytes = 0, most_bytes = 0;  ///< of the copies: now, and at most
  };

  const Options& options_;
  Scheduler& scheduler_;
  SharedMemory& shared_;
  AccessChecker& checker_;
  AccessLog& log_;
  FaultStop& faults_;
  std::vector<Thread> threads_{LaunchLimits::threads};
};

}  // namespace lapidary::emulator
