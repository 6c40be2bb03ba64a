#pragma once
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "core/launch_shape.hpp"
#include "emulator/lane.hpp"
#include "emulator/recorder.hpp"

namespace lapidary::emulator {

class AccessCounter;
class RaceChecker;
class Scheduler;
struct Options;

/// A thread's accesses since its warp's interval began. While the thread runs, their end is in the recorder.
struct LaneLog {
  std::vector<Event> events;
  std::size_t logged = 0;
  std::size_t examined = 0;        ///< ... of which the race detector has seen so many
  bool watches_registers = false;  ///< the thread has arrays that wgmma has for registers
};

/// The logs of a block's threads, in runs that count or check. Where a warp synchronises, and where a log is full, they
/// are handed to the race checker and the counters.
class AccessLog {
 public:
  AccessLog(const Options& options, Scheduler& scheduler, RaceChecker& races, AccessCounter& counter);

  void begin_launch(unsigned threads);
  void begin(unsigned threads);
  /// Whether accesses are logged.
  bool is_on() const { return on_; }

  // The recorder follows the lane that runs.
  void enter(const Lane& lane) {
    if (!on_) return;
    LaneLog& log = logs_[lane.thread];
    recorder.next = log.events.data() + log.logged;
    recorder.end = log.events.data() + log.events.size();
    recorder.watch_registers = log.watches_registers;
  }
  void leave(const Lane& lane) {
    if (!on_) return;
    LaneLog& log = logs_[lane.thread];
    log.logged = static_cast<std::size_t>(recorder.next - log.events.data());
  }

  /// Logs an access of the running lane, which must be of a recorded run.
  void add(const Event& event) {
    if (recorder.next == recorder.end) grow();
    *recorder.next++ = event;
  }
  /// The same of one that the race checker has seen.
  void add_examined(const Event& event) {
    add(event);
    leave(*running);
    logs_[running->thread].examined = logs_[running->thread].logged;
  }
  /// The instruction of the running lane's last access since the interval began; 0 if there is none.
  std::uintptr_t last_pc(const Lane& lane) {
    leave(lane);
    const LaneLog& log = logs_[lane.thread];
    return log.logged > 0 ? log.events[log.logged - 1].pc : 0;
  }
  /// Makes room in the running lane's log.
  void grow();
  /// A lane, which may be the running one, has arrays that wgmma has for registers.
  void watch_registers(const Lane& lane);

  /// By lane of the warp.
  std::span<LaneLog> of(const Warp& warp);
  LaneLog& of(const Lane& lane) { return logs_[lane.thread]; }

  /// Ends a warp's interval: hands over its accesses and forgets them.
  void flush(const Warp& warp);
  /// Counts what lanes with full logs have logged, as far as their warp executed it in step, and lets them go on.
  /// @returns whether there were any
  bool empty_full_logs();

 private:
  const Options& options_;
  Scheduler& scheduler_;
  RaceChecker& races_;
  AccessCounter& counter_;
  bool on_ = false;
  std::vector<LaneLog> logs_{LaunchLimits::threads};
};

}  // namespace lapidary::emulator
