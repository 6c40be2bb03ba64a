#pragma once
#include <cstdint>
#include <optional>

#include "emulator/call_site.hpp"
#include "emulator/fault.hpp"

namespace lapidary::emulator {

class Scheduler;
struct BlockPlace;
struct Lane;

/// Stops the kernel of one block. A fault that may go away is put off: where a barrier is missing, the thread that
/// should have come first may yet come, and then a race or a copy tells more than the read that came too early.
class FaultStop {
 public:
  FaultStop(const BlockPlace& place, Scheduler& scheduler) : place_(place), scheduler_(scheduler) {}

  void begin();

  /// Stops the kernel, on behalf of the running lane if it is of this block. No lane returns from this; the block's
  /// host thread then finds the fault by throw_if_found(). Outside of kernels it throws DetailedFault at once.
  /// @param pc, where  the instruction or the line to be named
  [[noreturn]] void stop(FaultFacts facts, std::uintptr_t pc);
  [[noreturn]] void stop(FaultFacts facts, CallSite where);
  /// ... on behalf of another lane, at the line where it waits or at one that it has come by.
  [[noreturn]] void stop(FaultFacts facts, const Lane& lane);
  [[noreturn]] void stop(FaultFacts facts, const Lane& lane, CallSite where);
  /// That of no single thread or line.
  [[noreturn]] void stop(FaultFacts facts);

  /// Keeps the first such fault until the block's next barrier or its end.
  void put_off(FaultFacts facts, std::uintptr_t pc);
  bool has_put_off() const { return put_off_.has_value(); }
  [[noreturn]] void stop_put_off() { stop(*put_off_); }

  /// @throws DetailedFault
  void throw_if_found() const;
  void throw_if_put_off() const;

 private:
  [[noreturn]] void stop(Fault fault);
  Fault fault_at(FaultFacts facts, const SourceLine& line) const;

  const BlockPlace& place_;
  Scheduler& scheduler_;
  std::optional<Fault> found_, put_off_;
};

}  // namespace lapidary::emulator
