#include "bench/bound.hpp"

#include <gtest/gtest.h>

#include "bench/host_problem.hpp"
#include "bench/verify.hpp"

namespace lapidary::bench {
namespace {

// The reference on the CPU and the one on the GPU allow the same errors.
TEST(Bound, IsThatOfTheReference) {
  for (const Type type : all_types) {
    RandomProblem spec;
    spec.problem.kind = type;
    spec.problem.M = 5;
    spec.problem.N = 9;
    spec.problem.K = 37;
    spec.alpha = -1.5f;
    spec.beta = 0.25f;
    const HostProblem problem = make_problem(spec);
    const Reference reference(problem);
    for (std::int64_t i = 0; i < spec.problem.M; ++i) {
      for (std::int64_t j = 0; j < spec.problem.N; ++j) {
        double square = 0;
        for (std::int64_t k = 0; k < spec.problem.K; ++k) {
          const double product = static_cast<double>(problem.A.at(i, k)) * problem.B.at(k, j);
          square += product * product;
        }
        const std::size_t place = static_cast<std::size_t>(i * spec.problem.N + j);
        const double scaled_c = static_cast<double>(spec.beta) * problem.C.at(i, j);
        const double bound = error_bound(type, spec.problem.K, spec.alpha, square, scaled_c,
                                         reference.results()[place]);
        EXPECT_NEAR(bound, reference.bounds()[place], 1e-12 * bound);
      }
    }
  }
}

}  // namespace
}  // namespace lapidary::bench
