#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <span>

#include "emulator/lane.hpp"
#include "emulator/race_detector.hpp"

namespace lapidary::emulator {

class AccessLog;
class CopyEngine;
class WarpCollectives;
class Warpgroups;
struct Options;

/// The threads of one block, of which it runs one at a time. Each is a fiber that loops over blocks for as long as a
/// launch lasts. A thread runs until it waits; the next one is then chosen in order, or at random by the seed. What is
/// asynchronous is chosen like a thread in a random order, and otherwise happens when nobody can go on.
class Scheduler {
 public:
  Scheduler(const Options& options, AccessLog& log, WarpCollectives& collectives, Warpgroups& warpgroups,
            CopyEngine& copies);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// Makes a fiber for each thread, to run blocks that begin() begins.
  /// @param block  whose run_thread() it calls
  void begin_launch(const BlockPlace& place, BlockRunner& block);
  /// Makes all threads those of a new block, ready to run.
  void begin(const BlockPlace& place);

  /// Whose turn it is; null if all threads wait, or in a random order if it is another block's turn. In a random order
  /// some of what is asynchronous happens first, which may stop the kernel.
  Lane* pick();
  /// Runs this thread and those whose turn it is after it, until pick() finds none.
  void run(Lane& first);
  /// Takes the running lane off until it is its turn again; from `ready` at once.
  void suspend(Lane& lane, LaneState state);
  /// Leaves the running lane for good, and all others of the block where they are: run() returns.
  [[noreturn]] void abandon();
  /// A thread exits. Others may wait for the last one to do so.
  void retire(Lane& lane);

  void set_ready(Warp& warp, std::uint32_t lanes) {
    for_each_bit(lanes, [&](unsigned i) { warp.lanes[i]->state = LaneState::ready; });
    warp.ready |= lanes;
    if (warp.ready) ready_warps_ |= 1u << warp.id;
  }
  void set_ready(Lane& lane) { set_ready(*lane.warp, lane.bit()); }
  /// Whether any lane is in a state.
  bool any(LaneState state) const;
  /// Lets all lanes go on that are in a state. @returns whether there were any
  bool wake(LaneState state);

  /// Of a random order, the same for the same seed and block; null if threads run in order.
  std::minstd_rand* random() { return random_order_ ? &random_ : nullptr; }

  Lane& lane(unsigned thread) { return lanes_[thread]; }
  const Lane& lane(unsigned thread) const { return lanes_[thread]; }
  Warp& warp(unsigned id) { return warps_[id]; }
  unsigned threads() const { return threads_; }
  unsigned warps() const { return warp_count_; }
  /// Threads that have not exited.
  unsigned live() const { return live_; }
  /// How often lanes have switched.
  std::uint64_t switches() const { return switches_; }
  /// The fibers' stacks: what threads have for registers and local memory.
  unsigned char* stacks() const { return stacks_; }
  static std::size_t stack_bytes();
  std::span<unsigned char> stack_of(const Lane& lane) const;
  /// Whether it is an address that only a thread comes to whose stack is full. Each warp has such ones below its
  /// stacks.
  bool is_guard(std::uintptr_t address) const;

 private:
  static void lane_main(void* lane);

  const Options& options_;
  AccessLog& log_;
  WarpCollectives& collectives_;
  Warpgroups& warpgroups_;
  CopyEngine& copies_;
  bool takes_turns_ = false;  ///< with other blocks of a cluster
  bool random_order_ = false;
  unsigned threads_ = 0, warp_count_ = 0, live_ = 0;
  unsigned guarded_ = 0;  ///< warps below whose stacks nothing can be written
  unsigned char* stacks_;
  std::unique_ptr<Lane[]> lanes_;
  std::array<Warp, max_warps> warps_;
  std::uint32_t ready_warps_ = 0;
  unsigned spinning_ = 0;  ///< lanes in that state
  std::uint64_t switches_ = 0;
  Lane* current_ = nullptr;
  Fiber host_;
  std::minstd_rand random_;
};

}  // namespace lapidary::emulator
