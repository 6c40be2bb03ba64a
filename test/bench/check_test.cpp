// What `lapidary check` says of a kernel with one fault.
#include "bench/check.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "core/math.hpp"
#include "faulty_product.hpp"
#include "kernels/split.hpp"

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
    if (auto found = check(rung, rung.kernels[0], problem, seed, schedules).found) return found;
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

/// Sizes and leading dimensions, which kernels may take for each other.
std::vector<std::int64_t> numbers(const Problem& p) { return {p.M, p.N, p.K, p.lda, p.ldb, p.ldc, p.ldd}; }

bool all_differ(std::vector<std::int64_t> values) {
  std::sort(values.begin(), values.end());
  return std::adjacent_find(values.begin(), values.end()) == values.end();
}

/// What keeps a matrix's lines from being walked in vectors.
struct Obstacle {
  bool base, pitch, length;
  bool operator==(const Obstacle&) const = default;
};
Obstacle obstacle(const Problem& p, Matrix matrix) {
  const MatrixShape shape = shape_of(p, matrix);
  const std::int64_t vector = 16 / size_of(shape.type);
  const Alignments& known = p.aligned;
  const int base = matrix == Matrix::A   ? known.A
                   : matrix == Matrix::B ? known.B
                   : matrix == Matrix::C ? known.C
                                         : known.D;
  return {base < 16, shape.ld % vector != 0, shape.length() % vector != 0};
}

struct KindAndTile {
  GemmKind kind;
  TileShape tile;
};

class CheckProblems : public testing::TestWithParam<KindAndTile> {
 protected:
  template <class Property>
  bool any(Property&& property) const {
    const auto problems = check_problems(GetParam().kind, GetParam().tile);
    return std::any_of(problems.begin(), problems.end(),
                       [&](const CheckProblem& problem) { return property(resolve(problem.spec)); });
  }
};
constexpr auto R = Order::row_major, C = Order::column_major;
INSTANTIATE_TEST_SUITE_P(Kinds, CheckProblems,
                         testing::Values(KindAndTile{Type::f32, {32, 32, 0}}, KindAndTile{Type::f16, {128, 64, 16}},
                                         KindAndTile{{Type::bf16, Type::f32, R, C}, {128, 256, 64}},
                                         KindAndTile{{Type::bf16, Type::bf16, C, R}, {256, 200, 64}},
                                         KindAndTile{{Type::bf16, Type::bf16, C, C}, {128, 64, 64}},
                                         KindAndTile{{Type::e4m3, Type::f32, R, C}, {128, 256, 128}}));

TEST_P(CheckProblems, TellEveryNumberFromEveryOther) {
  for (const bool by_vectors : {true, false}) {
    EXPECT_TRUE(any([&](const RandomProblem& p) {
      return vectorizable(p.problem) == by_vectors && all_differ(numbers(p.problem)) && p.alpha != 1 && p.beta != 1 &&
             p.beta != 0 && p.alpha != p.beta;
    })) << by_vectors;
  }
}

TEST_P(CheckProblems, HaveEachObstacleToVectorsAlone) {
  const auto alone = [](const Problem& p, Matrix matrix, const Obstacle& wanted) {
    return std::all_of(std::begin(all_matrices), std::end(all_matrices),
                       [&](Matrix other) { return obstacle(p, other) == (other == matrix ? wanted : Obstacle{}); });
  };
  for (const Matrix matrix : all_matrices) {
    for (const Obstacle& wanted : {Obstacle{true, false, false}, Obstacle{false, true, false}})
      EXPECT_TRUE(any([&](const RandomProblem& p) { return p.beta != 0 && alone(p.problem, matrix, wanted); }))
          << name_of(matrix) << (wanted.base ? " base" : " pitch");
  }
  // A length may be that of lines of several matrices.
  for (const auto size : {&Problem::M, &Problem::N, &Problem::K}) {
    EXPECT_TRUE(any([&](const RandomProblem& p) {
      const std::int64_t vector = 16 / size_of(p.problem.kind.type);
      const auto odd = [&](auto one) { return p.problem.*one % vector != 0; };
      return odd(size) && odd(&Problem::M) + odd(&Problem::N) + odd(&Problem::K) == 1 &&
             std::none_of(std::begin(all_matrices), std::end(all_matrices), [&](Matrix matrix) {
               return obstacle(p.problem, matrix).pitch || obstacle(p.problem, matrix).base;
             });
    }));
  }
}

TEST_P(CheckProblems, EndRowsOfResultsWithinAVectorOfFourWhereNothingElseKeepsThemFromBeingVectors) {
  EXPECT_TRUE(any([&](const RandomProblem& p) {
    const std::int64_t vector = 16 / size_of(p.problem.kind.type);
    return p.problem.N % 4 == 2 && p.problem.M % vector == 0 && p.problem.K % vector == 0 && p.beta != 0 &&
           std::none_of(std::begin(all_matrices), std::end(all_matrices), [&](Matrix matrix) {
             return obstacle(p.problem, matrix).pitch || obstacle(p.problem, matrix).base;
           });
  }));
}

TEST_P(CheckProblems, HaveLongSumsOverSeveralTilesAndManyRowsOfThem) {
  const auto [m, n, k] = GetParam().tile;
  EXPECT_TRUE(any([&](const RandomProblem& p) {
    return p.problem.M > m && p.problem.N > n && p.problem.K > 9 * std::max(k, 1) && vectorizable(p.problem);
  }));
  EXPECT_TRUE(any([&](const RandomProblem& p) { return p.problem.M > 16 * m && p.problem.N > n; }));
  EXPECT_TRUE(any([&](const RandomProblem& p) { return p.problem.M < m && p.problem.N > 3 * n; }));
  EXPECT_TRUE(any([&](const RandomProblem& p) {
    return p.problem.M < m && p.problem.K > round_up(p.problem.N, std::int64_t{std::max(k, 1)}) && p.problem.K > 4 * k;
  }));
}

TEST(CheckProblems, TakeMoreStepsAlongKThanAnyKernelHasStages) {
  for (const Rung& rung : ladder())
    for (const KernelEntry& kernel : rung.kernels) {
      const auto problems = check_problems(kernel);
      EXPECT_TRUE(std::any_of(problems.begin(), problems.end(), [&](const CheckProblem& problem) {
        const Problem p = resolve(problem.spec).problem;
        if (problem.refused || p.batch.count > 1) return false;
        const auto& [m, n, k] = kernel.tile;
        const std::int64_t tiles = ceil_div<std::int64_t>(p.M, m) * ceil_div<std::int64_t>(p.N, n);
        const int blocks = kernel.split ? kernel.split->blocks(tiles, p.K, problem.multiprocessors) : 1;
        return ceil_div<std::int64_t>(p.K, std::max(k, 1)) > std::int64_t{kernel.stages} * blocks;
      })) << kernel.id();
    }
}

TEST(CheckProblems, HaveFewResultsOfLongSumsForKernelsWhoseBlocksShareThem) {
  for (const char* const rung : {"split_k", "wgmma_split_k", "wgmma_skinny"})
    for (const KernelEntry& kernel : find_rung(rung).kernels) {
      const auto [m, n, k] = kernel.tile;
      const auto problems = check_problems(kernel);
      const auto any = [&](auto&& property) {
        return std::any_of(problems.begin(), problems.end(), [&](const CheckProblem& problem) {
          const RandomProblem p = resolve(problem.spec);
          return property(p, kernel.split->blocks(1, p.problem.K, problem.multiprocessors));
        });
      };
      const int most = k < 128 && kernel.split->least_k > k ? KSplit::most / 2 : KSplit::most;
      EXPECT_TRUE(any([&](const RandomProblem& p, int blocks) {
        return blocks >= most && p.problem.K % (blocks * k) != 0;
      })) << kernel.id();
      EXPECT_TRUE(any([&](const RandomProblem& p, int blocks) {
        return blocks > 1 && p.problem.M > p.problem.N && p.problem.N < n &&
               (p.beta != 0 || kernel.kind.result == Type::s32);
      })) << kernel.id();
    }
}

TEST_P(CheckProblems, HaveLinesOfSeveralTilesFarApart) {
  const auto [m, n, k] = GetParam().tile;
  for (const bool by_vectors : {true, false}) {
    EXPECT_TRUE(any([&](const RandomProblem& p) {
      return vectorizable(p.problem) == by_vectors && p.problem.M > m && p.problem.K > k &&
             std::all_of(std::begin(all_matrices), std::end(all_matrices),
                         [&](Matrix matrix) { return is_far(shape_of(p.problem, matrix)); });
    })) << by_vectors;
  }
}

TEST(CheckProblems, OfIntegersAreSumsAsTheyAre) {
  const GemmKind kind(Type::s8, Type::s32, R, C);
  const auto problems = check_problems(kind, {128, 256, 64});
  EXPECT_GT(problems.size(), 30u);
  std::set<std::string> tried;
  for (const CheckProblem& problem : problems) {
    EXPECT_NO_THROW(resolve(problem.spec)) << problem.tries;
    EXPECT_TRUE(tried.insert(problem.tries).second) << problem.tries;
  }
  for (const CheckProblem& problem : check_problems(kind, 8, 16, 32))
    EXPECT_NO_THROW(resolve(problem.spec)) << problem.tries;
}

TEST_P(CheckProblems, HaveResultsThatCannotBePairs) {
  for (const Matrix matrix : {Matrix::C, Matrix::D}) {
    const auto odd = [&](const RandomProblem& p, bool base) {
      return ((p.displacement[matrix] % 2 != 0) == base) && ((shape_of(p.problem, matrix).ld % 2 != 0) == !base) &&
             p.problem.N % 2 == 0 && p.beta != 0;
    };
    EXPECT_TRUE(any([&](const RandomProblem& p) { return odd(p, true) && p.alpha == 0; })) << name_of(matrix);
    EXPECT_TRUE(any([&](const RandomProblem& p) { return odd(p, false); })) << name_of(matrix);
  }
  EXPECT_TRUE(any([](const RandomProblem& p) { return p.problem.N % 2 != 0 && p.alpha == 0 && p.beta != 0; }));
}

TEST_P(CheckProblems, HaveFactorsThatAreZeroAndMatricesThatDoNotCount) {
  for (const bool by_vectors : {true, false}) {
    const auto some = [&](auto&& property) {
      EXPECT_TRUE(any([&](const RandomProblem& p) { return vectorizable(p.problem) == by_vectors && property(p); }));
    };
    some([](const RandomProblem& p) { return p.problem.K == 0 && p.beta != 0 && p.problem.M > 1; });
    some([](const RandomProblem& p) { return p.beta == 0 && p.unread_c; });
    some([](const RandomProblem& p) { return p.problem.in_place && p.beta != 0; });
    some([](const RandomProblem& p) { return p.problem.lda > far_apart && p.problem.ldd > far_apart; });
  }
  EXPECT_TRUE(any([](const RandomProblem& p) { return p.alpha != 1 && p.beta == 0 && !p.unread_c; }));
  EXPECT_TRUE(any([](const RandomProblem& p) { return p.alpha == 0 && p.beta != 0; }));
  for (const Matrix matrix : {Matrix::A, Matrix::B, Matrix::D})
    EXPECT_TRUE(any([&](const RandomProblem& p) { return p.displacement[matrix] != 0 && p.beta == 0; }));
  EXPECT_TRUE(any([](const RandomProblem& p) { return p.problem.K == 0 && p.beta == 0; }));
}

TEST(Check, FindsOffsetsOf32Bits) {
  const auto found = first_finding(Wrong::short_offsets);
  ASSERT_TRUE(found);
  EXPECT_NE(found->message.find(place("reads A")), std::string::npos) << found->message;
}

}  // namespace
}  // namespace lapidary::bench
