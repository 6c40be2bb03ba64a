#pragma once
#include <ctime>

namespace lapidary::emulator {

class ClusterRunner;

/// Ends loops that take longer than Options::limit_s and come by nothing that looks at the time: that make no access
/// which is recorded, and wait for nobody. A timer of the calling host thread's time, for as long as this lives, sends
/// it SIGURG once the limit is over, and every tenth of a second from then on; one that finds the thread where nothing
/// has been recorded since the last one ends the kernel there. Where a program has a handler of its own for SIGURG,
/// loops are not watched.
class LoopWatch {
 public:
  LoopWatch(const ClusterRunner& cluster, double limit_s);
  ~LoopWatch();
  LoopWatch(const LoopWatch&) = delete;
  LoopWatch& operator=(const LoopWatch&) = delete;

 private:
  bool watches_ = false;
  timer_t timer_{};
};

}  // namespace lapidary::emulator
