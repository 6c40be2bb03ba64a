#pragma once
#include <cstddef>
#include <memory>

namespace lapidary::emulator {

/// Makes faults of what the host's processor does not do for a kernel: to divide an integer by zero (an x86-64; others
/// do), and to call on when a thread's stack is full. For the calling host thread, as long as this lives. Where a
/// program has handlers of its own for SIGFPE or SIGSEGV these are left to it.
class HostTraps {
 public:
  HostTraps();
  ~HostTraps();
  HostTraps(const HostTraps&) = delete;
  HostTraps& operator=(const HostTraps&) = delete;

 private:
  std::unique_ptr<std::byte[]> stack_;  ///< of handlers, as that of the kernel's thread may be full
};

}  // namespace lapidary::emulator
