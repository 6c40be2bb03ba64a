#include "bench/host_problem.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.hpp"

namespace lapidary::bench {
namespace {

TEST(Problem, BuffersEndWithTheLastElement) {
  RandomProblem spec;
  spec.problem.M = 5;
  spec.problem.N = 7;
  spec.problem.K = 3;
  spec.problem.lda = 10;
  const HostProblem problem = make_problem(spec);
  EXPECT_EQ(problem.A.extent(), 4 * 10 + 3);
  EXPECT_EQ(problem.B.extent(), 3 * 7);
  EXPECT_EQ(problem.C.extent(), 5 * 7);
  spec.problem.K = 0;
  spec.problem.lda = 0;
  EXPECT_EQ(make_problem(spec).A.extent(), 0);
}

TEST(Problem, GapsAndUnreadCArePoisoned) {
  RandomProblem spec;
  spec.problem.M = spec.problem.N = spec.problem.K = 4;
  spec.problem.lda = spec.problem.ldb = spec.problem.ldc = 6;
  for (const Type type : all_types) {
    spec.problem.kind = type;
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
  RandomProblem spec;
  spec.problem.M = 301;
  spec.problem.K = 299;
  spec.problem.N = 5;
  const HostProblem problem = make_problem(spec);
  double sum = 0, squares = 0, fourth_powers = 0;
  for (std::int64_t i = 0; i < spec.problem.M; ++i) {
    for (std::int64_t j = 0; j < spec.problem.K; ++j) {
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

  spec.problem.lda = 400;
  const HostProblem spread = make_problem(spec);
  for (std::int64_t i = 0; i < spec.problem.M; ++i) EXPECT_EQ(spread.A.at(i, 17), problem.A.at(i, 17));
  spec.seed = 2;
  EXPECT_NE(make_problem(spec).A.at(0, 0), problem.A.at(0, 0));
  EXPECT_NE(problem.A.at(0, 0), problem.B.at(0, 0));
  // The first numbers of seed 1, so that results can be reproduced elsewhere.
  EXPECT_FLOAT_EQ(problem.A.at(0, 0), -1.39098155f);
  EXPECT_FLOAT_EQ(problem.B.at(0, 0), -0.535134375f);
}

TEST(Problem, IsCompleteOnceResolved) {
  const GemmKind kind(Type::f16, Type::f32, Order::column_major);
  const RandomProblem resolved = resolve({.problem = {.kind = kind, .M = 5, .N = 7, .K = 3, .in_place = true},
                                          .alpha = 2,
                                          .beta = 1,
                                          .displacement = displaced_by(3)});
  const Problem complete{.kind = kind,
                         .M = 5,
                         .N = 7,
                         .K = 3,
                         .lda = 5,
                         .ldb = 7,
                         .ldc = 7,
                         .ldd = 7,
                         .alpha = Factor::any,
                         .beta = Factor::one,
                         .in_place = true,
                         .aligned = {.A = 2, .B = 2, .C = 4, .D = 4}};
  EXPECT_TRUE(resolved.problem == complete);
  EXPECT_TRUE(resolve(resolved).problem == complete);
}

TEST(Problem, RefusesWhatIsNotLegal) {
  const auto refused = [](auto change) {
    RandomProblem spec;
    change(spec);
    try {
      resolve(spec);
    } catch (const InvalidArgument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refused([](RandomProblem&) {}), "");
  EXPECT_EQ(refused([](RandomProblem& s) { s.problem.M = -1; }), "M is -1; sizes must be 0 or more");
  EXPECT_EQ(refused([](RandomProblem& s) { s.problem.ldb = 255; }),
            "ldb is 255; a row of B has N = 256 elements, so it must be at least 256");
  EXPECT_NE(refused([](RandomProblem& s) { s.problem.M = INT64_MAX; }).find("must take less than 2^63 bytes"),
            std::string::npos);
  EXPECT_EQ(refused([](RandomProblem& s) { s.alpha = INFINITY; }), "alpha is inf; it must be finite");
  EXPECT_NE(refused([](RandomProblem& s) { s.displacement.C = -1; }), "");
  EXPECT_EQ(refused([](RandomProblem& s) {
              s.problem.in_place = true;
              s.problem.ldd = 300;
            }),
            "D is C, but ldc is 256 and ldd is 300; they must be equal");
  EXPECT_NE(refused([](RandomProblem& s) {
              s.problem.in_place = true;
              s.problem.ldc = 300;
              s.problem.ldd = 301;
            }),
            "");
}

}  // namespace
}  // namespace lapidary::bench
