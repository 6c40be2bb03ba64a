#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "emulator/call_site.hpp"
#include "emulator/copy_engine.hpp"
#include "emulator/counter_sums.hpp"
#include "emulator/fault.hpp"
#include "emulator/machine.hpp"
#include "emulator/race_detector.hpp"
#include "emulator/recorder.hpp"
#include "emulator/residents.hpp"

namespace lapidary::emulator {

class Arena;
class BlockRunner;
struct Lane;

/// Runs the clusters of a grid one after the other, on one host thread; a block that is in no cluster is one of its
/// own. The blocks of a cluster take turns: each goes on until all of its threads wait, or in a random order stops
/// before.
class ClusterRunner {
 public:
  /// @param memory  the machine's global memory
  /// @param grid  what orders accesses of this cluster and those of others
  ClusterRunner(const Options& options, Arena& memory, GridOrder& grid);
  ~ClusterRunner();
  ClusterRunner(const ClusterRunner&) = delete;
  ClusterRunner& operator=(const ClusterRunner&) = delete;

  /// Makes the calling host thread the one that runs clusters of this launch.
  /// @param regions  the allocations, by address; they outlive the launch
  /// @param residents  the clusters that are on the machine at a time
  void begin_launch(const LaunchShape& shape, ThreadBody body, std::span<const MemoryRegion> regions,
                    Residents& residents);
  void end_launch();
  /// What the blocks count is multiplied by the weights of the samples, one for each rank.
  /// @throws KernelFault
  void run(std::span<const BlockSample> blocks);

  void add_to(Sites& sites) const;
  std::uint64_t divergent_intervals() const;
  void clear_counters();

  // What the blocks of the cluster share.
  Arena& memory() { return memory_; }
  unsigned size() const { return size_; }
  BlockRunner& block(unsigned rank) { return *blocks_[rank]; }
  /// The block that an address of shared memory belongs to; of variables that are __shared__ the one of that rank.
  /// Null if it is not shared.
  BlockRunner* owner(std::uintptr_t address, unsigned rank);
  /// mapa: the address in the block of rank `to` that corresponds to one of the shared memory of the block `from`.
  std::uintptr_t map_to_rank(std::uintptr_t address, unsigned from, unsigned to, CallSite where);
  CopyEngine& copies() { return copies_; }
  RaceDetector* races() { return races_.get(); }

  /// barrier.cluster of the running lane.
  /// @param releases  whether what the thread did before is handed on, and not its mbarriers alone
  void arrive(bool releases, CallSite where);
  void wait(CallSite where);
  std::uint64_t arrived() const { return arrived_; }
  std::uint64_t live() const;

  /// Takes note that a party of the race detector, of another block or a copy, reaches shared memory of a block.
  /// @param owner  its rank
  void reach(unsigned owner, unsigned party, std::uint32_t interval, std::uintptr_t pc);
  /// A thread has exited. Once its block has no more, that block has to know that nobody reaches it any longer.
  void exit(const Lane& lane);

  /// Whether Options::limit_s is over.
  bool is_late() const;

  /// Something has changed that a thread may be polling for.
  void changed() { resident_.idle_polls.store(0, std::memory_order_relaxed); }

 private:
  /// A thread at the barrier of the cluster.
  struct Arrival {
    bool arrived = false;     ///< and has not waited
    std::uint32_t phase = 0;  ///< when it arrived
    CallSite where = {}, waits_at = {};
    std::uint32_t waits_for = ~0u;  ///< the phase that it waited for last
  };
  struct Reach {
    std::uint32_t interval;
    std::uintptr_t pc;
  };

  Arrival& arrival(const Lane& lane);
  /// Stops the kernel if a lane of the running one's warp, for which `at` has a place, executes this elsewhere.
  template <class Place>
  void check_aligned(CallSite where, Place&& at);
  void run_blocks();
  bool let_go_on();
  void complete_barrier_if_due();
  Deadlock deadlock() const;

  Options options_;
  Arena& memory_;
  LaunchShape shape_{};
  unsigned size_ = 1;
  std::vector<std::unique_ptr<BlockRunner>> blocks_;  ///< at least size_
  std::unique_ptr<RaceDetector> races_;
  CopyEngine copies_;
  std::minstd_rand random_;
  double began_s_ = 0;  ///< by the host thread's time
  Residents* residents_ = nullptr;
  Residents::Resident resident_;

  std::uint64_t arrived_ = 0;  ///< threads at the barrier of the cluster
  std::uint32_t barrier_phase_ = 0;
  std::vector<std::vector<Arrival>> arrivals_;  ///< by rank and thread
  Clock barrier_clock_;
  std::vector<std::map<unsigned, Reach>> reached_;  ///< by rank of the owner and party: the last time
};

}  // namespace lapidary::emulator
