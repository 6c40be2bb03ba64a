#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/launch_shape.hpp"
#include "emulator/call_site.hpp"
#include "emulator/lane.hpp"
#include "emulator/mbarrier.hpp"
#include "emulator/shared_memory.hpp"

namespace lapidary::emulator {

class AccessChecker;
class ClusterRunner;
class FaultStop;
class RaceChecker;
class Scheduler;
struct BulkCopy;
struct Options;

/// The mbarriers in a block's shared memory, and who waits for them. Threads of other blocks of the cluster may arrive
/// at them: operations find the block that an address belongs to.
class Mbarriers {
 public:
  Mbarriers(const Options& options, const BlockPlace& place, ClusterRunner& cluster, Scheduler& scheduler,
            SharedMemory& shared, AccessChecker& checker, RaceChecker& races, FaultStop& faults);

  void begin();

  // What the running lane, which is of this block, calls; see abi.hpp.
  void init(std::uintptr_t address, unsigned arrivals, CallSite where, std::uintptr_t pc);
  void inval(std::uintptr_t address, CallSite where, std::uintptr_t pc);
  void fence_init();
  /// Expects bytes, then counts arrivals; either may be 0.
  void arrive(std::uintptr_t address, unsigned arrivals, unsigned bytes, CallSite where, std::uintptr_t pc);
  /// Of so many bytes none is pending any more.
  void complete(std::uintptr_t address, unsigned bytes, CallSite where, std::uintptr_t pc);
  /// @returns whether the phase of that parity is complete
  bool wait(std::uintptr_t address, unsigned parity, bool may_suspend, CallSite where, std::uintptr_t pc);

  /// Stops the kernel if a bulk copy of the running lane cannot complete at an mbarrier of any block.
  void check_target(std::uintptr_t address, CallSite where);
  /// ... if no fence.mbarrier_init makes the mbarrier known to it, which is ordered after the initialisation.
  void check_fenced(std::uintptr_t address, CallSite where);
  /// A load to this block's shared memory has ended: its bytes are no longer pending.
  void complete(const BulkCopy& copy);

  /// Stops the kernel if the block must not exit yet.
  void check_exit();
  /// What a lane that is at an mbarrier waits for.
  Wait wait_of(const Lane& lane) const;

 private:
  struct Entry {
    Mbarrier barrier;
    const Lane* by;                            ///< who initialised it,
    std::optional<std::uint32_t> fenced = {};  ///< and the interval in which it has executed fence.mbarrier_init since
    std::vector<Lane*> waiting = {};
  };
  /// What a thread waits for.
  struct Waited {
    std::uintptr_t address = 0;
    unsigned parity = 0;
    bool refused = false;  ///< whether it was told that the phase is not complete, and has not waited for it since
  };

  /// The barrier, and those that it is one of.
  std::pair<Mbarriers*, Entry*> find(std::uintptr_t address, const char* instruction, CallSite where);
  void update(std::uintptr_t address, Entry& entry);
  MbarrierPlace place_of(std::uintptr_t address) const;

  const Options& options_;
  const BlockPlace& place_;
  ClusterRunner& cluster_;
  Scheduler& scheduler_;
  SharedMemory& shared_;
  AccessChecker& checker_;
  RaceChecker& races_;
  FaultStop& faults_;
  std::map<std::uintptr_t, Entry> mbarriers_;
  std::vector<Waited> waited_{LaunchLimits::threads};  ///< by thread
};

}  // namespace lapidary::emulator
