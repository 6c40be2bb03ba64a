#pragma once
#include <cstdint>
#include <span>
#include <utility>

#include "emulator/access_checker.hpp"
#include "emulator/access_counter.hpp"
#include "emulator/access_log.hpp"
#include "emulator/async_copies.hpp"
#include "emulator/bulk_copies.hpp"
#include "emulator/fault_stop.hpp"
#include "emulator/lane.hpp"
#include "emulator/machine.hpp"
#include "emulator/mbarriers.hpp"
#include "emulator/named_barriers.hpp"
#include "emulator/race_checker.hpp"
#include "emulator/register_pool.hpp"
#include "emulator/scheduler.hpp"
#include "emulator/shared_memory.hpp"
#include "emulator/spinning.hpp"
#include "emulator/warp_collectives.hpp"
#include "emulator/warpgroup.hpp"

namespace lapidary::emulator {

class ClusterRunner;

/// Runs the blocks of one rank of a grid's clusters one after the other, on one host thread. It is made of the units
/// that a block has on a GPU, and of those that watch them; here they are wired.
class BlockRunner {
 public:
  BlockRunner(const Options& options, ClusterRunner& cluster, unsigned rank);
  BlockRunner(const BlockRunner&) = delete;
  BlockRunner& operator=(const BlockRunner&) = delete;

  /// Makes the calling host thread the one that runs blocks of this launch.
  /// @param regions  the allocations, by address; they outlive the launch
  void begin_launch(const LaunchShape& shape, ThreadBody body, std::span<const MemoryRegion> regions);
  void end_launch();
  /// Makes it a new block. What it counts is multiplied by the sample's weight.
  void begin(const BlockSample& sample);
  /// Runs its threads until all of them wait. @returns whether any of them could go on
  /// @throws DetailedFault
  bool advance();
  /// After all threads have exited. @throws DetailedFault
  void end();

  /// One thread's run of the kernel, on its fiber.
  void run_thread(Lane& lane);

  /// The runner that the calling host thread is in; null outside of kernels.
  static BlockRunner* current();

  const Options& options() const { return options_; }
  const BlockPlace& place() const { return place_; }
  ClusterRunner& cluster() { return cluster_; }
  /// Whether this is the first call in this block.
  bool first_in_block() { return !std::exchange(entered_, true); }

  SharedMemory& shared() { return shared_; }
  Scheduler& scheduler() { return scheduler_; }
  FaultStop& faults() { return faults_; }
  AccessChecker& checker() { return checker_; }
  AccessCounter& counter() { return counter_; }
  AccessLog& log() { return log_; }
  RaceChecker& races() { return races_; }
  Spinning& spinning() { return spinning_; }
  NamedBarriers& barriers() { return barriers_; }
  WarpCollectives& collectives() { return collectives_; }
  AsyncCopies& async_copies() { return async_copies_; }
  Mbarriers& mbarriers() { return mbarriers_; }
  BulkCopies& bulk_copies() { return bulk_copies_; }
  Warpgroups& warpgroups() { return warpgroups_; }

  /// Checks the bounds of an access of the running lane, which must be of a recorded run, and logs it; of one that is
  /// declared as of global memory and is not, as check_elsewhere() does.
  void record(std::uintptr_t address, unsigned bytes, Access access, std::uintptr_t pc);
  /// The same of an address that is none of this block's. @returns whether it is another block's of the cluster
  bool record_remote(std::uintptr_t address, unsigned bytes, Access access, std::uintptr_t pc);
  /// A plain access that is neither of global memory nor of shared memory of the cluster, in a checked run: of
  /// `__device__` variables or constants.
  void check_elsewhere(std::uintptr_t address, unsigned bytes, bool store, std::uintptr_t pc);
  /// An atomic or volatile access that the running lane is going to make, in any run; `compare` is atomicCAS, and
  /// `exchange` atomicExch, whose old value most kernels leave alone: it may be the first access of a word.
  enum class Strong : std::uint8_t { load, store, atomic, compare, exchange };
  void strong_access(std::uintptr_t address, unsigned bytes, Strong kind, std::uintptr_t pc);

  // Stops the kernel if its time is over, at an instruction of the running lane or where it is going to wait.
  void check_time(std::uintptr_t pc);
  void check_time();
  /// Stops the kernel if the block must not exit yet.
  void check_exit();
  /// Who waits for what.
  Deadlock::Block deadlock() const;

 private:
  [[noreturn]] void stop_foreign(std::uintptr_t address, Strong kind, std::uintptr_t pc);
  /// An access of shared memory of another block of the cluster; false if it is none.
  bool reach_remote(std::uintptr_t address, std::uintptr_t pc);
  static void fill_registers();
  SourceLine line_of(const Lane& lane) const;
  Wait wait_of(const Lane& lane) const;

  const Options options_;
  ClusterRunner& cluster_;
  ThreadBody body_{};
  BlockPlace place_;
  bool entered_ = false;

  SharedMemory shared_;
  Scheduler scheduler_;
  FaultStop faults_;

  // What watches: accesses are checked, logged, and from there seen by the race detector and counted.
  AccessChecker checker_;
  AccessCounter counter_;
  AccessLog log_;
  RaceChecker races_;

  Spinning spinning_;
  NamedBarriers barriers_;
  RegisterPool registers_;
  WarpCollectives collectives_;
  AsyncCopies async_copies_;
  Mbarriers mbarriers_;
  BulkCopies bulk_copies_;
  Warpgroups warpgroups_;
};

/// Of the calling thread of a kernel, which there has to be.
inline BlockRunner& running_block() { return *BlockRunner::current(); }

}  // namespace lapidary::emulator
