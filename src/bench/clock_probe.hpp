#pragma once
#include <memory>
#include <optional>

#include "device/stream.hpp"

namespace lapidary::bench {

/// The effective clock of a GPU while it works: cycles that a multiprocessor counts (clock64) over the time that they
/// took (globaltimer), as one warp sees them that stays on it beside the work and sleeps. What NVML calls the SM clock
/// is another: that under a load of tensor cores lies some hundred MHz above it.
class ClockProbe {
 public:
  ClockProbe();
  ~ClockProbe();
  ClockProbe(const ClockProbe&) = delete;
  ClockProbe& operator=(const ClockProbe&) = delete;

  /// Watches what is launched on a stream from here to end(), asynchronously. The warp needs a place beside the
  /// stream's blocks: 1,024 registers and 1 KiB of shared memory.
  void begin(const Stream& stream);
  void end(const Stream& stream);

  /// Behind end(): waits for it.
  /// @param milliseconds  from begin() to end() on the GPU
  /// @return none if the warp found no place, or one for less than half of that time
  std::optional<double> mhz(double milliseconds);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lapidary::bench
