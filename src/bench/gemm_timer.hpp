#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "bench/captured_kernels.hpp"
#include "bench/contestant.hpp"
#include "bench/parallel.hpp"
#include "bench/rates.hpp"
#include "bench/sensors.hpp"
#include "core/types.hpp"
#include "device/device.hpp"

namespace lapidary::bench {

/// A cold card: after a rest, launches back to back for a time in which the card does not heat up. Its clock is not the
/// highest one even so: tensor cores draw more than the card may from their first launch on. Launches are timed one by
/// one, short ones some together; a round counts with the median.
struct BurstOptions {
  int rounds = 3;
  double rest_s = 1;  ///< before each burst
  double burst_s =
      0.04;           ///< of launches; at least one. An H200 that multiplies bf16 is at its sustained rate after 0.1
  bool watch = true;  ///< one burst more of each contestant behind the rounds, beside a probe of the clock
};

/// A warm card at the clock that its power limit leaves it: contestants take turns without a pause. A round counts with
/// the mean rate of its block.
struct SustainedOptions {
  double seconds = 2;     ///< of measured blocks for each contestant
  double block_s = 0.4;   ///< of one measured block; at least one launch
  double settle_s = 0.2;  ///< of launches of the same contestant before each block, while clock and power adjust to it
  double warm_up_s = 1;   ///< of launches before the first round
  double watch_s = 0.01;  ///< of launches behind each block, beside a probe of the clock; 0: none
};

/// What ClockProbe saw of launches that were not timed, so that those that were ran alone.
struct EffectiveClock {
  double slowdown;            ///< the time of a launch beside the probe over that of one without it
  std::optional<double> mhz;  ///< none where the probe found no place beside the kernel, which then is not what it was
};

/// How fast one contestant was.
struct Measurement {
  Spread tflops;                      ///< over the rounds
  Spread launch_ms;                   ///< of a launch, over all of them in bursts, over the means of blocks otherwise
  std::optional<Spread> peer_tflops;  ///< of the fastest peer that is as exact, over the same rounds
  int rounds;
  std::optional<CardState> card;             ///< the medians of what was read while it ran
  std::optional<EffectiveClock> clock = {};  ///< medians; none if nothing was watched, or a launch is too long for it
};

struct Measurements {
  std::vector<Measurement> contestants;  ///< in the order in which they were given
  std::vector<Measurement> peers;        ///< likewise
};

/// Times contestants on D = A * B with random normal data on a GPU. All of them take turns: a round times each one and
/// then the peers, what they are compared with. A contestant that has spent its time, because a single launch of it is
/// long, sits out the rounds after the second.
///
/// Launches rotate over copies of the operands, at least two and all together larger than three L2 caches, so that none
/// of them finds much of its operands in the L2. Launches of less than 0.1 ms are captured in CUDA graphs, a
/// millisecond of them in each and on at most about 4096 copies, so that it is not the host that is timed. The time of
/// a launch includes the gap to the next one, a microsecond or two.
class GemmTimer {
 public:
  /// @param problem  kind, sizes, and how many products or groups: lines and matrices follow one another
  /// @param group_ends  RandomProblem::group_ends
  /// @throws InvalidArgument if there is not enough memory
  GemmTimer(Device& device, const Problem& problem, std::span<const std::int64_t> group_ends = {});
  ~GemmTimer();

  /// What is timed: resolved, and its matrices are aligned to 256 bytes.
  const Problem& problem() const;

  /// The kernels by which a contestant computes the problem.
  std::vector<CapturedKernel> kernels_of(const Contestant& contestant);

  /// @throws Error if a rate is above the ceiling, DeviceError if a launch fails
  Measurements burst(std::span<const Contestant> contestants, std::span<const Contestant> peers,
                     const BurstOptions& options, const OnProgress& progress = {});
  Measurements sustained(std::span<const Contestant> contestants, std::span<const Contestant> peers,
                         const SustainedOptions& options, const OnProgress& progress = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lapidary::bench
