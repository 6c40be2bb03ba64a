#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "emulator/call_site.hpp"
#include "emulator/fault.hpp"
#include "emulator/lane.hpp"
#include "emulator/race_detector.hpp"

namespace lapidary::emulator {

class AccessLog;
class FaultStop;
class RaceChecker;
class Scheduler;
struct Options;

/// The sixteen barriers of a block (PTX ISA, "bar"), of which barrier 0 is that of __syncthreads. All of them order
/// what the warps that came have accessed.
class NamedBarriers {
 public:
  NamedBarriers(const Options& options, Scheduler& scheduler, AccessLog& log, RaceChecker& races, FaultStop& faults);

  void begin();

  /// The running lane waits until `threads` threads, 0 for all that have not exited, have come.
  /// @returns how many of those that came had a predicate that is not 0
  int sync(unsigned id, unsigned threads, int predicate, CallSite where);
  /// Stops the kernel if there is no such barrier to arrive at without waiting.
  void check_arrival(unsigned id, unsigned threads, CallSite where);
  /// Counts a whole warp as having come.
  void arrive(const Warp& warp, unsigned id, unsigned threads, CallSite where);
  /// Threads have exited: those who wait for all that have not may go on.
  void complete_if_due();

  /// What a lane that is at a barrier waits for.
  Wait wait_of(const Lane& lane) const;

 private:
  struct Barrier {
    unsigned expected = 0;  ///< threads, 0 for all that have not exited
    unsigned arrived = 0;
    int sum = 0;
    std::array<std::uint32_t, max_warps> waiting{};  ///< lanes by warp
    Clock clock{};
  };

  void check_number(unsigned id, CallSite where);
  void check_expected(unsigned id, unsigned threads, CallSite where);
  void complete(Barrier& barrier);

  const Options& options_;
  Scheduler& scheduler_;
  AccessLog& log_;
  RaceChecker& races_;
  FaultStop& faults_;
  std::array<Barrier, 16> barriers_;
  std::vector<int> results_;  ///< by thread, of the last barrier that it waited at
};

}  // namespace lapidary::emulator
