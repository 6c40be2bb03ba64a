#pragma once
#include <array>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <source_location>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "emulator/abi.hpp"
#include "emulator/cluster.hpp"
#include "emulator/counter_sums.hpp"
#include "emulator/fault.hpp"
#include "emulator/fiber.hpp"
#include "emulator/machine.hpp"
#include "emulator/mbarrier.hpp"
#include "emulator/race_detector.hpp"
#include "emulator/recorder.hpp"
#include "emulator/shared_memory.hpp"
#include "emulator/warpgroup.hpp"
#include "layout/access.hpp"

namespace lapidary::emulator {

class BlockRunner;
struct Warp;

enum class LaneState : std::uint8_t {
  ready,
  at_barrier,
  at_collective,
  at_wgmma,
  at_mbarrier,
  at_cluster_barrier,
  at_bulk_group,
  at_registers,
  polling,  ///< asked whether an mbarrier's phase is complete, which it was not
  log_full,
  exited,
};

/// A copy that cp.async has issued; `group` counts the thread's commits before it.
struct AsyncCopy {
  unsigned char* shared;
  const unsigned char* global;
  unsigned bytes, source_bytes, group;
  std::uintptr_t pc;
  bool arrived = false;

  void arrive();
};

/// What all 32 lanes of a warp execute as one, such as mma.sync: the last lane to come does it for all.
struct WarpInstruction {
  void (*execute)(const void* form, void* const (&operands)[32]) = nullptr;
  const void* form = nullptr;  ///< shape, types and the like; one object for each, so that its address tells them apart

  bool operator==(const WarpInstruction&) const = default;
};

/// One CUDA thread.
struct Lane {
  Fiber fiber;
  BlockRunner* block = nullptr;
  Warp* warp = nullptr;
  unsigned thread = 0;  ///< linear index in the block
  unsigned lane = 0;    ///< index in the warp
  abi::Index3 index{};
  LaneState state = LaneState::exited;
  std::source_location where;  ///< of the barrier or collective it waits at

  // Operands and result of the collective it is at.
  std::uint64_t value = 0, result = 0;
  int operand = 0, width = 0;
  abi::Shuffle shuffle{};
  WarpInstruction instruction{};
  void* operands = nullptr;

  std::vector<AsyncCopy> copies;
  unsigned copy_group = 0;
  std::uint64_t copying = 0, most_copying = 0;  ///< bytes of copies that it has not waited for: now, and at most
  std::vector<RegisterArray> registers;         ///< arrays that wgmma has for registers, in checked runs

  // For block_async.cpp: what it waits for, and its own part of what is asynchronous.
  struct {
    std::uintptr_t mbarrier = 0;
    unsigned parity = 0;
  } mbarrier_wait;
  struct {
    unsigned group = 0;
    bool read = false;
  } bulk_wait;
  unsigned bulk_group = 0;            ///< counts commits
  std::vector<std::uint32_t> fences;  ///< fence.proxy.async: the warp's intervals that they ended
  bool at_cluster_barrier = false;    ///< has arrived and not waited
  std::uint32_t cluster_phase = 0;    ///< when it arrived
  bool grid_waited = false;           ///< griddepcontrol.wait

  // Accesses since its warp's interval began. While the lane runs, the end is in the recorder.
  std::vector<Event> log;
  std::size_t logged = 0;
  std::size_t examined = 0;  ///< ... of which the race detector has seen so many

  std::uint32_t bit() const { return 1u << lane; }
};

enum class Collective : std::uint8_t { none, sync, shuffle, vote, arrive, instruction, elect, registers };

/// A collective that some lanes of a warp have come to and others have not.
struct PendingCollective {
  Collective kind = Collective::none;
  std::uint32_t mask = 0, arrived = 0;
};

struct Warp {
  unsigned id = 0;
  std::array<Lane*, 32> lanes{};
  std::uint32_t all = 0;    ///< lanes that exist
  std::uint32_t alive = 0;  ///< ... and have not exited
  std::uint32_t ready = 0;  ///< ... and do not wait
  std::array<PendingCollective, 4> collectives;
  unsigned registers = 0;  ///< of a thread, see setmaxnreg
  unsigned wanted_registers = 0;
};

/// A barrier of the block (PTX ISA: sixteen of them, barrier 0 is that of __syncthreads).
struct Barrier {
  unsigned expected = 0;  ///< threads, 0 for all that have not exited
  unsigned arrived = 0;
  int sum = 0;
  std::array<std::uint32_t, max_warps> waiting{};  ///< lanes by warp
  Clock clock{};
};

/// Runs the blocks of one rank of a grid's clusters one after the other, on one host thread.
class BlockRunner {
 public:
  BlockRunner(const Options& options, ClusterRunner& cluster, unsigned rank);
  ~BlockRunner();
  BlockRunner(const BlockRunner&) = delete;
  BlockRunner& operator=(const BlockRunner&) = delete;

  /// Makes the calling host thread the one that runs blocks of this launch.
  /// @param regions  the allocations, by address; they outlive the launch
  void begin_launch(const LaunchShape& shape, ThreadBody body, std::span<const MemoryRegion> regions);
  void end_launch();
  /// Makes it a new block. What it counts is multiplied by the sample's weight.
  void begin(const BlockSample& sample);
  /// Runs its threads until all of them wait. @returns whether any of them could go on
  /// @throws KernelFault
  bool advance();
  /// After all threads have exited. @throws KernelFault
  void end();

  const Sites& sites() const { return sites_; }
  std::uint64_t divergent_intervals() const { return divergent_intervals_; }
  void clear_counters();

  /// The runner and the lane that the calling host thread is in; null outside of kernels.
  static BlockRunner* current();
  static Lane* current_lane();

  // What abi.hpp promises.
  const LaunchShape& shape() const { return shape_; }
  abi::Index3 block_index() const { return block_index_; }
  const Options& options() const { return options_; }
  SharedMemory& shared() { return shared_; }
  ClusterRunner& cluster() { return cluster_; }
  unsigned rank() const { return rank_; }
  unsigned warps() const { return warps_; }
  unsigned live() const { return live_; }
  unsigned party(const Warp& warp) const { return races_->party(rank_, warp.id); }
  bool first_in_block();
  /// Waits; returns how many of the threads that came had a predicate that is not 0.
  int barrier(unsigned id, unsigned threads, int predicate, std::source_location where);
  void barrier_arrive(unsigned id, unsigned threads, std::source_location where);
  /// Brings lanes together; the last one to come executes for all.
  void collective(Collective kind, std::uint32_t mask, std::source_location where);
  /// Brings a whole warp together to execute an instruction. `operands` are the running lane's, for `execute`.
  void warp_instruction(const WarpInstruction& instruction, void* operands, std::source_location where);
  Warpgroups& warpgroups() { return warpgroups_; }
  void count_mma(std::uintptr_t pc, const TensorOperation& one);
  void count_wgmma(std::uintptr_t pc, const WgmmaCounters& one);
  RaceDetector* races() { return races_; }
  /// Hands the race detector 16 bytes that a wgmma of the running warp reads, and checks that they may be.
  void record_wgmma_read(const RaceDetector::Copy& mark, std::uintptr_t chunk, std::uintptr_t pc);
  /// The running lane, or one of its warp, has registers that accesses are to be reported of.
  void registers_watched(const Lane& lane);
  void touch_registers(std::uintptr_t address, unsigned bytes, bool write, std::uintptr_t pc);
  void async_copy(const AsyncCopy& copy);
  void async_wait(unsigned pending);

  // The same of what is asynchronous on compute capability 9.0 (block_async.cpp).
  void mbarrier_init(std::uintptr_t address, unsigned arrivals, std::source_location where, std::uintptr_t pc);
  void mbarrier_inval(std::uintptr_t address, std::source_location where, std::uintptr_t pc);
  void fence_mbarrier_init();
  /// Expects bytes, then counts arrivals; either may be 0.
  void mbarrier_arrive(std::uintptr_t address, unsigned arrivals, unsigned bytes, std::source_location where,
                       std::uintptr_t pc);
  bool mbarrier_wait(std::uintptr_t address, unsigned parity, bool may_suspend, std::source_location where,
                     std::uintptr_t pc);
  void fence_proxy_async();
  void setmaxnreg(unsigned registers, bool increase, std::source_location where);
  /// Takes a copy with all but its chunks' effects known; `targets` are the ranks of a multicast.
  void bulk_load(BulkCopy&& copy, std::uint32_t targets);
  void bulk_store(BulkCopy&& copy);
  void bulk_wait(unsigned pending, bool read, std::source_location where);
  /// What ordinary stores have written is seen by bulk copies and wgmma, the asynchronous proxy, if who wrote it has
  /// executed fence.proxy.async since, and if they are ordered after that. In checked runs; stops the kernel.
  /// @param reader  none: wgmma
  void check_fence(std::uintptr_t address, unsigned bytes, std::optional<BulkKind> reader, std::uintptr_t pc);
  /// An access to an address that is none of this block's: to shared memory of another one of the cluster?
  bool cluster_access(std::uintptr_t address, unsigned bytes, Access access, std::uintptr_t pc);
  /// The address in the block of that rank that corresponds to one of this block's shared memory.
  std::uintptr_t map_to_rank(std::uintptr_t address, unsigned rank, std::source_location where);

  // What the cluster and its copy engine tell the block.
  void arrive_copy(const BulkCopy& copy);
  void wake_bulk_wait(Lane& lane);
  void wake(LaneState state);
  bool wake_polling();
  /// Stops the kernel if the block must not exit yet.
  void check_exit();
  /// Throws what check_bounds has put off, if anything.
  void stop_if_read_early() const;
  Deadlock::Block deadlock() const;
  /// Takes the lane off until it is its turn again; from `ready` at once.
  void suspend(Lane& lane, LaneState state);
  /// Hands the lane's accesses so far to the race detector.
  void hand_over(Lane& lane);
  /// Counts what lanes with full logs have logged, as far as their warp executed it in step, and lets them go on.
  bool empty_full_logs();

  /// Stops the kernel. The running lane never returns from this.
  [[noreturn]] void fault(FaultFacts facts, std::uintptr_t pc);
  [[noreturn]] void fault(FaultFacts facts, std::source_location where);
  /// Stops the kernel if the access is not allowed; for a read that came before its write, at the block's next barrier
  /// or its end.
  void check_alignment(std::uintptr_t address, unsigned bytes, unsigned alignment, Access access, std::uintptr_t pc);
  void check_bounds(std::uintptr_t address, unsigned bytes, Access access, std::uintptr_t pc);
  /// Makes room in the running lane's log.
  void grow_log();

 private:
  static void lane_main(void* lane);
  static void fill_registers();
  /// The shared memory of a block of the cluster that an address lies in.
  SharedMemory& memory_of(std::uintptr_t address);
  void exit_lane(Lane& lane);
  Lane* pick();
  void enter(Lane* lane);
  void leave(Lane* lane);

  void set_ready(Warp& warp, std::uint32_t lanes);
  void complete_barrier(Barrier& barrier);
  void complete_barrier_if_due(Barrier& barrier);
  void complete(Warp& warp, PendingCollective& collective);
  [[noreturn]] void fault_part_of_warp(const Lane& lane);
  [[noreturn]] void stop(Fault fault);
  Fault fault_at(FaultFacts facts, const std::optional<SourceLine>& line) const;
  /// A byte of global memory, or of shared memory of a block of the cluster.
  MemoryPlace place_of(std::uintptr_t address, bool is_global);

  // Hands the accesses of a warp's interval to the race detector and the counters (block_counting.cpp).
  void flush(Warp& warp);
  void find_races(const Warp& warp);
  void find_races(Lane& lane);
  [[noreturn]] void fault_race(const Race& race);
  void merge_neighbours(Lane& lane) const;
  void merge_neighbours(Lane& lane, unsigned width) const;
  unsigned memory_at(std::uintptr_t address);
  std::size_t count_in_step(const Warp& warp);
  void count_by_occurrence(const Warp& warp, std::size_t from);
  void count(const WarpAccess& access, Access kind, std::uintptr_t pc, unsigned warp);

  struct WaitedMbarrier {
    Mbarrier barrier;
    const Lane* by;       ///< who initialised it,
    bool fenced = false;  ///< and whether that thread has executed fence.mbarrier_init since
    std::vector<Lane*> waiting = {};
  };
  // The block that has the barrier in its shared memory, and the barrier.
  std::pair<BlockRunner*, WaitedMbarrier*> find_mbarrier(std::uintptr_t address, const char* instruction,
                                                         std::source_location where);
  void update_mbarrier(std::uintptr_t address, WaitedMbarrier& barrier);
  void touch_mbarrier(std::uintptr_t address, Access access, std::uintptr_t pc);
  MbarrierPlace place_of_mbarrier(std::uintptr_t address) const;
  Wait wait_of(const Lane& lane) const;
  void begin_async();
  void complete_async(Warp& warp, Collective kind, std::uint32_t lanes);
  bool grant_registers(Warp& warp);
  // Checks a copy's accesses, and hands them to the counters and the race detector.
  void record_copy(BulkCopy& copy);
  void count_copy(const BulkCopy& copy, unsigned blocks);
  // Takes note of the most bytes that were on their way to the block's shared memory.
  void record_flight();
  unsigned thread_of_cluster(const Lane& lane) const { return rank_ * LaunchLimits::threads + lane.thread; }

  Options options_;
  ClusterRunner& cluster_;
  unsigned rank_;
  LaunchShape shape_{};
  ThreadBody body_{};
  abi::Index3 block_index_{};
  BlockSample sample_{};
  std::span<const MemoryRegion> regions_;
  MemoryRegion last_region_{};
  unsigned threads_ = 0, warps_ = 0, live_ = 0;
  bool recording_ = false;

  unsigned char* stacks_;
  std::unique_ptr<Lane[]> lanes_;
  std::array<Warp, max_warps> all_warps_;
  std::uint32_t ready_warps_ = 0;
  Lane* current_ = nullptr;
  Fiber scheduler_;
  std::array<Barrier, 16> barriers_;
  bool entered_ = false;
  std::optional<Fault> fault_;
  std::optional<Fault> early_read_;  ///< see check_bounds

  SharedMemory shared_;
  Warpgroups warpgroups_{*this};
  std::map<std::uintptr_t, WaitedMbarrier> mbarriers_;
  unsigned free_registers_ = 0;  ///< for setmaxnreg
  RaceDetector* races_;          ///< of the cluster
  std::minstd_rand random_;
  Sites sites_;
  std::uint64_t divergent_intervals_ = 0;
  std::uint64_t bulk_copying_ = 0, most_bulk_copying_ = 0;  ///< bytes of bulk copies to the block: now, and at most
};

}  // namespace lapidary::emulator
