#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "core/launch_shape.hpp"
#include "emulator/lane.hpp"

namespace lapidary::emulator {

class ClusterRunner;
class Scheduler;

/// Threads of a block that read a word over and over, by atomic or volatile accesses, until another thread writes it.
/// One that finds a word as it was lets all others go first, as threads of a GPU go on at the same time.
class Spinning {
 public:
  Spinning(ClusterRunner& cluster, Scheduler& scheduler) : cluster_(cluster), scheduler_(scheduler) {}

  void begin();
  /// The running lane is going to read a word, or has not changed it by an atomic access. Returns when it may go on.
  void look(std::uintptr_t word, unsigned bytes, std::uintptr_t pc);
  /// __nanosleep of the running lane.
  void sleep(std::uintptr_t pc);
  /// In a random order: other threads come first now and then.
  void be_overtaken();

  /// The instruction of a lane that spins.
  std::uintptr_t pc(const Lane& lane) const { return threads_[lane.thread].pc; }

 private:
  struct Look {
    std::uintptr_t word = 0;
    std::uint64_t value = 0;
    bool operator==(const Look&) const = default;
  };
  /// The last values that a thread has found, in few words: a thread may wait for several at a time.
  struct Thread {
    std::array<Look, 4> looks{};
    unsigned count = 0;
    std::uintptr_t pc = 0;
  };

  void suspend(std::uintptr_t pc);

  ClusterRunner& cluster_;
  Scheduler& scheduler_;
  bool used_ = false;
  std::vector<Thread> threads_{LaunchLimits::threads};
};

}  // namespace lapidary::emulator
