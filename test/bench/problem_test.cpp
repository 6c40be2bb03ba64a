#include "bench/problem.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.hpp"

namespace lapidary::bench {
namespace {

TEST(Problem, BuffersEndWithTheLastElement) {
  ProblemSpec spec;
  spec.M = 5;
  spec.N = 7;
  spec.K = 3;
  spec.lda = 10;
  const HostProblem problem = make_problem(spec);
  EXPECT_EQ(problem.A.extent(), 4 * 10 + 3);
  EXPECT_EQ(problem.B.extent(), 3 * 7);
  EXPECT_EQ(problem.C.extent(), 5 * 7);
  spec.K = 0;
  spec.lda = 0;
  EXPECT_EQ(make_problem(spec).A.extent(), 0);
}

TEST(Problem, GapsAndUnreadCArePoisoned) {
  ProblemSpec spec;
  spec.M = spec.N = spec.K = 4;
  spec.lda = spec.ldb = spec.ldc = 6;
  for (const Type type : all_types) {
    spec.kind = type;
    for (const float beta : {0.f, 1.f}) {
      spec.beta = beta;
      const HostProblem problem = make_problem(spec);
      for (const HostMatrix* matrix : {&problem.A, &problem.B, &problem.C}) {
        for (std::int64_t offset = 0; offset < matrix->extent(); ++offset) {
          const bool filled = offset % 6 < 4 && (matrix != &problem.C || beta != 0);
          EXPECT_EQ(matrix->poisoned(offset), !filled);
          EXPECT_EQ(std::isnan(matrix->at(0, offset)), !filled);
        }
      }
    }
  }
}

TEST(Problem, DataAreNormalAndDependOnPlaceAndSeedAlone) {
  ProblemSpec spec;
  spec.M = 301;
  spec.K = 299;
  spec.N = 5;
  const HostProblem problem = make_problem(spec);
  double sum = 0, squares = 0, fourth_powers = 0;
  for (std::int64_t i = 0; i < spec.M; ++i) {
    for (std::int64_t j = 0; j < spec.K; ++j) {
      const double x = problem.A.at(i, j);
      sum += x;
      squares += x * x;
      fourth_powers += x * x * x * x;
    }
  }
  const double count = 301 * 299;
  EXPECT_NEAR(sum / count, 0, 5 / std::sqrt(count));
  EXPECT_NEAR(squares / count, 1, 5 * std::sqrt(2 / count));
  EXPECT_NEAR(fourth_powers / count, 3, 5 * std::sqrt(96 / count));

  spec.lda = 400;
  const HostProblem spread = make_problem(spec);
  for (std::int64_t i = 0; i < spec.M; ++i) EXPECT_EQ(spread.A.at(i, 17), problem.A.at(i, 17));
  spec.seed = 2;
  EXPECT_NE(make_problem(spec).A.at(0, 0), problem.A.at(0, 0));
  EXPECT_NE(problem.A.at(0, 0), problem.B.at(0, 0));
  // The first numbers of seed 1, so that results can be reproduced elsewhere.
  EXPECT_FLOAT_EQ(problem.A.at(0, 0), -1.39098155f);
  EXPECT_FLOAT_EQ(problem.B.at(0, 0), -0.535134375f);
}

TEST(Problem, RefusesWhatIsNotLegal) {
  const auto refused = [](auto change) {
    ProblemSpec spec;
    change(spec);
    try {
      resolve(spec);
    } catch (const InvalidArgument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refused([](ProblemSpec&) {}), "");
  EXPECT_EQ(refused([](ProblemSpec& s) { s.M = -1; }), "M is -1; sizes must be 0 or more");
  EXPECT_EQ(refused([](ProblemSpec& s) { s.ldb = 255; }),
            "ldb is 255; a row of B has N = 256 elements, so it must be at least 256");
  EXPECT_NE(refused([](ProblemSpec& s) { s.M = INT64_MAX; }).find("must take less than 2^63 bytes"), std::string::npos);
  EXPECT_EQ(refused([](ProblemSpec& s) { s.alpha = INFINITY; }), "alpha is inf; it must be finite");
  EXPECT_NE(refused([](ProblemSpec& s) { s.displacement = -1; }), "");
  EXPECT_NE(refused([](ProblemSpec& s) {
              s.in_place = true;
              s.ldc = 300;
              s.ldd = 301;
            }),
            "");
}

}  // namespace
}  // namespace lapidary::bench
