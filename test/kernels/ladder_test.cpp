// Every rung in every configuration, on problems chosen for their edges. What is right, and that nothing else is
// touched, is decided by bench/verify.hpp.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "bench/run.hpp"
#include "core/batch.hpp"
#include "core/math.hpp"
#include "device/device.hpp"
#include "kernels/registry.hpp"
#include "kernels/split.hpp"

namespace lapidary {
namespace {

using bench::RandomProblem;

struct Configuration {
  const Rung* rung;
  const KernelEntry* kernel;

  friend std::ostream& operator<<(std::ostream& out, const Configuration& c) {
    return out << c.rung->name() << " " << to_string(c.kernel->tile) << " " << to_string(c.kernel->kind);
  }
};

std::vector<Configuration> all_configurations() {
  std::vector<Configuration> all;
  for (const Rung& rung : ladder())
    for (const KernelEntry& kernel : rung.kernels) all.push_back({&rung, &kernel});
  return all;
}

/// Whether a kernel of f16 is the same code, but for the products, as one of bf16.
bool is_as_with_bf16(const KernelEntry& kernel) {
  static const std::set<std::string> ids = [] {
    std::set<std::string> all;
    for (const Configuration& one : all_configurations()) all.insert(one.kernel->id());
    return all;
  }();
  std::string id = kernel.id();
  const std::size_t type = id.rfind("_f16");
  return type != id.npos && ids.contains(id.insert(type + 1, "b"));
}
std::vector<Configuration> all_codes() {
  std::vector<Configuration> all = all_configurations();
  std::erase_if(all, [](const Configuration& one) { return is_as_with_bf16(*one.kernel); });
  return all;
}

/// The first kernel of each rung that has clusters of a shape.
std::vector<Configuration> all_clusters() {
  std::vector<Configuration> all = all_configurations();
  std::set<std::tuple<std::string_view, int, int>> known;
  std::erase_if(all, [&](const Configuration& one) {
    const auto [down, across] = one.kernel->cluster;
    return down * across == 1 || !known.emplace(one.rung->name(), down, across).second;
  });
  return all;
}

std::string describe(const RandomProblem& spec) {
  const Problem& p = spec.problem;
  return fmt::format("M {} N {} K {}, alpha {} beta {}, ld {} {} {} {}, displacement {}{}", p.M, p.N, p.K, spec.alpha,
                     spec.beta, p.lda, p.ldb, p.ldc, p.ldd, spec.displacement.D, p.in_place ? ", D is C" : "");
}

/// A problem of another kind; the gaps between rows become gaps between columns. Results of s32 have no factors.
RandomProblem of_kind(const GemmKind& kind, RandomProblem spec) {
  Problem& p = spec.problem;
  p.kind = kind;
  if (p.lda != 0 && kind.a == Order::column_major) p.lda += p.M - p.K;
  if (p.ldb != 0 && kind.b == Order::column_major) p.ldb += p.K - p.N;
  if (kind.result == Type::s32) {
    spec.alpha = 1;
    spec.beta = 0;
    p.in_place = false;
  }
  return spec;
}

/// Sizes around a tile.
std::vector<RandomProblem> around_a_tile(const KernelEntry& kernel) {
  const std::int64_t m = kernel.tile.m, n = kernel.tile.n, k = kernel.tile.k ? kernel.tile.k : 8;
  std::vector<RandomProblem> specs = {
      {.problem = {.M = m - 1, .N = n, .K = k}}, {.problem = {.M = m + 1, .N = n, .K = 2 * k}},
      {.problem = {.M = m, .N = n - 1, .K = k}}, {.problem = {.M = m, .N = n + 1, .K = k}},
      {.problem = {.M = m, .N = n, .K = k - 1}}, {.problem = {.M = m, .N = n, .K = k + 1}},
      {.problem = {.M = m, .N = n, .K = 5 * k}}};
  for (RandomProblem& spec : specs) spec = of_kind(kernel.kind, spec);
  return specs;
}

/// Sizes of 1 and primes, lines longer than rows, factors, and sums that fill all stages again.
[[maybe_unused]] std::vector<RandomProblem> usual_cases(const KernelEntry& kernel) {
  const std::int64_t m = kernel.tile.m, k = kernel.tile.k ? kernel.tile.k : 8;
  std::vector<RandomProblem> specs = {
      {.problem = {.M = 1, .N = 1, .K = 1}},
      {.problem = {.M = 13, .N = 17, .K = 19}, .alpha = 0.5f, .beta = 3},
      {.problem = {.M = m + 3, .N = 24, .K = k, .lda = k + 16, .ldb = 32, .ldc = 40, .ldd = 48},
       .alpha = 0.5f,
       .beta = 3},
      // Lines that bulk copies can begin at, of lengths that no vector divides.
      {.problem = {.M = 131, .N = 75, .K = 67, .lda = 72, .ldb = 80, .ldc = 75, .ldd = 80}, .alpha = 0.5f, .beta = 3},
      // Few results of a long sum: all stages are filled again.
      {.problem = {.M = 40, .N = 24, .K = (kernel.stages + 4) * k + 8}, .alpha = 0.5f, .beta = 3}};
  // As many blocks as may be share K.
  if (kernel.split)
    specs.insert(specs.end(), {{.problem = {.M = 40, .N = 24, .K = 17 * k + 8}, .alpha = 0.5f, .beta = 3},
                               {.problem = {.M = 8, .N = kernel.tile.n + 8, .K = 16 * k + 16}}});
  for (RandomProblem& spec : specs) spec = of_kind(kernel.kind, spec);
  return specs;
}

/// Everything that may be special about a problem.
[[maybe_unused]] std::vector<RandomProblem> edge_cases(const KernelEntry& kernel) {
  std::vector<RandomProblem> specs = {
      // By vectors, and ragged all the same.
      {.problem = {.M = 200, .N = 72, .K = 40}, .alpha = -1.25f, .beta = 1},
      // No vectors: leading dimensions, addresses.
      {.problem = {.M = 37, .N = 40, .K = 24, .lda = 31, .ldb = 43, .ldc = 41, .ldd = 47}, .alpha = 0.5f, .beta = 3},
      {.problem = {.M = 37, .N = 40, .K = 24}, .alpha = -1.25f, .beta = 1, .displacement = bench::displaced_by(1)},
      {.problem = {.M = 40, .N = 40, .K = 24}, .beta = 3, .displacement = bench::displaced_by(8)},
      // D is C.
      {.problem = {.M = 33, .N = 35, .K = 9, .in_place = true}, .alpha = 0.5f, .beta = 3},
      {.problem = {.M = 32, .N = 40, .K = 8, .ldc = 48, .ldd = 48, .in_place = true}, .beta = 1},
      {.problem = {.M = 33, .N = 40, .K = 8, .in_place = true}},
      // Nothing to add up, to scale, or to write.
      {.problem = {.M = 33, .N = 36, .K = 0}},
      {.problem = {.M = 33, .N = 36, .K = 0}, .alpha = 0.5f, .beta = 3},
      {.problem = {.M = 33, .N = 36, .K = 7}, .alpha = 0, .beta = 1},
      {.problem = {.M = 33, .N = 36, .K = 7}, .alpha = 0, .beta = 0},
      {.problem = {.M = 0, .N = 36, .K = 7}},
      {.problem = {.M = 33, .N = 0, .K = 7}, .beta = 1},
  };
  for (RandomProblem& spec : specs) spec = of_kind(kernel.kind, spec);
  const std::vector<RandomProblem> usual = usual_cases(kernel);
  specs.insert(specs.end(), usual.begin(), usual.end());
  return specs;
}

/// The same problem with lines that begin at multiples of 16 bytes and are no longer than they have to be for that, as
/// bulk copies need them whatever the sizes are.
RandomProblem with_whole_lines(RandomProblem spec) {
  Problem& p = spec.problem;
  spec.displacement = {};
  for (const Matrix matrix : all_matrices) {
    bench::leading_dimension(p, matrix) = 0;
    const MatrixShape x = shape_of(resolved(p), matrix);
    bench::leading_dimension(p, matrix) = round_up<std::int64_t>(x.length(), 16 / size_of(x.type));
  }
  return spec;
}

/// Of more than one tile, or cluster, in each direction, with vectors and without. More than three or four of small
/// ones tell no more.
std::vector<RandomProblem> large_cases(const KernelEntry& kernel) {
  const std::int64_t m = kernel.tile.m * kernel.cluster.down, n = kernel.tile.n * kernel.cluster.across;
  std::vector<RandomProblem> specs = {
      {.problem = {.M = std::min<std::int64_t>(257, 3 * m + 1), .N = std::min<std::int64_t>(259, 3 * n + 3), .K = 131}},
      {.problem = {.M = std::min<std::int64_t>(264, 3 * m + 8), .N = std::min<std::int64_t>(392, 4 * n + 8), .K = 200},
       .alpha = -1.25f,
       .beta = 1},
      {.problem = {.M = std::min<std::int64_t>(131, 2 * m + 3),
                   .N = std::min<std::int64_t>(520, 4 * n + 8),
                   .K = 72,
                   .lda = 75},
       .alpha = 0.5f,
       .beta = 3,
       .displacement = bench::displaced_by(3)},
      // Few rows, of which some kernels take no more.
      {.problem = {.M = 7, .N = std::min<std::int64_t>(520, 4 * n + 8), .K = 200}, .beta = 3}};
  for (RandomProblem& spec : specs) spec = of_kind(kernel.kind, spec);
  // Others take no more than a few columns.
  if (!refusal(kernel, bench::resolve(with_whole_lines(specs.back())).problem).empty())
    specs.back() = of_kind(kernel.kind,
                           {.problem = {.M = std::min<std::int64_t>(520, 4 * m + 8), .N = 7, .K = 200}, .beta = 3});
  return specs;
}

/// Of clusters, of whose tiles D has some and not others, in many steps: much higher than wide, and the other way
/// round, and three products of either.
std::vector<RandomProblem> beyond_d(const KernelEntry& kernel) {
  const std::int64_t m = kernel.tile.m * kernel.cluster.down, n = kernel.tile.n * kernel.cluster.across;
  const std::int64_t K = 10 * kernel.tile.k + 8;
  std::vector<RandomProblem> specs;
  for (const Problem& p : {Problem{.M = m + 1, .N = 8, .K = K}, Problem{.M = 7, .N = n + 8, .K = K}}) {
    RandomProblem spec = with_whole_lines(of_kind(kernel.kind, {.problem = p, .beta = 3}));
    specs.push_back(spec);
    spec.problem.batch = one_after_another(resolved(spec.problem), 3);
    if (kernel.batches) specs.push_back(spec);
  }
  return specs;
}

class Ladder : public testing::TestWithParam<Configuration> {
 protected:
  const Rung& rung = *GetParam().rung;
  const KernelEntry& kernel = *GetParam().kernel;

  /// An emulated card that has room for a cluster of the kernel.
  std::unique_ptr<Device> emulated(emulator::Options options = {}) const {
    options.multiprocessors = std::max(options.multiprocessors, kernel.cluster.down * kernel.cluster.across);
    return open_emulator(options);
  }
  /// Of its kind: others have the same code but for the tile, and are tried with less.
  const bool is_first = &rung.kernel(kernel.kind) == &kernel;

  void expect_right(Device& device, const std::vector<RandomProblem>& specs) {
    const auto takes = [&](const RandomProblem& spec) { return refusal(kernel, bench::resolve(spec).problem).empty(); };
    // What it leaves to another kernel is tried for the first one. It has the same sizes in whole lines.
    int taken = 0;
    for (const RandomProblem& spec : specs) {
      std::vector<RandomProblem> tried;
      if (takes(spec) || is_first) tried.push_back(spec);
      if (!takes(spec) && takes(with_whole_lines(spec))) tried.push_back(with_whole_lines(spec));
      for (const RandomProblem& one : tried) {
        const auto result = bench::run_gemm(device, rung, kernel, build_for(device.stream()), one);
        EXPECT_TRUE(result.verification.ok) << describe(one) << ": " << result.verification.message;
        EXPECT_EQ(result.verification.compared, one.problem.M * one.problem.N) << describe(one);
        EXPECT_EQ(result.ran == kernel.id(), takes(one)) << describe(one) << ": " << result.ran;
        taken += takes(one);
      }
    }
    EXPECT_GE(4 * taken, static_cast<int>(specs.size())) << "most are another kernel's";
  }
};

/// What depends on how a kernel's warps and blocks work together, and not on what they multiply.
class Code : public Ladder {};
/// And what on how clusters lie over D.
class Clusters : public Ladder {};

std::string name_of_test(const testing::TestParamInfo<Configuration>& info) {
  std::string name = info.param.kernel->id();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Rung, Ladder, testing::ValuesIn(all_configurations()), name_of_test);
INSTANTIATE_TEST_SUITE_P(Rung, Code, testing::ValuesIn(all_codes()), name_of_test);
INSTANTIATE_TEST_SUITE_P(Rung, Clusters, testing::ValuesIn(all_clusters()), name_of_test);

#if LAPIDARY_WITH_INSTRUMENTED
TEST_P(Ladder, IsRightAndWithoutFaultsWhenChecked) {
  const auto device = emulated({.check = true});
  expect_right(*device, is_first ? edge_cases(kernel) : usual_cases(kernel));
  if (!is_as_with_bf16(kernel)) expect_right(*device, around_a_tile(kernel));
  // Two blocks share K: what a larger cluster does as well may be missing of these alone.
  if (kernel.split)
    expect_right(*device, {of_kind(kernel.kind, {.problem = {.M = 40, .N = 24, .K = 2 * kernel.split->least_k}})});
}

TEST_P(Code, IsWithoutRacesInRandomOrder) {
  for (std::uint64_t seed = 1; seed <= (is_first ? 3 : 1); ++seed) {
    const auto device = emulated({.check = true, .seed = seed});
    const std::int64_t k = kernel.tile.k ? kernel.tile.k : 8;
    expect_right(*device, {of_kind(kernel.kind, {.problem = {.M = 40, .N = 40, .K = 5 * k}, .beta = 1})});
  }
}
#endif

TEST_P(Code, IsRightOnSeveralTilesOfThePlainBuild) {
  const auto device = emulated();
  std::vector<RandomProblem> specs = large_cases(kernel);
  if (!is_first) specs = {specs.front(), specs.back()};
  expect_right(*device, specs);
}

TEST_P(Clusters, PassTilesBeyondD) {
  const auto device = emulated();
  expect_right(*device, beyond_d(kernel));
}

#if LAPIDARY_WITH_CUDA
TEST_P(Clusters, PassTilesBeyondDOnAGpu) {
  if (gpu_count() == 0) GTEST_SKIP() << "there is no GPU";
  const auto device = open_gpu();
  expect_right(*device, beyond_d(kernel));
}

TEST_P(Ladder, IsRightOnAGpu) {
  if (gpu_count() == 0) GTEST_SKIP() << "there is no GPU";
  const auto device = open_gpu();
  expect_right(*device, edge_cases(kernel));
  expect_right(*device, around_a_tile(kernel));
  expect_right(*device, large_cases(kernel));
}
#endif

// The error of a sum that tensor cores add up grows with K; that of promoted ones stays what 128 products have.
TEST(Fp8, IsExacterWherePartialSumsArePromoted) {
  const GemmKind kind(Type::e4m3, Type::f32, Order::row_major, Order::column_major);
  const auto device = open_emulator();
  bench::Experiment experiment(*device, {.problem = {.kind = kind, .M = 128, .N = 128, .K = 2048}});
  const auto error = [&](const char* name) {
    const Rung& rung = find_rung(name);
    const auto found = experiment.run(rung, rung.kernel(kind), Build::plain).verification;
    EXPECT_TRUE(found.ok) << found.message;
    return found.max_error;
  };
  EXPECT_LT(8 * error("wgmma_promoted"), error("wgmma_energy"));
}

}  // namespace
}  // namespace lapidary
