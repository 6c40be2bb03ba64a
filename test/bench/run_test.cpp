#include "bench/run.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>

#include "core/error.hpp"
#include "core/gemm.hpp"

namespace lapidary::bench {
namespace {

// Kernels that are functions of the host: the emulated machine's memory is the host's.

template <class T, class R>
void multiply(const Gemm<T, R>& g, Order a, Order b) {
  const auto at = [](const T* matrix, Order order, std::int64_t ld, std::int64_t row, std::int64_t col) {
    return to_float(order == Order::row_major ? matrix[row * ld + col] : matrix[col * ld + row]);
  };
  for (std::int64_t i = 0; i < g.M; ++i) {
    for (std::int64_t j = 0; j < g.N; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < g.K; ++k) sum += at(g.A, a, g.lda, i, k) * at(g.B, b, g.ldb, k, j);
      const float scaled_c = g.beta == 0 ? 0 : g.beta * to_float(g.C[i * g.ldc + j]);
      g.D[i * g.ldd + j] = from_float<R>(g.alpha * sum + scaled_c);
    }
  }
}

void right(const Problem& problem, const Operands& operands) {
  with_type(problem.kind.type, [&](auto element) {
    using T = decltype(element);
    if (problem.kind.result == problem.kind.type) {
      multiply(gemm_of<T>(problem, operands), problem.kind.a, problem.kind.b);
    } else {
      multiply(gemm_of<T, float>(problem, operands), problem.kind.a, problem.kind.b);
    }
  });
}

void exchanges_the_orders(const Problem& problem, const Operands& operands) {
  multiply(gemm_of<float>(problem, operands), problem.kind.b, problem.kind.a);
}

void reads_c_always(const Problem& problem, const Operands& operands) {
  right(problem, operands);
  const Gemm<float> g = gemm_of<float>(problem, operands);
  for (std::int64_t i = 0; i < g.M; ++i) {
    for (std::int64_t j = 0; j < g.N; ++j) g.D[i * g.ldd + j] += 0 * g.C[i * g.ldc + j];
  }
}

void leaves_a_result_out(const Problem& problem, const Operands& operands) {
  Problem part = problem;
  part.M -= 1;
  right(part, operands);
}

void writes_before_d(const Problem& problem, const Operands& operands) {
  right(problem, operands);
  static_cast<float*>(operands.D)[-1] = 0;
}

void writes_behind_a(const Problem& problem, const Operands& operands) {
  right(problem, operands);
  const_cast<float*>(static_cast<const float*>(operands.A))[(problem.M - 1) * problem.lda + problem.K] = 0;
}

using HostKernel = void (*)(const Problem&, const Operands&);

/// What the kernel of host_kernel() runs.
HostKernel running;

template <Build build>
Prepared prepare_host_kernel(const Problem& problem, const Card&) {
  Prepared prepared;
  prepared.problem = problem;
  prepared.build = build;
  prepared.kernel = &running;
  prepared.start = [](const Prepared& p, const Stream&, const Operands& operands) { running(p.problem, operands); };
  return prepared;
}

/// A kernel of this kind, in the plain and the instrumented build.
KernelEntry host_kernel(const GemmKind& kind) {
  static const BuiltKernel plain = {.traits = {}, .refusal = nullptr, .prepare = prepare_host_kernel<Build::plain>},
                           instrumented = {
                               .traits = {}, .refusal = nullptr, .prepare = prepare_host_kernel<Build::instrumented>};
  return {{.tile = {1, 1, 0}, .kind = kind}, "fake", "", {&plain, &instrumented, nullptr}};
}

std::uintptr_t address_of_d;
void tells_where_d_is(const Problem& problem, const Operands& operands) {
  right(problem, operands);
  address_of_d = reinterpret_cast<std::uintptr_t>(operands.D);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(operands.A) % 256, address_of_d % 256);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(operands.B) % 256, address_of_d % 256);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(operands.C) % 256, address_of_d % 256);
}

class RunGemm : public testing::Test {
 protected:
  RunGemm() {
    spec.problem.M = 9;
    spec.problem.N = 11;
    spec.problem.K = 13;
    spec.problem.lda = 17;
    spec.problem.ldd = 20;
  }

  Verification verify(HostKernel kernel) const {
    running = kernel;
    return run_gemm(*device, rung(80), host_kernel(spec.problem.kind), build_for(device->stream()), spec).verification;
  }

  static Rung rung(int architecture) {
    static RungInfo info{};
    info.name = "fake";
    info.parent = "";
    info.architecture = architecture;
    return {&info, "simt", "", {}};
  }

  static std::string message_of(const std::function<void()>& call) {
    try {
      call();
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "";
  }

  RandomProblem spec;
  std::unique_ptr<Device> device = open_emulator();
};

TEST_F(RunGemm, PassesARightKernel) {
  EXPECT_TRUE(verify(right).ok) << verify(right).message;
  spec.alpha = -2;
  spec.beta = 0.5f;
  EXPECT_TRUE(verify(right).ok) << verify(right).message;
  spec.problem.in_place = true;
  spec.problem.ldd = 0;
  spec.problem.ldc = 15;
  EXPECT_TRUE(verify(right).ok) << verify(right).message;
  device = open_emulator({.check = true});
  EXPECT_TRUE(verify(right).ok) << verify(right).message;
}

TEST_F(RunGemm, KnowsEveryOrderAndTypesOfResults) {
  spec.problem.lda = 0;
  spec.beta = 0.5f;
  for (const Order a : {Order::row_major, Order::column_major}) {
    for (const Order b : {Order::row_major, Order::column_major}) {
      for (const auto& [type, result] : {std::pair{Type::f32, Type::f32},
                                         {Type::bf16, Type::f32},
                                         {Type::f16, Type::f16},
                                         {Type::tf32, Type::f32},
                                         {Type::e4m3, Type::f32},
                                         {Type::s8, Type::f32}}) {
        spec.problem.kind = {type, result, a, b};
        EXPECT_TRUE(verify(right).ok) << to_string(spec.problem.kind) << ": " << verify(right).message;
      }
    }
  }
  spec.problem.M = spec.problem.N = spec.problem.K = 12;
  spec.problem.ldd = 0;
  spec.problem.kind = {Type::f32, Type::f32, Order::row_major, Order::column_major};
  EXPECT_GT(verify(exchanges_the_orders).wrong, 100);
  spec.problem.lda = 11;
  EXPECT_NE(message_of([&] { verify(right); }).find("a row of A has K = 12"), std::string::npos);
  spec.problem.lda = 0;
  spec.problem.ldb = 11;
  EXPECT_NE(message_of([&] { verify(right); }).find("a column of B has K = 12"), std::string::npos);
  spec.problem.ldb = 0;
  spec.problem.kind = {Type::s8, Type::s8};
  EXPECT_NE(message_of([&] { verify(right); }).find("C and D are of s8, A and B of s8; C and D must be of f32"),
            std::string::npos);
}

TEST_F(RunGemm, CatchesAReadOfCWithoutBeta) {
  EXPECT_EQ(verify(reads_c_always).wrong, 9 * 11);
  spec.beta = 1;
  EXPECT_TRUE(verify(reads_c_always).ok);
}

TEST_F(RunGemm, CatchesWhatWasNotWritten) {
  const Verification v = verify(leaves_a_result_out);
  EXPECT_FALSE(v.ok);
  EXPECT_EQ(v.wrong, 11);
  EXPECT_EQ(v.row, 8);
}

TEST_F(RunGemm, CatchesDamagedGuards) {
  const Verification before = verify(writes_before_d);
  EXPECT_FALSE(before.ok);
  EXPECT_NE(before.message.find("4 bytes right before or behind D were changed"), std::string::npos) << before.message;
  const Verification behind = verify(writes_behind_a);
  EXPECT_FALSE(behind.ok);
  EXPECT_NE(behind.message.find("behind A"), std::string::npos) << behind.message;
}

TEST_F(RunGemm, ADamagedGuardIsBlamedOnOneRunOnly) {
  Experiment experiment(*device, spec);
  const auto ok = [&](HostKernel kernel) {
    running = kernel;
    return experiment.run(rung(80), host_kernel(Type::f32), Build::plain).verification.ok;
  };
  EXPECT_TRUE(ok(right));
  EXPECT_FALSE(ok(writes_before_d));
  EXPECT_TRUE(ok(right));
}

TEST_F(RunGemm, RestoresCThatWasOverwritten) {
  spec.problem.in_place = true;
  spec.problem.ldd = 0;
  spec.beta = 1;
  Experiment experiment(*device, spec);
  running = right;
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(experiment.run(rung(80), host_kernel(Type::f32), Build::plain).verification.ok);
}

TEST_F(RunGemm, DisplacesEveryMatrix) {
  spec.beta = 1;
  for (const bool check : {false, true}) {
    device = open_emulator({.check = check});
    for (const std::int64_t displacement : {0, 1, 3, 100}) {
      spec.displacement = displaced_by(displacement);
      EXPECT_TRUE(verify(tells_where_d_is).ok);
      EXPECT_EQ(address_of_d % 256, static_cast<std::uintptr_t>(displacement) * 4 % 256);
    }
  }
}

TEST_F(RunGemm, RefusesWhatDoesNotFitIntoMemory) {
  spec.problem.M = spec.problem.N = 1 << 21;
  spec.problem.ldd = 0;
  const std::string message = message_of([&] { verify(right); });
  EXPECT_NE(message.find("the problem needs 3518"), std::string::npos) << message;
  EXPECT_NE(message.find("are free"), std::string::npos) << message;
}

TEST_F(RunGemm, RefusesAnOlderDevice) {
  EXPECT_NE(message_of([&] {
              run_gemm(*device, rung(120), host_kernel(Type::f32), Build::plain, spec);
            }).find("fake needs compute capability 12.0"),
            std::string::npos);
}

TEST(RungRunsOn, LaterCardsUnlessItIsOfHopperAlone) {
  RungInfo info{};
  info.architecture = 80;
  const Rung ampere{&info, "mma", "", {}};
  EXPECT_FALSE(ampere.runs_on(75, Type::bf16));
  EXPECT_TRUE(ampere.runs_on(80, Type::bf16));
  EXPECT_TRUE(ampere.runs_on(120, Type::bf16));
  EXPECT_FALSE(ampere.runs_on(80, Type::e4m3));
  EXPECT_TRUE(ampere.runs_on(89, Type::e4m3));
  RungInfo own{};
  own.architecture = 90;
  const Rung hopper{&own, "wgmma", "", {}};
  for (const int other : {80, 89, 100, 120}) EXPECT_FALSE(hopper.runs_on(other, Type::bf16)) << other;
  EXPECT_TRUE(hopper.runs_on(90, Type::bf16));
}

TEST(BuildFor, FollowsTheDevice) {
  EXPECT_EQ(build_for(open_emulator()->stream()), Build::plain);
  EXPECT_EQ(build_for(open_emulator({.count = true})->stream()), Build::instrumented);
  EXPECT_EQ(build_for(open_emulator({.check = true})->stream()), Build::instrumented);
}

}  // namespace
}  // namespace lapidary::bench
