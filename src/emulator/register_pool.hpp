#pragma once
#include <array>

#include "emulator/call_site.hpp"
#include "emulator/fault.hpp"
#include "emulator/lane.hpp"
#include "emulator/race_detector.hpp"

namespace lapidary::emulator {

class FaultStop;
class Scheduler;

/// The registers that the warps of a block have, and those that some have given up for others (setmaxnreg).
class RegisterPool {
 public:
  RegisterPool(Scheduler& scheduler, FaultStop& faults) : scheduler_(scheduler), faults_(faults) {}

  void begin();

  /// Stops the kernel if threads cannot have so many registers.
  void check(unsigned registers, CallSite where);
  /// A warp, whose lanes are together, gives registers up or asks for some: a number for each thread.
  void set(Warp& warp, unsigned registers, bool increase, CallSite where);
  /// The running lane waits until its warp has what it asked for.
  void wait();

  /// What a lane that is at a setmaxnreg waits for.
  Wait wait_of(const Lane& lane) const;

 private:
  struct Share {
    unsigned registers = 0, wanted = 0;  ///< of a thread
  };

  bool grant(Share& share);

  Scheduler& scheduler_;
  FaultStop& faults_;
  std::array<Share, max_warps> shares_{};  ///< by warp
  unsigned free_ = 0;
};

}  // namespace lapidary::emulator
