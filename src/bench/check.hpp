#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/host_problem.hpp"
#include "core/launch_shape.hpp"
#include "kernels/registry.hpp"

namespace lapidary::bench {

/// A problem that a kernel is checked on, and what it tries, in words.
struct CheckProblem {
  RandomProblem spec;
  std::string tries;
  /// As few as a cluster of two blocks needs, unless it is said: blocks that stay take several of the tiles of a
  /// problem each.
  int multiprocessors = 2;
  bool refused = false;  ///< no kernel takes it, and it is not run
};

/// Small problems at which kernels of that tile go wrong if they do. Each size, leading dimension, base and factor
/// differs from every other one in some problem whose lines whole vectors and bulk copies can walk, and in one where
/// they cannot; and each is alone in some problem what keeps them from it.
std::vector<CheckProblem> check_problems(const GemmKind& kind, const TileShape& tile);

/// The same of a kernel; if its blocks share K (kernels/split.hpp), also such as have few results and long sums; if it
/// does batches, or groups, also these; if they are in clusters, one of whose last clusters D has little; and one of
/// more steps along K than there are stages, however many there are.
std::vector<CheckProblem> check_problems(const KernelEntry& kernel);

/// Problems of one size: as it is, and with leading dimensions, bases and factors of their own.
std::vector<CheckProblem> check_problems(const GemmKind& kind, std::int64_t M, std::int64_t N, std::int64_t K);

/// What was wrong.
struct Finding {
  std::string kind;     ///< a name of FaultKind, "wrong result", or "not refused"
  std::string message;  ///< of the KernelFault with its lines and threads, or of the Verification
  std::uint64_t seed;   ///< of the schedule
};

struct Checked {
  std::optional<Finding> found;  ///< by the first schedule that found something
  std::string ran, why;          ///< as of RunResult; of a problem that is refused, nothing and why
};

/// Which kernel runs a problem, and why if it is another one: what check() tells of it, without a run.
/// @throws InvalidArgument if none takes it
Checked chosen(const KernelEntry& kernel, const CheckProblem& problem);

/// Runs a kernel on the emulated machine, of which it finds the multiprocessors of the problem, with every access
/// checked, under the schedules of seeds `seed`, `seed` + 1, ..., and verifies the results of each. Schedules run on
/// all cores, so the kernel may keep nothing in `__device__` variables. Seed 0 is the order of threads. The same seed
/// finds the same on every machine.
/// @throws InvalidArgument if the problem is not legal or the program has no instrumented build of the kernel
Checked check(const Rung& rung, const KernelEntry& kernel, const CheckProblem& problem, std::uint64_t seed,
              int schedules);

}  // namespace lapidary::bench
