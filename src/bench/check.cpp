#include "bench/check.hpp"

#include <memory>

#include "bench/run.hpp"
#include "core/error.hpp"
#include "device/device.hpp"

namespace lapidary::bench {
namespace {

/// For kernels that do not cut the sum into tiles.
constexpr std::int64_t some_k = 8;
/// More tiles of the sum than two turns of a ring of four stages.
constexpr std::int64_t many_tiles = 9;
/// As few as a cluster of two blocks needs: blocks that stay take several of the tiles of a problem each.
constexpr int multiprocessors = 2;

RandomProblem sized(const GemmKind& kind, std::int64_t M, std::int64_t N, std::int64_t K) {
  return {.problem = {.kind = kind, .M = M, .N = N, .K = K}};
}

RandomProblem with_beta(RandomProblem spec) {
  spec.alpha = -1.5f;
  spec.beta = 0.5f;
  return spec;
}

/// Each leading dimension is longer by a number of its own, so that none can stand for another.
RandomProblem scattered(RandomProblem spec) {
  spec = with_beta(spec);
  Problem& p = spec.problem;
  p.lda = (p.kind.a == Order::row_major ? p.K : p.M) + 3;
  p.ldb = (p.kind.b == Order::row_major ? p.N : p.K) + 5;
  p.ldc = p.N + 1;
  p.ldd = p.N + 7;
  spec.displacement = 1;
  return spec;
}

/// Rows of C begin anywhere, those of the other matrices where a copy of 16 bytes may.
RandomProblem with_odd_c(RandomProblem spec) {
  spec = with_beta(spec);
  spec.problem.ldc = spec.problem.N + 1;
  return spec;
}
RandomProblem with_odd_d(RandomProblem spec) {
  spec.problem.ldd = spec.problem.N + 1;
  return spec;
}

/// Of a matrix of one line the leading dimension is never walked.
RandomProblem with_odd_lines(RandomProblem spec) {
  Problem& p = spec.problem;
  if (p.kind.a == Order::row_major) p.lda = p.K + 3;
  p.ldd = p.N + 5;
  return spec;
}

RandomProblem in_place(RandomProblem spec) {
  spec = with_beta(spec);
  spec.problem.in_place = true;
  return spec;
}

}  // namespace

std::vector<CheckProblem> check_problems(const GemmKind& kind, const TileShape& tile) {
  const std::int64_t m = tile.m, n = tile.n, k = tile.k ? tile.k : some_k;
  const std::int64_t vector = 16 / size_of(kind.type);
  return {
      {sized(kind, m + 1, n - 1, 2 * k), "edges beside whole tiles; C is null"},
      {scattered(sized(kind, m - 1, n + 1, 3 * k - 1)), "long rows, bases off their alignment"},
      {with_beta(sized(kind, m + vector, n + vector, 2 * k + vector)), "edges between whole vectors"},
      {sized(kind, m, n, many_tiles * k + vector), "a long sum of whole tiles"},
      {with_odd_c(sized(kind, m, n, k)), "rows of C off their alignment"},
      {with_odd_d(sized(kind, m, n, k)), "rows of D off their alignment"},
      {sized(kind, m, n, k + 1), "lines along K off their alignment"},
      {in_place(sized(kind, 17, 13, 7)), "primes; D is C"},
      {with_beta(sized(kind, 5, 3, 0)), "no sum at all"},
      {sized(kind, 1, 1, 1), "one product"},
      {with_odd_lines(sized(kind, 1, n, 2 * k)), "one row, whose length is its own"},
  };
}

std::vector<CheckProblem> check_problems(const GemmKind& kind, std::int64_t M, std::int64_t N, std::int64_t K) {
  return {{sized(kind, M, N, K), "as it is; C is null"},
          {scattered(sized(kind, M, N, K)), "long rows, bases off their alignment"}};
}

Checked check(const Rung& rung, const KernelEntry& kernel, const RandomProblem& spec, std::uint64_t seed,
              int schedules) {
  Checked checked;
  for (int i = 0; i < schedules; ++i, ++seed) {
    // One host thread: blocks that run at the same time would meet in another order each time.
    const std::unique_ptr<Device> device = open_emulator(
        {.multiprocessors = multiprocessors, .check = true, .threads = 1, .seed = seed});
    try {
      Experiment experiment(*device, spec);
      const Problem problem = with_known(experiment.problem().spec.problem, experiment.operands());
      const Choice choice = choose(kernel, problem);  // what run() chooses; a fault leaves nobody to ask
      checked.ran = choice.kernel->id();
      checked.why = choice.why;
      const Verification result = experiment.run(rung, kernel, Build::instrumented).verification;
      if (!result.ok) checked.found = {"wrong result", result.message, seed};
    } catch (const KernelFault& fault) {
      checked.found = {name_of(fault.kind()), fault.what(), seed};
    }
    if (checked.found) break;
  }
  return checked;
}

}  // namespace lapidary::bench
