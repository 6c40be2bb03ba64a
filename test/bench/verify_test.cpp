#include "bench/verify.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace lapidary::bench {
namespace {

/// Sums products in f32 in some order.
using Summation = std::function<float(const std::vector<float>& a, const std::vector<float>& b)>;

float forward(const std::vector<float>& a, const std::vector<float>& b) {
  float sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum = std::fma(a[k], b[k], sum);
  return sum;
}

float unfused(const std::vector<float>& a, const std::vector<float>& b) {
  volatile float sum = 0;  // keeps the compiler from contracting the product and the sum
  for (std::size_t k = 0; k < a.size(); ++k) {
    volatile float product = a[k] * b[k];
    sum = sum + product;
  }
  return sum;
}

float backward(const std::vector<float>& a, const std::vector<float>& b) {
  float sum = 0;
  for (std::size_t k = a.size(); k-- > 0;) sum = std::fma(a[k], b[k], sum);
  return sum;
}

float interleaved(const std::vector<float>& a, const std::vector<float>& b) {
  float sums[4] = {};
  for (std::size_t k = 0; k < a.size(); ++k) sums[k % 4] = std::fma(a[k], b[k], sums[k % 4]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

HostMatrix multiply(const HostProblem& problem, const Summation& sum) {
  const RandomProblem& spec = problem.spec;
  const Problem& p = spec.problem;
  HostMatrix D = p.in_place ? problem.C : HostMatrix(shape_of(p, Matrix::D));
  std::vector<float> a(static_cast<std::size_t>(p.K)), b(a);
  for (std::int64_t i = 0; i < p.M; ++i) {
    for (std::int64_t j = 0; j < p.N; ++j) {
      for (std::int64_t k = 0; k < p.K; ++k) {
        a[static_cast<std::size_t>(k)] = problem.A.at(i, k);
        b[static_cast<std::size_t>(k)] = problem.B.at(k, j);
      }
      const float scaled = spec.alpha * sum(a, b);
      D.set(i, j, spec.beta == 0 ? scaled : std::fma(spec.beta, problem.C.at(i, j), scaled));
    }
  }
  return D;
}

RandomProblem spec_of(std::int64_t M, std::int64_t N, std::int64_t K) { return {.problem = {.M = M, .N = N, .K = K}}; }

TEST(Verify, PassesRightResultsInAnyOrderOfSummation) {
  for (const Type type : all_types) {
    for (const std::int64_t K : {0, 1, 2, 7, 64, 511, 4096}) {
      for (const float beta : {0.f, -0.75f}) {
        RandomProblem spec = spec_of(23, 17, K);
        spec.problem.kind = type;
        spec.alpha = 1.5f;
        spec.beta = beta;
        spec.seed = static_cast<std::uint64_t>(K);
        const HostProblem problem = make_problem(spec);
        const Reference reference(problem);
        for (const Summation& sum :
             {Summation(forward), Summation(unfused), Summation(backward), Summation(interleaved)}) {
          const Verification v = reference.verify(multiply(problem, sum));
          EXPECT_TRUE(v.ok) << name_of(type) << " K = " << K << " beta = " << beta << ": " << v.message;
          EXPECT_EQ(v.compared, 23 * 17);
          EXPECT_LE(v.max_error, v.bound);
        }
      }
    }
  }
}

TEST(Verify, BoundIsNarrow) {
  // Within three decimal digits of the error that is there: a bound that lets everything pass would be wider.
  const HostProblem problem = make_problem(spec_of(64, 64, 1024));
  const Verification v = Reference(problem).verify(multiply(problem, forward));
  EXPECT_TRUE(v.ok) << v.message;
  EXPECT_GT(v.max_error, v.bound / 100);
}

TEST(Verify, FailsOneProductLeftOut) {
  const HostProblem problem = make_problem(spec_of(16, 16, 4096));
  HostMatrix D = multiply(problem, forward);
  D.set(3, 5, D.at(3, 5) - problem.A.at(3, 100) * problem.B.at(100, 5));
  const Verification v = Reference(problem).verify(D);
  EXPECT_FALSE(v.ok);
  EXPECT_EQ(v.wrong, 1);
  EXPECT_EQ(v.row, 3);
  EXPECT_EQ(v.col, 5);
  EXPECT_GT(v.max_error, v.bound);
  EXPECT_NE(v.message.find("1 of 256 results are wrong"), std::string::npos) << v.message;
  EXPECT_NE(v.message.find("D(3, 5)"), std::string::npos) << v.message;
}

TEST(Verify, FailsOperandsOfLowerPrecision) {
  // tf32 keeps 10 bits of the significand.
  const auto to_tf32 = [](float x) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
    return std::bit_cast<float>((bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu);
  };
  const HostProblem problem = make_problem(spec_of(32, 32, 4096));
  const HostMatrix D = multiply(problem, [&](std::vector<float> a, std::vector<float> b) {
    for (float& x : a) x = to_tf32(x);
    for (float& x : b) x = to_tf32(x);
    return forward(a, b);
  });
  EXPECT_FALSE(Reference(problem).verify(D).ok);
}

// Beyond 2^31, too, where they wrap around, and where floats are 256 apart.
TEST(Verify, PassesExactIntegersAlone) {
  RandomProblem spec = spec_of(3, 4, 200000);
  spec.problem.kind = {Type::s8, Type::s32};
  HostProblem problem = make_problem(spec);
  for (HostMatrix* const matrix : {&problem.A, &problem.B})
    for (std::int64_t i = 0; i < matrix->extent(); ++i) matrix->as<std::int8_t>()[i] = 127;
  const Reference reference(problem);
  HostMatrix D(shape_of(problem.spec.problem, Matrix::D));
  EXPECT_EQ(reference.verify(D).wrong, 12) << "none was written";
  constexpr auto wrapped = static_cast<std::int32_t>(std::int64_t{200000} * 127 * 127);
  static_assert(wrapped < 0);
  std::fill_n(D.as<std::int32_t>(), 12, wrapped);
  EXPECT_TRUE(reference.verify(D).ok) << reference.verify(D).message;
  ++D.as<std::int32_t>()[6];
  const Verification v = reference.verify(D);
  EXPECT_EQ(v.wrong, 1);
  EXPECT_EQ(v.row, 1);
  EXPECT_EQ(v.col, 2);
  EXPECT_EQ(v.max_error, 1);
  EXPECT_NE(v.message.find("D(1, 2) = -1069167295 instead of -1069167296"), std::string::npos) << v.message;
}

TEST(Verify, NanNeverPasses) {
  for (const Type type : all_types) {
    RandomProblem spec = spec_of(8, 9, 5);
    spec.problem.kind = type;
    const HostProblem problem = make_problem(spec);
    HostMatrix D = multiply(problem, forward);
    D.set(7, 8, std::numeric_limits<float>::quiet_NaN());
    const Verification v = Reference(problem).verify(D);
    EXPECT_FALSE(v.ok);
    EXPECT_EQ(v.wrong, 1);
    EXPECT_EQ(v.row, 7);
    EXPECT_EQ(v.col, 8);
    EXPECT_TRUE(std::isnan(v.max_error));
  }
}

TEST(Verify, InfinityPassesOnlyWhereTheResultOverflows) {
  RandomProblem spec = spec_of(6, 6, 8);
  spec.problem.kind = Type::f16;
  spec.alpha = 1e5f;
  const HostProblem problem = make_problem(spec);
  const Reference reference(problem);
  HostMatrix D = multiply(problem, forward);
  bool overflows = false;
  for (std::int64_t i = 0; i < 36; ++i) overflows = overflows || std::isinf(D.at(i / 6, i % 6));
  ASSERT_TRUE(overflows);
  EXPECT_TRUE(reference.verify(D).ok) << reference.verify(D).message;
  for (std::int64_t i = 0; i < 36; ++i) D.set(i / 6, i % 6, -D.at(i / 6, i % 6));
  EXPECT_EQ(reference.verify(D).wrong, 36);
}

TEST(Verify, CountsResultsThatWereNeverWritten) {
  const HostProblem problem = make_problem(spec_of(5, 4, 3));
  const HostMatrix untouched(Type::f32, 5, 4, 4);
  const Verification v = Reference(problem).verify(untouched);
  EXPECT_FALSE(v.ok);
  EXPECT_EQ(v.wrong, 20);
  EXPECT_NE(v.message.find("20 of them never written"), std::string::npos) << v.message;
}

TEST(Verify, TellsWhereAllWrongResultsAre) {
  const HostProblem problem = make_problem(spec_of(70, 40, 3));
  const Reference reference(problem);
  HostMatrix D = multiply(problem, forward);
  for (const std::int64_t row : {64, 66, 69}) D.set(row, 7, 1e6);
  EXPECT_NE(
      reference.verify(D).message.find("3 of 2800 results are wrong, all in rows 64 to 69 and column 7; the worst"),
      std::string::npos)
      << reference.verify(D).message;
  D.set(0, 7, 1e6);
  EXPECT_NE(reference.verify(D).message.find("4 of 2800 results are wrong, all in column 7;"), std::string::npos)
      << reference.verify(D).message;
}

TEST(Verify, FailsATouchedGapBetweenRows) {
  for (const bool in_place : {false, true}) {
    RandomProblem spec = spec_of(5, 4, 3);
    spec.problem.ldc = spec.problem.ldd = 6;
    spec.beta = 1;
    spec.problem.in_place = in_place;
    const HostProblem problem = make_problem(spec);
    const Reference reference(problem);
    HostMatrix D = multiply(problem, forward);
    EXPECT_TRUE(reference.verify(D).ok) << reference.verify(D).message;
    D.set(2, 5, 0);
    const Verification v = reference.verify(D);
    EXPECT_FALSE(v.ok);
    EXPECT_EQ(v.outside, 1);
    EXPECT_EQ(v.wrong, 0);
  }
}

TEST(Verify, KnowsTheColumnsOfColumnMajorResults) {
  RandomProblem spec = spec_of(4, 3, 5);
  spec.problem.order_d = Order::column_major;
  spec.problem.ldc = 6;
  spec.problem.ldd = 7;
  spec.beta = 1;
  const HostProblem problem = make_problem(spec);
  const Reference reference(problem);
  HostMatrix D = multiply(problem, forward);
  EXPECT_TRUE(reference.verify(D).ok) << reference.verify(D).message;
  D.as<float>()[7 + 4] = 0;  // below the second column
  EXPECT_EQ(reference.verify(D).outside, 1);
  D.as<float>()[7 + 3] = 1e6;  // the last one of it
  EXPECT_EQ(reference.verify(D).wrong, 1);
  EXPECT_EQ(reference.verify(D).row, 3);
  EXPECT_EQ(reference.verify(D).col, 1);
}

TEST(Verify, EmptyProblemsAreRight) {
  for (const RandomProblem& spec : {spec_of(0, 5, 3), spec_of(5, 0, 3), spec_of(0, 0, 0)}) {
    const HostProblem problem = make_problem(spec);
    const Verification v = Reference(problem).verify(
        HostMatrix(Type::f32, spec.problem.M, spec.problem.N, spec.problem.N));
    EXPECT_TRUE(v.ok) << v.message;
    EXPECT_EQ(v.results, 0);
  }
}

TEST(Verify, CoversASampleOfRowsOfLargeProblems) {
  EXPECT_EQ(Reference::covered_rows(spec_of(512, 512, 512)).size(), 512u);
  RandomProblem large = spec_of(8192, 8192, 8192);
  const std::vector<std::int64_t> rows = Reference::covered_rows(large);
  EXPECT_LE(static_cast<double>(rows.size()) * 8192 * 8192, Reference::most_multiply_adds);
  EXPECT_GT(rows.size(), 200u);
  EXPECT_EQ(rows.front(), 0);
  EXPECT_EQ(rows.back(), 8191);
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
  large.seed = 2;
  EXPECT_NE(rows, Reference::covered_rows(large));
}

TEST(Verify, LooksForNanInRowsThatItDoesNotCompare) {
  RandomProblem spec = spec_of(Reference::most_results / 2 + 1000, 2, 1);
  const HostProblem problem = make_problem(spec);
  const Reference reference(problem);
  const std::vector<std::int64_t> rows = Reference::covered_rows(problem.spec);
  ASSERT_LT(static_cast<std::int64_t>(rows.size()), spec.problem.M);
  std::int64_t uncovered = 0;
  while (rows[static_cast<std::size_t>(uncovered)] == uncovered) ++uncovered;
  HostMatrix D(Type::f32, spec.problem.M, spec.problem.N, spec.problem.N);
  for (std::int64_t i = 0; i < spec.problem.M; ++i) {
    for (std::int64_t j = 0; j < 2; ++j) D.as<float>()[i * 2 + j] = problem.A.as<float>()[i] * problem.B.as<float>()[j];
  }
  const Verification right = reference.verify(D);
  EXPECT_TRUE(right.ok) << right.message;
  EXPECT_EQ(right.compared, static_cast<std::int64_t>(rows.size()) * 2);
  D.set(uncovered, 1, std::numeric_limits<float>::quiet_NaN());
  const Verification wrong = reference.verify(D);
  EXPECT_FALSE(wrong.ok);
  EXPECT_EQ(wrong.wrong, 1);
  EXPECT_EQ(wrong.row, uncovered);
}

}  // namespace
}  // namespace lapidary::bench
