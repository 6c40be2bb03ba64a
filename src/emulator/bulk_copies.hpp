#pragma once
#include <cstdint>
#include <vector>

#include "core/launch_shape.hpp"
#include "emulator/call_site.hpp"
#include "emulator/copy_engine.hpp"
#include "emulator/lane.hpp"
#include "emulator/shared_memory.hpp"

namespace lapidary::emulator {

class AccessChecker;
class AccessCounter;
class ClusterRunner;
class FaultStop;
class Mbarriers;
class RaceChecker;
class Scheduler;
struct Options;

/// A block's side of bulk copies, which the copy engine of the cluster carries out: those that its threads issue and
/// wait for, and those to and from its shared memory.
class BulkCopies {
 public:
  BulkCopies(const Options& options, const BlockPlace& place, ClusterRunner& cluster, Scheduler& scheduler,
             SharedMemory& shared, Mbarriers& mbarriers, AccessChecker& checker, RaceChecker& races,
             AccessCounter& counter, FaultStop& faults);

  void begin();

  // What the running lane calls; see abi.hpp. A copy is given with its chunks, and what is written where.
  /// @param targets  the ranks of a multicast
  void load(BulkCopy&& copy, std::uint32_t targets);
  void store(BulkCopy&& copy);
  void commit() { ++threads_[running->thread].group; }
  void wait(unsigned pending, bool read, CallSite where);

  // What the copy engine tells of a copy: to the block that owns the shared memory ...
  void complete_load(const BulkCopy& copy);
  // ... and to the one that issued it.
  bool waits_for(const BulkCopy& copy) const;
  /// A copy of the lane has gone on; if that is all that it waits for it may too.
  void wake(Lane& lane);

  /// Stops the kernel if the block must not exit yet.
  void check_exit();
  /// The most bytes that loads to the block had under way at a time.
  std::uint64_t most_bytes() const { return most_bytes_; }

 private:
  struct Thread {
    unsigned group = 0;      ///< counts commits
    unsigned waits_for = 0;  ///< groups before this one,
    bool read = false;       ///< and only until they have read their sources
  };

  /// Checks a copy's accesses, and hands them to the race checker.
  void record(BulkCopy& copy);

  const Options& options_;
  const BlockPlace& place_;
  ClusterRunner& cluster_;
  Scheduler& scheduler_;
  SharedMemory& shared_;
  Mbarriers& mbarriers_;
  AccessChecker& checker_;
  RaceChecker& races_;
  AccessCounter& counter_;
  FaultStop& faults_;
  std::vector<Thread> threads_{LaunchLimits::threads};
  std::uint64_t bytes_ = 0, most_bytes_ = 0;  ///< of loads to the block: now, and at most
};

}  // namespace lapidary::emulator
