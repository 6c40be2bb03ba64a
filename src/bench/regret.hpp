#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/captured_kernels.hpp"
#include "bench/parallel.hpp"
#include "device/device.hpp"
#include "lapidary/gemm.hpp"

namespace lapidary::bench {

/// A way to compute a problem, and how long it took.
struct TimedWay {
  PlannedWay way;
  double seconds;
};

/// The choice, of a product with an epilogue the product alone, and the fastest of cuBLAS's algorithms as kernels of
/// the ladder are timed: bursts, each after a rest.
struct BurstTimes {
  double chosen_seconds;
  std::optional<double> alone_seconds, cublas_seconds;
};

/// What a choice cost.
struct Regret {
  Plan plan;
  std::vector<TimedWay> ways;            ///< those that were timed, in the order of the plan: the chosen one first
  std::optional<double> cublas_seconds;  ///< by the fastest of its algorithms; none for what it does not know
  std::string cublas;                    ///< its version
  std::vector<CapturedKernel> cublas_kernels;  ///< by which that algorithm computes a problem without groups
  std::optional<double>
      alone_seconds;                 ///< of the product that the library chooses where no epilogue follows; if one does
  std::optional<BurstTimes> bursts;  ///< if they were asked for

  double chosen_seconds() const { return ways.front().seconds; }
  const TimedWay& best() const {
    return *std::min_element(ways.begin(), ways.end(),
                             [](const TimedWay& a, const TimedWay& b) { return a.seconds < b.seconds; });
  }
  /// The time of the choice over that of the best way.
  double regret() const { return chosen_seconds() / best().seconds; }
};

struct RegretOptions {
  GemmOptions choice = {};
  double block_s = 0.008;  ///< of launches of one contestant at a time
  int rounds = 3;
  /// Ways of which the plan expects more than so many times the time of the first one are left out.
  double most_predicted = 3;
  /// Time ways that are one launch, and could begin while the one in front of it ends, also the other way: waiting for
  /// it where the plan does not, and not where it does.
  bool both = false;
  bool bursts = false;                        ///< measure Regret::bursts too, which takes some seconds
  std::vector<std::int64_t> group_ends = {};  ///< of a problem of groups: RandomProblem::group_ends
};

/// Times the chosen way of a problem, all others that it may have been and cuBLAS's algorithms, in turns, on a warm
/// card: blocks of launches without a rest between them, each contestant's median over the rounds. For lists of many
/// problems; cold bursts and the power limit are measure_ladder()'s. Results are not looked at. Of groups cuBLAS is
/// called for each that has rows, by the algorithm that it tells of first, on a host that knows where they end.
/// @param problem  M, N, K, types, orders of A and B, how many products or groups, and an epilogue, which cuBLAS is not
/// asked for; lines and matrices follow one another, bases are aligned, beta is 0
/// @throws InvalidArgument if there is no GPU, or not enough memory
Regret measure_regret(Device& device, Context& context, const Problem& problem, const RegretOptions& options = {},
                      const OnProgress& progress = {});

}  // namespace lapidary::bench
