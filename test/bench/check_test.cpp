// What `lapidary check` says of a kernel with one fault.
#include "bench/check.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "faulty_product.hpp"

namespace lapidary::test::instrumented {
BuiltKernel faulty_product(Wrong wrong);
}

namespace lapidary::bench {
namespace {

using test::Wrong;

/// "faulty_product.cuh:12" for the line that ends with a comment.
std::string place(const std::string& comment) {
  std::ifstream file(LAPIDARY_FAULTY_PRODUCT);
  int number = 1;
  for (std::string line; std::getline(file, line); ++number)
    if (line.ends_with("// " + comment)) return fmt::format("faulty_product.cuh:{}", number);
  ADD_FAILURE() << "no line ends with " << comment;
  return "";
}

Rung rung_of(Wrong wrong) {
  static std::map<Wrong, BuiltKernel> kernels;
  const BuiltKernel& built = kernels[wrong] = test::instrumented::faulty_product(wrong);
  static const RungInfo info = {"faulty", "", "", "", "", "", "", "", 80};
  return {&info, "test", "test/bench/faulty_product.cuh", {{built.traits, info.name, "", {nullptr, &built, nullptr}}}};
}

/// The first finding, on the problems that the command tries.
std::optional<Finding> first_finding(Wrong wrong, std::uint64_t seed = 1, int schedules = 4) {
  const Rung rung = rung_of(wrong);
  for (const CheckProblem& problem : check_problems(Type::f32, rung.kernels[0].tile))
    if (auto found = check(rung, rung.kernels[0], problem.spec, seed, schedules).found) return found;
  return std::nullopt;
}

struct Fault {
  Wrong wrong;
  const char* kind;
  std::vector<std::string> places;
};

class Check : public testing::TestWithParam<Fault> {};
INSTANTIATE_TEST_SUITE_P(Faults, Check,
                         testing::Values(Fault{Wrong::barrier, "race", {"hands over", "takes over"}},
                                         Fault{Wrong::wait, "copy in flight", {"reads C"}},
                                         Fault{Wrong::bounds, "out of bounds", {"reads A"}},
                                         Fault{Wrong::alignment, "misaligned access", {"reads a vector"}},
                                         Fault{Wrong::unwritten, "uninitialised read", {"takes over"}},
                                         Fault{Wrong::divergence, "divergence", {"another barrier", "waits"}},
                                         Fault{Wrong::deadlock, "deadlock", {"waits"}},
                                         Fault{Wrong::sum, "wrong result", {}}));

TEST_P(Check, NamesTheKindOfFaultAndItsLines) {
  const auto found = first_finding(GetParam().wrong);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->kind, GetParam().kind);
  for (const std::string& comment : GetParam().places)
    EXPECT_NE(found->message.find(place(comment)), std::string::npos) << found->message << "\n" << place(comment);
}

TEST(Check, IsSilentOnASoundKernel) {
  const auto found = first_finding(Wrong::nothing);
  EXPECT_FALSE(found) << found->message;
}

TEST(Check, FaultOfSomeOrdersIsFoundAndReplayedByItsSeed) {
  EXPECT_FALSE(first_finding(Wrong::in_some_orders, 0, 1)) << "the order of threads is a sound one";
  const auto found = first_finding(Wrong::in_some_orders, 1, 1000);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->kind, "out of bounds");
  for (int i = 0; i < 3; ++i) {
    const auto again = first_finding(Wrong::in_some_orders, found->seed, 1);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->message, found->message);
    EXPECT_EQ(again->seed, found->seed);
  }
}

TEST(Check, ProblemsCoverWhatKernelsAreAskedFor) {
  const TileShape tile{128, 64, 16};
  const auto problems = check_problems(Type::f16, tile);
  const auto any = [&](auto&& property) {
    return std::any_of(problems.begin(), problems.end(),
                       [&](const CheckProblem& problem) { return property(resolve(problem.spec)); });
  };
  EXPECT_TRUE(
      any([](const RandomProblem& p) { return p.problem.M % 128 && p.problem.N % 64 && p.problem.K % 16 == 0; }));
  EXPECT_TRUE(any([](const RandomProblem& p) {
    return p.problem.M % 128 && p.problem.N % 64 && p.problem.K % 16 && p.problem.N % 8 == 0;
  }));
  EXPECT_TRUE(any(
      [](const RandomProblem& p) { return p.problem.M % 128 == 0 && p.problem.N % 64 == 0 && p.problem.K > 8 * 16; }));
  EXPECT_TRUE(any([](const RandomProblem& p) { return p.problem.K == 0 && p.beta != 0; }));
  EXPECT_TRUE(any([](const RandomProblem& p) { return p.problem.in_place; }));
  EXPECT_TRUE(any([](const RandomProblem& p) {
    return p.displacement && p.problem.lda > p.problem.K && p.problem.ldb > p.problem.N &&
           p.problem.ldc > p.problem.N && p.problem.ldd > p.problem.N && p.problem.ldd != p.problem.ldc;
  }));
}

}  // namespace
}  // namespace lapidary::bench
