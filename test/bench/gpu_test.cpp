// What runs on a GPU alone: skipped where there is none.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "bench/bound.hpp"
#include "bench/gpu_experiment.hpp"
#include "bench/gpu_reference.hpp"
#include "bench/peer.hpp"
#include "bench/random_fill.hpp"
#include "bench/timing.hpp"
#include "device/device.hpp"
#include "kernels/registry.hpp"

namespace lapidary::bench {
namespace {

class GpuBench : public testing::Test {
 protected:
  void SetUp() override {
    if (gpu_count() == 0) GTEST_SKIP() << "no GPU";
    device_ = open_gpu();
  }

  static RandomProblem spec(Type type) {
    RandomProblem spec;
    spec.problem.kind = type;
    spec.problem.M = 133;
    spec.problem.N = 71;
    spec.problem.K = 45;
    spec.alpha = 1.5f;
    spec.beta = -0.5f;
    spec.problem.lda = 47;
    spec.problem.ldb = 74;
    spec.problem.ldc = 73;
    spec.problem.ldd = 79;
    return spec;
  }

  static Contestant naive() {
    const KernelEntry& kernel = find_rung("naive").kernel(Type::f32);
    return {.name = "naive", .unit = Unit::cuda_cores, .prepare = [&kernel](const Problem& problem) {
              return [&kernel, problem](const Stream& stream, const Operands& operands) {
                lapidary::run(kernel, Build::gpu, stream, problem, operands);
              };
            }};
  }

  /// The naive kernel on a problem that differs from the one that is verified.
  template <class Change>
  static Contestant wrong(const Change& change) {
    Contestant contestant = naive();
    contestant.prepare = [prepare = contestant.prepare, change](Problem problem) {
      change(problem);
      return prepare(problem);
    };
    return contestant;
  }

  std::unique_ptr<Device> device_;
};

TEST_F(GpuBench, RandomNumbersAreNormal) {
  constexpr std::size_t count = 1 << 20;
  for (const Type type : all_types) {
    const DeviceBuffer buffer(*device_, count * static_cast<std::size_t>(size_of(type)), "numbers");
    fill_normal(*device_, type, buffer.data(), count, 7);
    HostMatrix numbers(type, 1, count, count);
    device_->download(numbers.data(), buffer.data(), buffer.bytes());
    double sum = 0, square = 0;
    int beyond_two = 0;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(count); ++i) {
      const double x = numbers.at(0, i);
      sum += x;
      square += x * x;
      beyond_two += std::abs(x) > 2;
    }
    // Five standard deviations of each statistic.
    EXPECT_NEAR(sum / count, 0, 5 / std::sqrt(count));
    EXPECT_NEAR(square / count, 1, 5 * std::sqrt(2.0 / count));
    EXPECT_NEAR(static_cast<double>(beyond_two) / count, 0.0455, 5 * std::sqrt(0.0455 / count));
  }
}

TEST_F(GpuBench, ReferenceIsThatOfTheCpu) {
  for (const Type type : all_types) {
    const HostProblem problem = make_problem(spec(type));
    const Reference expected(problem);
    const DeviceBuffer A(*device_, problem.A.bytes(), "A"), B(*device_, problem.B.bytes(), "B"),
        C(*device_, problem.C.bytes(), "C");
    device_->upload(A.data(), problem.A.data(), A.bytes());
    device_->upload(B.data(), problem.B.data(), B.bytes());
    device_->upload(C.data(), problem.C.data(), C.bytes());
    const Operands operands = {A.data(), B.data(), C.data(), nullptr, problem.spec.alpha, problem.spec.beta};
    std::vector<double> results(expected.results().size()), bounds(results);
    const DeviceBuffer gpu_results(*device_, results.size() * sizeof(double), "results"),
        gpu_bounds(*device_, gpu_results.bytes(), "bounds");
    compute_reference_on_gpu(*device_, problem.spec.problem, operands, static_cast<double*>(gpu_results.data()),
                             static_cast<double*>(gpu_bounds.data()));
    device_->download(results.data(), gpu_results.data(), gpu_results.bytes());
    device_->download(bounds.data(), gpu_bounds.data(), gpu_bounds.bytes());
    for (std::size_t i = 0; i < results.size(); ++i) {
      EXPECT_NEAR(results[i], expected.results()[i], 1e-12);
      EXPECT_NEAR(bounds[i], expected.bounds()[i], 1e-9 * bounds[i]);
    }
  }
}

TEST_F(GpuBench, RightResultsPass) {
  const Verification verification = GpuExperiment(*device_, spec(Type::f32)).run(naive());
  EXPECT_TRUE(verification.ok) << verification.message;
  EXPECT_EQ(verification.compared, 133 * 71);
}

TEST_F(GpuBench, WrongResultsDoNot) {
  GpuExperiment experiment(*device_, spec(Type::f32));
  const Verification one_product_short = experiment.run(wrong([](Problem& p) { --p.K; }));
  EXPECT_FALSE(one_product_short.ok);
  EXPECT_GT(one_product_short.wrong, 0);
  EXPECT_EQ(experiment.run(wrong([](Problem& p) { --p.M; })).wrong, 71);  // the last row is never written
  // One row less, so that the column too many stays inside of the matrices.
  EXPECT_GT(experiment.run(wrong([](Problem& p) { --p.M, --p.K, ++p.N; })).outside, 0);
  EXPECT_TRUE(experiment.run(naive()).ok);
}

TEST_F(GpuBench, PeerIsRightByAllOfItsAlgorithms) {
  std::vector<GemmKind> kinds = {{Type::s8, Type::s32, Order::row_major, Order::column_major}};
  for (const Type type : operand_types)  // cuBLAS has no other order of FP8
    kinds.emplace_back(type, GemmKind(type).result, Order::row_major,
                       is_result(type) ? Order::row_major : Order::column_major);
  for (const GemmKind& kind : kinds) {
    const std::optional<Peer> peer = open_peer(*device_, kind);
    if (!peer) GTEST_SKIP() << "built without cuBLAS";
    RandomProblem problem = is_result(kind.type) ? spec(kind.type)
                                                 : RandomProblem{.problem = {.M = 144, .N = 80, .K = 272}};
    problem.problem.kind = kind;
    GpuExperiment experiment(*device_, problem);
    const std::vector<Contestant> algorithms = peer->algorithms(experiment.problem());
    EXPECT_FALSE(algorithms.empty());
    for (const Contestant& contestant : algorithms) {
      const Verification verification = experiment.run(contestant);
      EXPECT_TRUE(verification.ok) << contestant.name << ": " << verification.message;
    }
  }
}

TEST_F(GpuBench, MeasurementHasAReceipt) {
  const Rung& rung = find_rung("coalesced");
  const std::vector<Task> tasks = {{{.M = 512, .N = 512, .K = 512}, {{&rung, &rung.kernels.front()}}},
                                   {{.M = 100, .N = 300, .K = 70, .label = "flat"}, {{&rung, &rung.kernels.front()}}}};
  MeasureOptions options;
  options.burst = {.rounds = 2, .rest_s = 0.01, .burst_s = 0.01};
  options.sustained = {.seconds = 0.05, .block_s = 0.02, .settle_s = 0.01, .warm_up_s = 0.02};
  std::vector<std::size_t> told;
  const LadderReport report = measure_ladder(*device_, tasks, options, {}, [&](const LadderReport& so_far) {
    told.push_back(so_far.results.size());
    EXPECT_EQ(so_far.receipt["card"]["name"], device_->properties().name);
    EXPECT_FALSE(so_far.complete);
    return true;
  });
  EXPECT_TRUE(report.wrong.empty());
  EXPECT_TRUE(report.complete);
  EXPECT_EQ(told, std::vector<std::size_t>({1, 2, 3, 4}));
  ASSERT_EQ(report.results.size(), 4u);
  EXPECT_EQ(report.results.back().problem.label, "flat");
  for (const LadderMeasurement& result : report.results) {
    EXPECT_GT(result.measurement.tflops.median, 0);
    EXPECT_GE(result.measurement.rounds, 2);
  }
  EXPECT_EQ(report.receipt["card"]["name"], device_->properties().name);
}

TEST_F(GpuBench, MeasuringEndsWhereItIsToldTo) {
  const Rung& rung = find_rung("coalesced");
  const Task task = {{.M = 100, .N = 300, .K = 70}, {{&rung, &rung.kernels.front()}}};
  MeasureOptions options;
  options.burst = {.rounds = 2, .rest_s = 0.01, .burst_s = 0.01};
  options.sustained = {.seconds = 0.05, .block_s = 0.02, .settle_s = 0.01, .warm_up_s = 0.02};
  const LadderReport report = measure_ladder(*device_, std::vector{task, task}, options, {},
                                             [](const LadderReport&) { return false; });
  EXPECT_FALSE(report.complete);
  EXPECT_EQ(report.results.size(), 1u);
}

}  // namespace
}  // namespace lapidary::bench
