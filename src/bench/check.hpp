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
};

/// Small problems at which kernels of that tile go wrong if they do: sizes beside the tile's, primes, sums of no
/// element and of many tiles, leading dimensions that are longer than rows, bases off their alignment, C that is null,
/// D that is C and a single row.
std::vector<CheckProblem> check_problems(const GemmKind& kind, const TileShape& tile);

/// Problems of one size: as it is, and with the leading dimensions, bases and factors of the list above.
std::vector<CheckProblem> check_problems(const GemmKind& kind, std::int64_t M, std::int64_t N, std::int64_t K);

/// What was wrong.
struct Finding {
  std::string kind;     ///< a name of FaultKind, or "wrong result"
  std::string message;  ///< of the KernelFault with its lines and threads, or of the Verification
  std::uint64_t seed;   ///< of the schedule
};

struct Checked {
  std::optional<Finding> found;  ///< by the first schedule that found something
  std::string ran, why;          ///< as of RunResult
};

/// Runs a kernel on the emulated machine with every access checked, under the schedules of seeds `seed`, `seed` + 1,
/// ..., and verifies the results of each. Seed 0 is the order of threads. The same seed finds the same on every
/// machine.
/// @throws InvalidArgument if the problem is not legal or the program has no instrumented build of the kernel
Checked check(const Rung& rung, const KernelEntry& kernel, const RandomProblem& spec, std::uint64_t seed,
              int schedules);

}  // namespace lapidary::bench
