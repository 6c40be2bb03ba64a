// gemm() computes right results, and touches nothing else, for random problems of every type, in every order, at any
// alignment, in batches; on the emulated machine, where every access is checked, and on a GPU.
#include "lapidary/gemm.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench/run.hpp"
#include "core/batch.hpp"
#include "core/error.hpp"
#include "emulator/arena.hpp"
#include "kernels/registry.hpp"
#include "kernels/split.hpp"
#include "library/batch_overlap.hpp"
#include "library/elements.hpp"
#include "library/kernel_cost.hpp"
#include "library/library_target.hpp"
#include "library/stream_key.hpp"
#include "scratch_folder.hpp"

namespace lapidary {
namespace {

using bench::Experiment;
using bench::RandomProblem;

class Library : public test::LibraryTarget {
 protected:
  /// Computes it by views, as a program does.
  void expect_right(const RandomProblem& spec, const GemmOptions& options = {}) {
    Experiment experiment(device(), spec);
    const bench::RunResult result = experiment.run([&](const Problem& p, const Operands& o) {
      const auto view = [&](auto* data, Matrix matrix) {
        const MatrixShape x = shape_of(p, matrix);
        const auto first = x.order == Order::row_major ? row_major_view(data, x.type, x.rows, x.cols, x.ld)
                                                       : column_major_view(data, x.type, x.rows, x.cols, x.ld);
        return p.batch.count == 1 ? first : first.batched(p.batch.count, stride_of(p.batch, matrix));
      };
      try {
        context().gemm(device().stream(), o.alpha, view(o.A, Matrix::A), view(o.B, Matrix::B), o.beta,
                       view(o.C, Matrix::C), view(o.D, Matrix::D), options);
      } catch (const Error& error) {
        ADD_FAILURE() << error.what();
      }
      return Choice{};
    });
    EXPECT_TRUE(result.verification.ok) << result.verification.message;
  }

  /// Of groups of rows, likewise.
  void expect_groups_right(const RandomProblem& spec, const GemmOptions& options = {}) {
    Experiment experiment(device(), spec);
    const bench::RunResult result = experiment.run([&](const Problem& p, const Operands& o) {
      const auto view = [&](auto* data, Matrix matrix) {
        const MatrixShape x = shape_of(p, matrix);
        return x.order == Order::row_major ? row_major_view(data, x.type, x.rows, x.cols, x.ld)
                                           : column_major_view(data, x.type, x.rows, x.cols, x.ld);
      };
      const auto b = view(o.B, Matrix::B);
      try {
        context().gemm_grouped(device().stream(), o.alpha, view(o.A, Matrix::A),
                               p.batch.stride_b == 0 ? b : b.batched(p.groups, p.batch.stride_b), o.beta,
                               view(o.C, Matrix::C), view(o.D, Matrix::D), {o.group_ends, p.groups}, options);
      } catch (const Error& error) {
        ADD_FAILURE() << error.what();
      }
      return Choice{};
    });
    EXPECT_TRUE(result.verification.ok) << result.verification.message;
  }

  /// Multiplies matrices of ones by themselves in several threads at a time. @param gemm  called as gemm(A and B, D)
  template <class Gemm>
  void expect_threads_right(Gemm&& gemm);
};
INSTANTIATE_TEST_SUITE_P(On, Library, testing::ValuesIn(test::library_targets()),
                         [](const auto& info) { return info.param.name; });

constexpr Order orders[] = {Order::row_major, Order::column_major};

std::string describe(const Problem& p) {
  const auto letter = [](Order order) { return order == Order::row_major ? 'R' : 'C'; };
  const Batch& batch = p.batch;
  return fmt::format("{} {}x{}x{} {}{}{} ld {} {} {} {}, {} with strides {} {} {} {}", to_string(p.kind), p.M, p.N, p.K,
                     letter(p.kind.a), letter(p.kind.b), letter(p.order_d), p.lda, p.ldb, p.ldc, p.ldd, batch.count,
                     batch.stride_a, batch.stride_b, batch.stride_c, batch.stride_d);
}

/// A problem at random: small, but of sizes that tiles do not divide, in any order, with any factors, and with lines
/// and bases that are aligned or are not.
RandomProblem random_problem(std::mt19937& random, const GemmKind& types) {
  const auto pick = [&](auto... values) {
    const std::array list = {values...};
    return list[random() % list.size()];
  };
  const auto size = [&] { return pick(1, 2, 7, 16, 31, 64, 65, 100, 129, 200, 257); };
  RandomProblem spec;
  Problem& p = spec.problem;
  p.kind = {types.type, types.result, pick(orders[0], orders[1]), pick(orders[0], orders[1])};
  p.order_d = pick(orders[0], orders[1]);
  p.M = size();
  p.N = size();
  p.K = random() % 8 == 0 ? 0 : size();
  const bool aligned = random() % 2 == 0;
  for (const Matrix matrix : all_matrices) {
    const std::int64_t length = shape_of(p, matrix).length();
    bench::leading_dimension(p, matrix) = aligned ? (length + 31) / 16 * 16 : length + pick(0, 1, 2, 8, 13);
  }
  if (!aligned && random() % 2 == 0)
    spec.displacement = {pick(0, 1, 3, 8), pick(0, 1, 5, 8), pick(0, 1, 7), pick(0, 1, 2)};
  spec.alpha = pick(1.0F, -1.5F, 0.0F);
  spec.beta = pick(0.0F, 1.0F, 0.75F);
  if (types.result == Type::s32) {
    spec.alpha = 1;
    spec.beta = 0;
  }
  p.in_place = spec.beta != 0 && random() % 3 == 0;
  if (p.in_place) p.ldd = p.ldc;
  spec.seed = random();
  return spec;
}

/// The same of several products, which are as far apart as their matrices take and then some, and may share A or B.
RandomProblem random_batch(std::mt19937& random, const GemmKind& types) {
  RandomProblem spec = random_problem(random, types);
  Problem& p = spec.problem;
  p.batch.count = 2 + static_cast<std::int64_t>(random() % 4);
  const bool aligned = random() % 4 != 0;
  const auto stride = [&](Matrix matrix) {
    const std::int64_t extent = shape_of(p, matrix).extent(), more = static_cast<std::int64_t>(random() % 3);
    return aligned ? (extent + 15) / 16 * 16 + 16 * more : extent + more;
  };
  p.batch.stride_a = random() % 4 == 0 ? 0 : stride(Matrix::A);
  p.batch.stride_b = random() % 4 == 0 ? 0 : stride(Matrix::B);
  p.batch.stride_d = stride(Matrix::D);
  p.batch.stride_c = p.in_place ? p.batch.stride_d : stride(Matrix::C);
  return spec;
}

/// A problem at random of groups, some of which have no rows, and rows that none has; its matrices are aligned.
RandomProblem random_groups(std::mt19937& random, Type type, Order b) {
  const auto pick = [&](auto... values) {
    const std::array list = {values...};
    return list[random() % list.size()];
  };
  RandomProblem spec;
  Problem& p = spec.problem;
  p.kind = {type, type, Order::row_major, b};
  p.N = pick(8, 24, 64, 200, 264);
  p.K = pick(1, 8, 63, 64, 100);
  for (int i = 0, groups = pick(1, 2, 5, 40); i < groups; ++i) {
    p.M += groups > 5 ? pick(0, 1, 2, 5) : pick(0, 1, 31, 64, 127, 128, 129, 200);
    spec.group_ends.push_back(p.M);
  }
  p.groups = static_cast<int>(spec.group_ends.size());
  p.M += pick(0, 1, 77);
  for (const Matrix matrix : all_matrices)
    bench::leading_dimension(p, matrix) = round_up<std::int64_t>(shape_of(p, matrix).length(), 8) + pick(0, 8, 24);
  p.batch.stride_b = random() % 4 == 0 ? 0 : round_up<std::int64_t>(shape_of(p, Matrix::B).extent(), 8) + pick(0, 8);
  spec.alpha = pick(1.0F, -1.5F);
  spec.beta = pick(0.0F, 1.0F, 0.75F);
  p.in_place = spec.beta != 0 && random() % 3 == 0;
  if (p.in_place) p.ldd = p.ldc;
  spec.seed = random();
  return spec;
}

const GemmKind kinds[] = {{Type::f32, Type::f32},   {Type::f16, Type::f16},  {Type::f16, Type::f32},
                          {Type::bf16, Type::bf16}, {Type::bf16, Type::f32}, {Type::tf32, Type::f32},
                          {Type::e4m3, Type::f32},  {Type::s8, Type::f32},   {Type::s8, Type::s32}};

TEST_P(Library, RandomProblemsOfEveryTypeAreRight) {
  std::mt19937 random(20);
  const int each = GetParam().kind == DeviceKind::gpu ? 400 : GetParam().options.check ? 6 : 16;
  for (const GemmKind& kind : kinds)
    for (int i = 0; i < each; ++i) {
      const RandomProblem spec = random_problem(random, kind);
      SCOPED_TRACE(describe(spec.problem));
      expect_right(spec);
    }
}

// Of sizes that have many tiles, which are too many for the emulated machine.
TEST_P(Library, RandomLargeProblemsOfEveryTypeAreRight) {
  if (GetParam().kind != DeviceKind::gpu) GTEST_SKIP() << "small ones stand for them here";
  std::mt19937 random(22);
  for (const GemmKind& types : kinds)
    for (int i = 0; i < 8; ++i) {
      RandomProblem spec = random_problem(random, types);
      Problem& p = spec.problem;
      if (spec.alpha == 0) spec.alpha = 0.5F;
      for (std::int64_t* const size : {&p.M, &p.N, &p.K}) *size = 1 + static_cast<std::int64_t>(random() % 3000);
      for (const Matrix matrix : all_matrices) {
        std::int64_t& ld = bench::leading_dimension(p, matrix);
        const std::int64_t length = shape_of(p, matrix).length();
        ld = ld % 16 == 0 ? (length + 31) / 16 * 16 : length + ld % 16;
      }
      if (p.in_place) p.ldd = p.ldc;
      SCOPED_TRACE(describe(p));
      expect_right(spec);
      // Another way than the quickest, too.
      const Plan made = context().plan(resolved(p));
      const PlannedWay& way = made.ways()[random() % made.ways().size()];
      SCOPED_TRACE(way.kernel);
      expect_right(spec, {.kernel = way.kernel});
    }
}

TEST_P(Library, RandomBatchesAreRight) {
  std::mt19937 random(21);
  const int each = GetParam().kind == DeviceKind::gpu ? 200 : GetParam().options.check ? 6 : 16;
  for (const GemmKind& kind : {GemmKind(Type::f32), GemmKind(Type::f16), GemmKind(Type::bf16)})
    for (int i = 0; i < each; ++i) {
      const RandomProblem spec = random_batch(random, kind);
      SCOPED_TRACE(describe(spec.problem));
      expect_right(spec);
    }
}

TEST_P(Library, RandomGroupsAreRight) {
  if (card_of(device().stream()).compute_capability != 90) GTEST_SKIP() << "kernels of groups are of sm_90a alone";
  std::mt19937 random(22);
  const int each = GetParam().kind == DeviceKind::gpu ? 200 : GetParam().options.check ? 6 : 16;
  std::set<std::string> kernels;
  for (const Type type : {Type::f16, Type::bf16})
    for (int i = 0; i < each; ++i) {
      const RandomProblem spec = random_groups(random, type, orders[i / 4 % 2]);
      SCOPED_TRACE(fmt::format("{}; ends {}", describe(spec.problem), fmt::join(spec.group_ends, ", ")));
      expect_groups_right(spec);
      if (i % 4 != 0 || spec.problem.M == 0) continue;
      for (const PlannedWay& way : context().plan(bench::resolve(spec).problem).ways())
        if (kernels.insert(way.kernel).second) expect_groups_right(spec, {.kernel = way.kernel});
    }
  EXPECT_EQ(kernels.size(), find_rung("wgmma_grouped").kernels.size());
}

// What is planned for a large card runs on a small machine, clusters of eight blocks too.
TEST_P(Library, FewRowsOfManyColumnsAreRight) {
  std::set<int> clusters;
  for (const GemmKind& types : {GemmKind(Type::f16), GemmKind(Type::bf16, Type::f32)})
    for (const auto& [M, N, K] : {std::tuple(200, 2048, 8), {1, 2048, 512}, {64, 1000, 40}, {136, 776, 16}}) {
      const RandomProblem spec = {
          .problem = {.kind = {types.type, types.result, orders[0], orders[1]}, .M = M, .N = N, .K = K}};
      const std::string kernel = context().plan(resolved(spec.problem)).way().kernel;
      SCOPED_TRACE(kernel);
      expect_right(spec);
      const ClusterShape cluster = find_kernel(kernel).cluster;
      clusters.insert(cluster.down * cluster.across);
    }
  EXPECT_TRUE(clusters.contains(8)) << "or other problems are to be taken";
}

TEST_P(Library, EveryOrderOfEveryTypeIsRight) {
  for (const GemmKind& types : kinds)
    for (const Order a : orders)
      for (const Order b : orders)
        for (const Order d : orders) {
          RandomProblem spec = {.problem = {.kind = {types.type, types.result, a, b}, .M = 144, .N = 80, .K = 48},
                                .alpha = types.result == Type::s32 ? 1 : 0.5F,
                                .beta = types.result == Type::s32 ? 0 : -2.0F};
          spec.problem.order_d = d;
          SCOPED_TRACE(describe(spec.problem));
          expect_right(spec);
        }
}

/// Small integers, whose products and sums every type of results holds exactly, in the memory of a device.
class Integers {
 public:
  /// @param elements  of f32, that stand for those of `type`
  Integers(Device& device, Type type, std::vector<float> elements)
      : device_(&device),
        type_(type),
        values_(std::move(elements)),
        buffer_(device, values_.size() * static_cast<std::size_t>(size_of(type)), "integers") {
    test::upload_as(device, buffer_.data(), type, values_);
  }
  static Integers random(Device& device, Type type, std::size_t count, unsigned seed) {
    std::minstd_rand random(seed);
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(static_cast<int>(random() % 7) - 3);
    return {device, type, std::move(values)};
  }

  void* data() const { return buffer_.data(); }
  Type type() const { return type_; }
  float operator[](std::int64_t i) const { return values_[static_cast<std::size_t>(i)]; }
  std::vector<float> download() const { return test::download_of(*device_, buffer_.data(), type_, values_.size()); }

 private:
  Device* device_;
  Type type_;
  std::vector<float> values_;
  DeviceBuffer buffer_;
};

// Tiles of 8 rows by 64 columns that end anywhere, on lines that begin at whole vectors, and on such as do not.
TEST_P(Library, OddRowsEndAnywhere) {
  std::set<std::string> kernels;
  for (const GemmKind& types : kinds) {
    if (types.type == Type::f32) continue;
    const GemmKind kind(types.type, types.result, Order::row_major, Order::column_major);
    for (const auto& [M, N] : {std::pair(7, 1), {15, 31}, {8, 33}, {71, 63}, {9, 65}, {129, 127}, {1, 129}}) {
      const int K = 64 + M;
      RandomProblem spec = {.problem = {.kind = kind, .M = M, .N = N, .K = K}, .beta = M % 8 == 7 ? 0.0F : -2.0F};
      if (kind.result == Type::s32) spec.beta = 0;
      Problem& p = spec.problem;
      p.lda = p.ldb = 208;
      p.ldc = N + 12;
      p.ldd = M % 16 == 15 ? N + 2 : 144;
      const Plan made = context().plan(resolved(p));
      for (const PlannedWay& way : made.ways()) {
        if (way.packs_a || way.packs_b || way.kernel.find("wgmma") == way.kernel.npos) continue;
        SCOPED_TRACE(fmt::format("{} by {}", describe(p), way.kernel));
        expect_right(spec, {.kernel = way.kernel});
        kernels.insert(way.kernel);
      }
    }
  }
  EXPECT_GE(kernels.size(), 8u) << "each kind has a kernel that stores any rows";
}

TEST_P(Library, BatchesAreProductsOfTheirOwn) {
  constexpr std::int64_t M = 5, N = 24, K = 9, count = 3;
  struct Strides {
    const char* name;
    std::int64_t a, b, ldd, d;
  };
  for (const Type type : {Type::f32, Type::f16})
    for (const auto& [name, stride_a, stride_b, ldd, stride_d] :
         {Strides{"one behind the other", M * K, K * N, N, M * N},
          {"one A for all", 0, K * N, N, M * N},
          {"one B for all, with a gap", M * K + 3, 0, N, M * N + 5},
          {"side by side", M * K, K * N, count * N, N}}) {
      SCOPED_TRACE(fmt::format("{} {}", name_of(type), name));
      const Integers a = Integers::random(device(), type, static_cast<std::size_t>(count * (M * K + 3)), 1),
                     b = Integers::random(device(), type, static_cast<std::size_t>(count * K * N), 2),
                     c = Integers::random(device(), type, static_cast<std::size_t>(M * N), 3),
                     d(device(), type, std::vector<float>(static_cast<std::size_t>(count * (M * N + 5)), 99));
      context().gemm(device().stream(), 2, row_major_view(a.data(), type, M, K).batched(count, stride_a),
                     row_major_view(b.data(), type, K, N).batched(count, stride_b), -1,
                     row_major_view(c.data(), type, M, N),
                     row_major_view(d.data(), type, M, N, ldd).batched(count, stride_d));
      device().synchronize();
      std::vector<float> found = d.download();
      for (std::int64_t product = 0; product < count; ++product)
        for (std::int64_t i = 0; i < M; ++i)
          for (std::int64_t j = 0; j < N; ++j) {
            float sum = 0;
            for (std::int64_t k = 0; k < K; ++k)
              sum += a[product * stride_a + i * K + k] * b[product * stride_b + k * N + j];
            float& result = found[static_cast<std::size_t>(product * stride_d + i * ldd + j)];
            ASSERT_EQ(result, 2 * sum - c[i * N + j]) << product << ": " << i << ", " << j;
            result = 99;
          }
      EXPECT_TRUE(std::all_of(found.begin(), found.end(), [](float value) { return value == 99; })) << "beside them";
    }
}

// As a graph that is replayed does: what was planned and prepared once finds other groups.
TEST_P(Library, GroupsMayEndElsewhereEachTime) {
  if (card_of(device().stream()).compute_capability != 90) GTEST_SKIP() << "kernels of groups are of sm_90a alone";
  constexpr std::int64_t M = 150, N = 16, K = 8, groups = 3;
  const Type type = Type::f16;
  const Integers a = Integers::random(device(), type, M * K, 1),
                 b = Integers::random(device(), type, groups * K * N, 2);
  const DeviceBuffer ends(device(), groups * sizeof(std::int64_t), "ends");
  for (const auto& legal : {std::array<std::int64_t, 3>{0, 150, 150}, {7, 8, 149}, {0, 0, 0}, {65, 65, 130}}) {
    const Integers d(device(), type, std::vector<float>(M * N, 99));
    device().upload(ends.data(), legal.data(), ends.bytes());
    const Product product = product_of_groups(
        2, row_major_view(a.data(), type, M, K), row_major_view(b.data(), type, K, N).batched(groups, K * N), 0, {},
        row_major_view(d.data(), type, M, N), {static_cast<const std::int64_t*>(ends.data()), groups});
    context().run(context().plan(product.problem), device().stream(), product.operands);
    device().synchronize();
    const std::vector<float> found = d.download();
    for (std::int64_t i = 0; i < M; ++i) {
      const std::int64_t group = std::upper_bound(legal.begin(), legal.end(), i) - legal.begin();
      for (std::int64_t j = 0; j < N; ++j) {
        float sum = group < groups ? 0 : 99;
        for (std::int64_t k = 0; k < K && group < groups; ++k) sum += 2 * a[i * K + k] * b[(group * K + k) * N + j];
        ASSERT_EQ(found[static_cast<std::size_t>(i * N + j)], sum) << i << ", " << j << " of group " << group;
      }
    }
  }
}

/// The first A begins where a kernel takes it, and the others do not.
TEST_P(Library, BatchesOfWhichOneMatrixIsAlignedAreCopied) {
  constexpr std::int64_t M = 70, N = 64, K = 64, count = 3, stride = M * K + 1;
  const Integers a = Integers::random(device(), Type::f16, count * stride, 1),
                 b = Integers::random(device(), Type::f16, K * N, 2),
                 d(device(), Type::f16, std::vector<float>(count * M * N, 99));
  const Product product = product_of(1, row_major_view(a.data(), Type::f16, M, K).batched(count, stride),
                                     column_major_view(b.data(), Type::f16, K, N), 0, {},
                                     row_major_view(d.data(), Type::f16, M, N).batched(count, M * N));
  const Plan made = context().plan(product.problem, {.kernel = "wgmma_overlapped_128x64x64_s8_c2x1_e2x64_f16-RC"});
  EXPECT_TRUE(made.way().packs_a);
  EXPECT_FALSE(made.way().packs_b);
  context().run(made, device().stream(), product.operands);
  device().synchronize();
  const std::vector<float> found = d.download();
  for (std::int64_t i = 0; i < count * M; ++i)
    for (std::int64_t j = 0; j < N; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < K; ++k) sum += a[i / M * stride + i % M * K + k] * b[j * K + k];
      ASSERT_EQ(found[static_cast<std::size_t>(i * N + j)], sum) << i << ", " << j;
    }
}

/// D = A * B of s8 as s32, for one or two products of a batch that share A, by each way that there is.
class SumsOfIntegers {
 public:
  SumsOfIntegers(Device& device, const Problem& problem, std::vector<std::int8_t> a, std::vector<std::int8_t> b)
      : device_(device),
        problem_(resolved(problem)),
        a_(std::move(a)),
        b_(std::move(b)),
        A_(device, a_.size(), "A"),
        B_(device, b_.size(), "B"),
        D_(device, static_cast<std::size_t>(elements_of_d()) * sizeof(std::int32_t), "D") {
    device.upload(A_.data(), a_.data(), a_.size());
    device.upload(B_.data(), b_.data(), b_.size());
  }

  void expect_right(Context& context, const GemmOptions& options) const {
    std::vector<std::int32_t> found(static_cast<std::size_t>(elements_of_d()), untouched);
    device_.upload(D_.data(), found.data(), D_.bytes());
    context.run(context.plan(problem_, options), device_.stream(), {.A = A_.data(), .B = B_.data(), .D = D_.data()});
    device_.synchronize();
    device_.download(found.data(), D_.data(), D_.bytes());
    EXPECT_EQ(found, expected()) << options.kernel;
  }

  const Problem& problem() const { return problem_; }
  std::vector<std::int32_t> expected() const {
    const auto place = [&](Matrix matrix, std::int64_t i, std::int64_t j) {
      const MatrixShape x = shape_of(problem_, matrix);
      return static_cast<std::size_t>(x.order == Order::row_major ? i * x.ld + j : j * x.ld + i);
    };
    std::vector<std::int32_t> d(static_cast<std::size_t>(elements_of_d()), untouched);
    const Batch& batch = problem_.batch;
    for (std::int64_t product = 0; product < batch.count; ++product)
      for (std::int64_t i = 0; i < problem_.M; ++i)
        for (std::int64_t j = 0; j < problem_.N; ++j) {
          std::uint32_t sum = 0;  // which wraps around
          for (std::int64_t k = 0; k < problem_.K; ++k)
            sum += static_cast<std::uint32_t>(
                a_[place(Matrix::A, i, k)] *
                b_[static_cast<std::size_t>(product * batch.stride_b) + place(Matrix::B, k, j)]);
          d[static_cast<std::size_t>(product * batch.stride_d) + place(Matrix::D, i, j)] = static_cast<std::int32_t>(
              sum);
        }
    return d;
  }

 private:
  static constexpr std::int32_t untouched = -77;

  std::int64_t elements_of_d() const {
    return (problem_.batch.count - 1) * problem_.batch.stride_d + shape_of(problem_, Matrix::D).extent();
  }

  Device& device_;
  Problem problem_;
  std::vector<std::int8_t> a_, b_;
  DeviceBuffer A_, B_, D_;
};

// Beyond 2^24, where f32 has even numbers alone; with lines that kernels read as they are, and with odd ones.
TEST_P(Library, SumsOfIntegersAreExactInEveryOrderByEveryKernel) {
  constexpr std::int64_t M = 20, N = 36, K = 1072;
  std::mt19937 random(6);
  const auto integers = [&](std::int64_t count) {
    std::vector<std::int8_t> values(static_cast<std::size_t>(count));
    for (std::int8_t& value : values) value = static_cast<std::int8_t>(static_cast<int>(random() % 4) + 124);
    return values;
  };
  std::set<std::string> kernels;
  for (const Order a : orders)
    for (const Order b : orders)
      for (const Order d : orders) {
        const bool aligned = (a == b) == (d == Order::row_major);
        Problem p = {.kind = {Type::s8, Type::s32, a, b}, .M = M, .N = N, .K = K};
        p.order_d = d;
        for (const Matrix matrix : {Matrix::A, Matrix::B, Matrix::D})
          bench::leading_dimension(p, matrix) = shape_of(p, matrix).length() / 16 * 16 + (aligned ? 32 : 35);
        const std::int64_t of_b = shape_of(p, Matrix::B).extent(), of_d = shape_of(p, Matrix::D).extent();
        if (d == Order::row_major) p.batch = {2, 0, of_b + 16, 0, of_d + 12};
        SCOPED_TRACE(describe(p));
        const SumsOfIntegers sums(device(), p, integers(shape_of(p, Matrix::A).extent()), integers(2 * of_b + 16));
        const std::vector<std::int32_t> expected = sums.expected();
        EXPECT_GT(expected[0], 1 << 24);
        EXPECT_TRUE(
            std::any_of(expected.begin(), expected.end(), [](int sum) { return sum > 1 << 24 && sum % 2 != 0; }));
        const Plan made = context().plan(sums.problem());
        for (const PlannedWay& way : made.ways()) {
          sums.expect_right(context(), {.kernel = way.kernel, .packs = PackedOperands{way.packs_a, way.packs_b}});
          EXPECT_FALSE(way.finishes);
          kernels.insert(way.kernel);
        }
      }
  EXPECT_EQ(kernels.size(), 10u);
}

TEST_P(Library, SumsOfIntegersWrapAround) {
  if (GetParam().options.check) GTEST_SKIP() << "so many products take long";
  constexpr std::int64_t K = (1 << 17) + 1;
  Problem p = {.kind = {Type::s8, Type::s32, Order::row_major, Order::column_major}, .M = 1, .N = 1, .K = K};
  const SumsOfIntegers sums(device(), p, std::vector<std::int8_t>(K, -128), std::vector<std::int8_t>(K, -128));
  EXPECT_EQ(sums.expected()[0], std::numeric_limits<std::int32_t>::min() + (1 << 14));
  sums.expect_right(context(), {});
  p.K = 0;
  SumsOfIntegers(device(), p, {1}, {1}).expect_right(context(), {});
}

TEST_P(Library, ProductsMayLieAnywhere) {
  constexpr std::int64_t n = 16;
  std::vector<Integers> matrices;
  for (unsigned i = 0; i < 9; ++i) matrices.push_back(Integers::random(device(), Type::f32, n * n, i));
  std::vector<Operands> products;
  for (std::size_t i = 0; i < 3; ++i)
    products.push_back({.A = matrices[3 * i].data(), .B = matrices[3 * i + 1].data(), .D = matrices[3 * i + 2].data()});
  const Problem p = {.kind = {Type::f32, Type::f32, Order::row_major, Order::column_major}, .M = n, .N = n, .K = n};
  const Plan plan = context().plan(p, {.kernel = "multistage_128x128x32_s3_f32"});
  EXPECT_GT(plan.workspace_bytes(), 0u) << "B is copied";
  context().run(plan, device().stream(), products);
  device().synchronize();
  for (std::size_t i = 0; i < 3; ++i) {
    const std::vector<float> found = matrices[3 * i + 2].download();
    for (std::int64_t row = 0; row < n; ++row)
      for (std::int64_t col = 0; col < n; ++col) {
        float sum = 0;
        for (std::int64_t k = 0; k < n; ++k) sum += matrices[3 * i][row * n + k] * matrices[3 * i + 1][col * n + k];
        ASSERT_EQ(found[static_cast<std::size_t>(row * n + col)], sum) << i;
      }
  }
  // One after the other: the second one reads what the first one has stored.
  std::vector<Operands> chain = {products[0], {.A = products[0].D, .B = products[1].B, .D = products[1].D}};
  context().run(plan, device().stream(), chain);
  device().synchronize();
  const std::vector<float> middle = matrices[2].download(), last = matrices[5].download();
  for (std::int64_t row = 0; row < n; ++row)
    for (std::int64_t col = 0; col < n; ++col) {
      float sum = 0;
      for (std::int64_t k = 0; k < n; ++k)
        sum += middle[static_cast<std::size_t>(row * n + k)] * matrices[4][col * n + k];
      ASSERT_EQ(last[static_cast<std::size_t>(row * n + col)], sum);
    }
  // All are looked at before the first one is computed.
  const std::vector<float> before = matrices[2].download();
  products[0].A = matrices[1].data();
  products[2].B = nullptr;
  EXPECT_THROW(context().run(plan, device().stream(), products), InvalidArgument);
  device().synchronize();
  EXPECT_EQ(matrices[2].download(), before);
}

TEST_P(Library, OperandsMayBePreparedOnce) {
  constexpr std::int64_t M = 40, N = 72, K = 56;
  for (const Order order_d : orders) {
    const Integers a = Integers::random(device(), Type::tf32, M * K, 1),
                   b = Integers::random(device(), Type::tf32, K * N, 2),
                   c(device(), Type::f32, std::vector<float>(M * N, 99));
    Problem p = {.kind = {Type::tf32, Type::f32, order_d, order_d}, .M = M, .N = N, .K = K};
    p.order_d = order_d;
    const Plan plan = context().plan(p, {.prepared = {.a = true, .b = true}});
    // Which of the two is not read along K depends on the order.
    const bool of_b = order_d == Order::row_major;
    const Matrix which = of_b ? Matrix::B : Matrix::A;
    ASSERT_GT(plan.prepared_bytes(which), 0u);
    EXPECT_EQ(plan.prepared_bytes(of_b ? Matrix::A : Matrix::B), 0u);
    const DeviceBuffer copy(device(), plan.prepared_bytes(which), "prepared");
    context().prepare(plan, device().stream(), which, (of_b ? b : a).data(), copy.data());
    Operands o = {.A = a.data(), .B = b.data(), .D = c.data()};
    (of_b ? o.prepared_b : o.prepared_a) = copy.data();
    (of_b ? o.B : o.A) = nullptr;
    for (int run = 0; run < 2; ++run) context().run(plan, device().stream(), o);
    // In a list, too, what is prepared needs no original.
    context().run(plan, device().stream(), std::span<const Operands>(&o, 1));
    device().synchronize();
    const std::vector<float> found = c.download();
    const bool by_rows = order_d == Order::row_major;
    for (std::int64_t i = 0; i < M; ++i)
      for (std::int64_t j = 0; j < N; ++j) {
        float sum = 0;
        for (std::int64_t k = 0; k < K; ++k)
          sum += a[by_rows ? i * K + k : k * M + i] * b[by_rows ? k * N + j : j * K + k];
        ASSERT_EQ(found[static_cast<std::size_t>(by_rows ? i * N + j : j * M + i)], sum) << i << ", " << j;
      }
    (of_b ? o.prepared_b : o.prepared_a) = nullptr;
    EXPECT_THROW(context().run(plan, device().stream(), o), InvalidArgument);
    EXPECT_THROW(context().prepare(plan, device().stream(), of_b ? Matrix::A : Matrix::B, a.data(), copy.data()),
                 InvalidArgument)
        << "which it takes as it is";
    EXPECT_THROW(context().prepare(plan, device().stream(), which, nullptr, copy.data()), InvalidArgument);
  }
}

// A plan for any alpha is run with one of 0 by another plan, for which the workspace was not made.
TEST_P(Library, AnAlphaOfZeroKeepsToThePlansWorkspace) {
  constexpr std::int64_t n = 64;
  for (const GemmKind& types : {GemmKind(Type::f16), GemmKind(Type::f16, Type::f16, orders[0], orders[1]),
                                GemmKind(Type::f32, Type::f32, orders[1], orders[1]), GemmKind(Type::tf32)}) {
    Problem p = {.kind = types, .M = n, .N = n, .K = n, .alpha = Factor::any};
    const Integers a = Integers::random(device(), types.type, n * n, 1),
                   bias = Integers::random(device(), types.result, n, 2),
                   d(device(), types.result, std::vector<float>(n * n, 99));
    for (const Epilogue& epilogue : {Epilogue{}, Epilogue{Bias::of_columns, Activation::gelu_tanh}}) {
      p.epilogue = epilogue;
      const Plan plan = context().plan(p);
      SCOPED_TRACE(plan.id());
      const std::size_t bytes = plan.workspace_bytes();
      const std::vector<unsigned char> before(bytes + 256 * 1024, 0x5a);
      std::vector<unsigned char> after = before;
      const DeviceBuffer workspace(device(), before.size(), "workspace");
      device().upload(workspace.data(), before.data(), before.size());
      Operands o = {.A = a.data(), .B = a.data(), .D = d.data(), .alpha = 0};
      o.bias = bias.data();
      // In a list with one that does read A and B.
      Operands both[] = {o, o};
      both[0].alpha = 1;
      context().run(plan, device().stream(), both, workspace.data());
      device().synchronize();
      const std::vector<float> found = d.download();
      for (std::size_t i = 0; i < found.size(); ++i) {
        const double x = epilogue.bias == Bias::none ? 0 : bias[static_cast<std::int64_t>(i % n)];
        const double expected = x / 2 * (1 + std::tanh(0.7978845608 * (x + 0.044715 * x * x * x)));
        ASSERT_NEAR(found[i], expected, 2e-3) << i;
      }
      device().download(after.data(), workspace.data(), after.size());
      EXPECT_TRUE(std::equal(after.begin() + static_cast<std::ptrdiff_t>(bytes), after.end(), before.begin()))
          << "what is behind the workspace is not its own";
    }
  }
}

// A later product of a batch that breaks a rule is found before the first one is stored.
TEST_P(Library, BatchesAreLookedAtAsAWhole) {
  constexpr std::int64_t n = 4, count = 3, ld = 2 * n * count;
  const Integers all = Integers::random(device(), Type::f32, n * ld, 1),
                 b = Integers::random(device(), Type::f32, 16, 2);
  float* const first = static_cast<float*>(all.data());
  // Lines in which each D lies behind its A: no element is shared.
  const ConstMatrixView A = row_major_view(first, Type::f32, n, n, ld).batched(count, 2 * n),
                        B = row_major_view(b.data(), Type::f32, n, n).batched(count, 0);
  const MatrixView D = row_major_view(first + n, Type::f32, n, n, ld).batched(count, 2 * n);
  const auto gemm = [&](const MatrixView& d, const GemmEpilogue& epilogue = {}) {
    context().gemm(device().stream(), 1, A, B, 0, {}, d, epilogue);
  };
  gemm(D);
  device().synchronize();
  const std::vector<float> before = all.download();
  for (std::int64_t product = 0; product < count; ++product)
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        float sum = 0;
        for (std::int64_t k = 0; k < n; ++k) sum += all[i * ld + product * 2 * n + k] * b[k * n + j];
        ASSERT_EQ(before[static_cast<std::size_t>(i * ld + (2 * product + 1) * n + j)], sum);
      }
  // The D of the first is apart from its own A, but not from that of the last.
  MatrixView other = D;
  other.data = first + 2 * n * (count - 1);
  other.batch_stride = n;
  other.count = 2;
  EXPECT_THROW(context().gemm(device().stream(), 1, A.batched(2, 2 * n * (count - 1)), B.batched(2, 0), 0, {}, other),
               Refusal);
  // A bias in the last D.
  GemmEpilogue epilogue = {.bias = Bias::of_columns, .bias_data = first + (n - 1) * ld + (2 * count - 1) * n};
  EXPECT_THROW(gemm(D, epilogue), Refusal);
  // Each D is its residual; or every one has that of the first.
  epilogue = {.residual = D};
  EXPECT_NO_THROW(gemm(D, epilogue));
  epilogue.residual->batch_stride = 0;
  EXPECT_THROW(gemm(D, epilogue), Refusal);
  device().synchronize();
  std::vector<float> after = all.download();
  for (std::size_t i = 0; i < after.size(); ++i)
    ASSERT_EQ(after[i], (i / n % 2 == 0 ? 1 : 2) * before[i]) << "what is refused leaves all as it was";
}

TEST(BatchOverlap, IsThatOfTheElementsOneByOne) {
  std::mt19937 random(5);
  struct Lattice {
    MatrixShape shape;
    std::int64_t at, count, stride;
  };
  const auto pick = [&](int least, int most) {
    return least + static_cast<std::int64_t>(random() % static_cast<unsigned>(most - least + 1));
  };
  int met = 0;
  for (int round = 0; round < 20000; ++round) {
    const auto lattice = [&] {
      const std::int64_t lines = pick(1, 4), length = pick(1, 4);
      const MatrixShape shape = {Type::f32, lines, length, length + pick(0, 12), Order::row_major};
      return Lattice{shape, pick(0, 40), pick(1, 4), pick(0, 1) ? pick(0, 20) : shape.extent() + pick(0, 3)};
    };
    const Lattice lattices[] = {lattice(), lattice()};
    std::set<std::int64_t> elements[2];
    std::optional<library::BatchBytes> bytes[2];
    for (int which = 0; which < 2; ++which) {
      const auto& [shape, at, count, stride] = lattices[which];
      for (std::int64_t b = 0; b < count; ++b)
        for (std::int64_t i = 0; i < shape.rows; ++i)
          for (std::int64_t j = 0; j < shape.cols; ++j) elements[which].insert(at + b * stride + i * shape.ld + j);
      bytes[which] = library::BatchBytes::of(shape, reinterpret_cast<const void*>(4096 + 4 * at), count, stride);
      ASSERT_TRUE(bytes[which]);
    }
    const bool expected = std::any_of(elements[0].begin(), elements[0].end(),
                                      [&](std::int64_t element) { return elements[1].count(element) > 0; });
    ASSERT_EQ(library::BatchBytes::meet(*bytes[0], *bytes[1]), expected) << round;
    met += expected ? 1 : 0;
  }
  EXPECT_GT(met, 4000);
  EXPECT_LT(met, 16000);
  const MatrixShape large = {Type::f32, 1 << 20, 4, std::int64_t{1} << 39, Order::row_major};
  EXPECT_TRUE(library::BatchBytes::of(large, nullptr, 3, 4));
  EXPECT_FALSE(library::BatchBytes::of(large, nullptr, 3, std::int64_t{1} << 60));
  EXPECT_FALSE(library::BatchBytes::of(large, reinterpret_cast<const void*>(INTPTR_MAX - 4096), 1, 0));
}

TEST(StreamKey, IsOfEachThreadWhereTheHandleIs) {
  int handles[2];
  emulator::Machine* const machine = nullptr;
  const Stream ordinary = {machine, &handles[0]}, other = {machine, &handles[1]},
               own = {machine, reinterpret_cast<void*>(library::stream_per_thread)};
  std::optional<library::StreamKey> of_ordinary, of_own;
  std::thread([&] {
    of_ordinary = library::key_of(ordinary);
    of_own = library::key_of(own);
  }).join();
  EXPECT_EQ(library::key_of(ordinary), *of_ordinary);
  EXPECT_NE(library::key_of(ordinary), library::key_of(other));
  EXPECT_EQ(library::key_of(own), library::key_of(own));
  EXPECT_NE(library::key_of(own), *of_own);
  // Nor is it that of a thread to come, which may have the id of one that has ended.
  for (int later = 0; later < 3; ++later) std::thread([&] { EXPECT_NE(library::key_of(own), *of_own); }).join();
}

/// What may be written is read as it is, whatever type the pointer is of.
TEST(MatrixViews, OfWhatMayBeWrittenAreReadAsTheyAre) {
  static_assert(std::is_aggregate_v<MatrixView> && std::is_aggregate_v<ConstMatrixView>);
  static_assert(std::is_convertible_v<MatrixView, ConstMatrixView>);
  static_assert(!std::is_convertible_v<ConstMatrixView, MatrixView>);
  float values[6] = {};
  const float* const constant = values;
  static_assert(std::is_same_v<decltype(row_major_view(values, Type::f32, 2, 3)), MatrixView>);
  static_assert(std::is_same_v<decltype(column_major_view(constant, Type::f32, 2, 3)), ConstMatrixView>);
  const ConstMatrixView view = row_major_view(values, Type::f32, 2, 3, 5).batched(4, 7);
  EXPECT_EQ(view.data, values);
  EXPECT_EQ(view.rows, 2);
  EXPECT_EQ(view.cols, 3);
  EXPECT_EQ(view.row_stride, 5);
  EXPECT_EQ(view.col_stride, 1);
  EXPECT_EQ(view.count, 4);
  EXPECT_EQ(view.batch_stride, 7);
  float d[4];
  const GemmEpilogue epilogue = {.residual = row_major_view(d, Type::f32, 2, 2)};
  const Product product = product_of(1, row_major_view(values, Type::f32, 2, 3),
                                     row_major_view(constant, Type::f32, 3, 2), 1, row_major_view(d, Type::f32, 2, 2),
                                     row_major_view(d, Type::f32, 2, 2), epilogue);
  EXPECT_TRUE(product.problem.in_place);
  EXPECT_EQ(product.operands.residual, d);
  // Of a single row it makes no difference where a next one would begin.
  const GemmEpilogue beside = {.residual = row_major_view(values, Type::f32, 1, 2, 9)};
  const Problem of_a_row = product_of(1, row_major_view(constant, Type::f32, 1, 3),
                                      row_major_view(constant, Type::f32, 3, 2), 0, {},
                                      row_major_view(d, Type::f32, 1, 2, 5), beside)
                               .problem;
  EXPECT_EQ(of_a_row.ldr, of_a_row.ldd);
}

// Of a B that all share the rows of A and D go on in the next product, or of an A columns: as those of one product,
// side by side in its lines or line after line. They are planned as one, unless something lies between; of products of
// a single line each the next one may begin anywhere.
TEST_P(Library, BatchesThatAreOneProductAreDoneAsOne) {
  constexpr std::int64_t count = 3, K = 72;
  for (const bool rows : {true, false})
    for (const Order order : orders)
      for (const Order order_d : orders)
        for (const auto& [gap, single] : {std::pair(0, false), {8, false}, {0, true}, {8, true}}) {
          const std::int64_t M = rows && single ? 1 : 24, N = !rows && single ? 1 : 40;
          const bool joined = gap == 0 || (single && (order_d == Order::row_major) == rows);
          Problem p = {.kind = {Type::f16, Type::f16, order, order}, .M = M, .N = N, .K = K};
          p.order_d = order_d;
          const std::int64_t length = rows ? M : N;
          // A leading dimension with room for all, and the stride by which the matrix goes on.
          const auto go_on = [&](Matrix matrix) {
            const MatrixShape x = shape_of(p, matrix);
            const bool lines = (x.order == Order::row_major) == rows;
            bench::leading_dimension(p, matrix) = (lines ? x.length() : count * length + 2 * gap) + 16;
            return lines ? length * shape_of(p, matrix).ld : length;
          };
          const Matrix own = rows ? Matrix::A : Matrix::B, shared = rows ? Matrix::B : Matrix::A;
          const std::int64_t stride = go_on(own), stride_d = go_on(Matrix::D) + gap;
          const auto integers = [&](Matrix matrix, std::int64_t batch_stride, unsigned seed) {
            const std::int64_t elements = (count - 1) * batch_stride + shape_of(p, matrix).extent();
            return Integers::random(device(), Type::f16, static_cast<std::size_t>(elements), seed);
          };
          p = resolved(p);
          const Integers x = integers(own, stride, 1), y = integers(shared, 0, 2), d = integers(Matrix::D, stride_d, 3);
          const auto view = [&](auto* data, Matrix matrix, std::int64_t batch_stride) {
            const MatrixShape of = shape_of(p, matrix);
            return (of.order == Order::row_major ? row_major_view(data, of.type, of.rows, of.cols, of.ld)
                                                 : column_major_view(data, of.type, of.rows, of.cols, of.ld))
                .batched(count, batch_stride);
          };
          const Product product = product_of(1, view(rows ? x.data() : y.data(), Matrix::A, rows ? stride : 0),
                                             view(rows ? y.data() : x.data(), Matrix::B, rows ? 0 : stride), 2,
                                             view(d.data(), Matrix::D, stride_d), view(d.data(), Matrix::D, stride_d));
          SCOPED_TRACE(describe(product.problem));
          const Plan plan = context().plan(product.problem);
          EXPECT_EQ(plan.problem().batch.count, joined ? 1 : count);
          EXPECT_EQ((rows ? plan.problem().M : plan.problem().N), joined ? count * length : length);
          context().run(plan, device().stream(), product.operands);
          device().synchronize();
          const auto place = [&](Matrix matrix, std::int64_t i, std::int64_t j) {
            const MatrixShape of = shape_of(p, matrix);
            return of.order == Order::row_major ? i * of.ld + j : j * of.ld + i;
          };
          std::vector<float> expected;
          for (std::size_t i = 0; i < d.download().size(); ++i) expected.push_back(d[static_cast<std::int64_t>(i)]);
          for (std::int64_t n = 0; n < count; ++n)
            for (std::int64_t i = 0; i < M; ++i)
              for (std::int64_t j = 0; j < N; ++j) {
                const std::int64_t at = n * stride_d + place(Matrix::D, i, j);
                float sum = 2 * d[at];
                for (std::int64_t k = 0; k < K; ++k) {
                  const std::int64_t a = place(Matrix::A, i, k), b = place(Matrix::B, k, j);
                  sum += rows ? x[n * stride + a] * y[b] : y[a] * x[n * stride + b];
                }
                expected[static_cast<std::size_t>(at)] = sum;
              }
          EXPECT_EQ(d.download(), expected);
        }
}

// No products may be asked for, by some operand; a D that alone has none was forgotten.
TEST_P(Library, EmptyBatchesAreMeant) {
  const Integers a = Integers::random(device(), Type::f32, 16, 1), d(device(), Type::f32, std::vector<float>(16, 99));
  const ConstMatrixView A = row_major_view(a.data(), Type::f32, 4, 4);
  const MatrixView none = row_major_view(d.data(), Type::f32, 4, 4).batched(0, 16);
  context().gemm(device().stream(), 1, A.batched(0, 16), A, 0, {}, none);
  context().gemm(device().stream(), 1, A, A.batched(0, 16), 0, {}, none);
  EXPECT_THROW(context().gemm(device().stream(), 1, A, A, 0, {}, none), Refusal);
  EXPECT_THROW(context().gemm(device().stream(), 1, A.batched(2, 0), A, 0, {}, none), Refusal);
  EXPECT_EQ(d.download(), std::vector<float>(16, 99));
}

/// Data for which errors add up: products of one sign, of sizes that differ.
TEST_P(Library, ErrorsStayBelowThePlansBound) {
  constexpr std::int64_t side = 24, K = 1500;
  std::mt19937 random(9);
  std::lognormal_distribution<float> spread(0, 2);
  for (const GemmKind& types : kinds) {
    if (types.type == Type::s8) continue;  // exact
    std::vector<float> x(static_cast<std::size_t>(side * K)), y = x;
    for (auto* const values : {&x, &y})
      for (float& value : *values)
        value = with_type(types.type, [&](auto element) {
          return to_float(from_float<decltype(element)>(std::min(spread(random), 400.0F)));
        });
    const Integers a(device(), types.type, x), b(device(), types.type, y),
        d(device(), types.result, std::vector<float>(side * side, 0));
    const float alpha = types.result == Type::f16 ? 0x1p-10F : 0.7F;
    const Product product = product_of(alpha, row_major_view(a.data(), types.type, side, K),
                                       column_major_view(b.data(), types.type, K, side), 0, {},
                                       row_major_view(d.data(), types.result, side, side));
    const Plan plan = context().plan(product.problem);
    context().run(plan, device().stream(), product.operands);
    device().synchronize();
    const std::vector<float> found = d.download();
    const ErrorBound bound = plan.error_bound();
    for (std::int64_t i = 0; i < side; ++i)
      for (std::int64_t j = 0; j < side; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < K; ++k) sum += double{a[i * K + k]} * double{b[j * K + k]};
        const double exact = double{alpha} * sum, result = found[static_cast<std::size_t>(i * side + j)];
        ASSERT_LE(std::abs(result - exact),
                  bound.products * std::abs(exact) + bound.rounding * std::abs(result) + bound.least)
            << to_string(types) << ": " << i << ", " << j;
      }
  }
}

TEST_P(Library, ReadsNothingThatIsMultipliedByZero) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Type type : {Type::f32, Type::f16, Type::bf16}) {
    const Integers bad(device(), type, std::vector<float>(64 * 64, nan)),
        c = Integers::random(device(), type, 64 * 64, 4), d(device(), type, std::vector<float>(64 * 64, nan));
    const auto view = [&](const Integers& x) { return row_major_view(x.data(), type, 64, 64); };
    const auto run = [&](float alpha, const Integers& a, float beta, const Integers& addend) {
      context().gemm(device().stream(), alpha, view(a), view(a), beta, view(addend),
                     row_major_view(d.data(), type, 64, 64));
      device().synchronize();
      return d.download();
    };
    const std::vector<float> scaled = run(0, bad, 2, c);
    for (std::size_t i = 0; i < scaled.size(); ++i) ASSERT_EQ(scaled[i], 2 * c[static_cast<std::int64_t>(i)]);
    for (const float result : run(0, bad, 0, bad)) ASSERT_EQ(result, 0);
    for (const float result : run(1, c, 0, bad)) ASSERT_FALSE(std::isnan(result));
    const ConstMatrixView nowhere = row_major_view(static_cast<const void*>(nullptr), type, 64, 64);
    context().gemm(device().stream(), 0, nowhere, nowhere, 2, view(c), row_major_view(d.data(), type, 64, 64));
    device().synchronize();
    const std::vector<float> found = d.download();
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], 2 * c[static_cast<std::int64_t>(i)]);
    EXPECT_THROW(
        context().gemm(device().stream(), 1, nowhere, nowhere, 2, view(c), row_major_view(d.data(), type, 64, 64)),
        InvalidArgument);
    // So it is of a plan for any alpha, that of prepared operands, too.
    const auto [problem, operands] = product_of(3, view(bad), view(bad), 2, view(c),
                                                row_major_view(d.data(), type, 64, 64));
    for (const GemmOptions& options : {GemmOptions(), {.prepared = {.a = true, .b = true}}}) {
      run(0, bad, 0, bad);
      context().run(context().plan(problem, options), device().stream(),
                    {.C = c.data(), .D = d.data(), .alpha = 0, .beta = 2});
      device().synchronize();
      EXPECT_EQ(d.download(), found);
    }
    // What is multiplied by something else is read: it spoils the results.
    for (const float result : run(1, bad, 0, bad)) ASSERT_TRUE(std::isnan(result));
    for (const float result : run(1, c, 1, bad)) ASSERT_TRUE(std::isnan(result));
  }
}

TEST_P(Library, OfNoProductsAlphaMayBeAnything) {
  constexpr std::int64_t M = 24, N = 40;
  for (const GemmKind& kind : {GemmKind(Type::f32), GemmKind(Type::f16), GemmKind(Type::bf16, Type::f32),
                               GemmKind(Type::tf32, Type::bf16), GemmKind(Type::e4m3, Type::f16)})
    for (const float alpha : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})
      for (const bool on_device : {false, true})
        for (const Activation activation : {Activation::none, Activation::relu}) {
          const Integers c = Integers::random(device(), kind.result, M * N, 4),
                         d(device(), kind.result, std::vector<float>(M * N, 99)), factor(device(), Type::f32, {alpha});
          const ConstMatrixView nothing = row_major_view(static_cast<const void*>(nullptr), kind.type, M, 0);
          const Scalar given = on_device ? Scalar::in_device_memory(static_cast<const float*>(factor.data())) : alpha;
          context().gemm(device().stream(), given, nothing,
                         row_major_view(static_cast<const void*>(nullptr), kind.type, 0, N), 2,
                         row_major_view(c.data(), kind.result, M, N), row_major_view(d.data(), kind.result, M, N),
                         {.activation = activation});
          device().synchronize();
          const std::vector<float> found = d.download();
          for (std::size_t i = 0; i < found.size(); ++i) {
            const float expected = 2 * c[static_cast<std::int64_t>(i)];
            ASSERT_EQ(found[i], activation == Activation::relu ? std::max(0.0f, expected) : expected)
                << to_string(kind) << (on_device ? ", alpha in device memory" : "");
          }
        }
}

TEST_P(Library, ResultsAreTheSameBitByBit) {
  constexpr std::int64_t M = 130, N = 72, K = 200;
  for (const Type type : {Type::f32, Type::f16}) {
    std::mt19937 random(8);
    std::normal_distribution<float> normal;
    std::vector<float> values(static_cast<std::size_t>(std::max(M * K, K * N)));
    for (float& value : values) value = normal(random);
    const Integers a(device(), type, values), b(device(), type, values);
    const auto rows = [&](std::int64_t first, std::int64_t count) {
      const Integers d(device(), type, std::vector<float>(static_cast<std::size_t>(count * N), 7));
      const auto* const from = static_cast<const std::byte*>(a.data()) + first * K * size_of(type);
      context().gemm(device().stream(), 1, row_major_view(from, type, count, K),
                     column_major_view(b.data(), type, K, N), 0, {}, row_major_view(d.data(), type, count, N),
                     {.batch_invariant = true});
      device().synchronize();
      return d.download();
    };
    const std::vector<float> all = rows(0, M);
    EXPECT_EQ(rows(0, M), all);
    for (const auto& [first, count] : {std::pair<std::int64_t, std::int64_t>(0, 1), {129, 1}, {3, 64}, {65, 65}}) {
      const std::vector<float> part = rows(first, count);
      EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + first * N)) << first << ", " << count;
    }
  }
}

// cuBLASLt 13.1.1 drops the last K mod 64 terms of some f16 products on an H100: of more than 11,528 of them, with K /
// 64 divisible by the parts that K is split into, and more parts than terms left. Here those terms count most.
TEST_P(Library, SplitSumsKeepTheirLastTermsAndTheirBits) {
  if (GetParam().options.check) GTEST_SKIP() << "so many products take long";
  constexpr std::int64_t side = 40, parts = KSplit::most, K = 64 * parts * 12;
  // As many multiprocessors as a GPU has, for as many parts.
  const std::unique_ptr<Device> own = GetParam().kind == DeviceKind::emulator ? open_emulator({.multiprocessors = 132})
                                                                              : open_gpu();
  Context context(*own);
  std::mt19937 random(12);
  std::normal_distribution<float> normal;
  for (const GemmKind& types : kinds) {
    if (types.type == Type::bf16 && types.result == Type::bf16) continue;       // holds integers up to 256
    if (types.result == Type::s32) continue;                                    // kernels of s8 are the same
    const std::int64_t last = size_of(types.type) == 1 ? 16 : 8, k = K + last;  // lines for bulk copies
    const auto operand = [&](int large, bool exact) {
      std::vector<float> values(static_cast<std::size_t>(side * k));
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = !exact                                 ? normal(random)
                    : static_cast<std::int64_t>(i) % k < K ? static_cast<float>(random() % 3) - 1.0F
                                                           : static_cast<float>(large);
      return Integers(*own, types.type, values);
    };
    const Integers a = operand(2, true), b = operand(3, true), x = operand(0, false), y = operand(0, false),
                   d(*own, types.result, std::vector<float>(side * side, 0));
    const auto product = [&](const Integers& left, const Integers& right) {
      return product_of(1, row_major_view(left.data(), types.type, side, k),
                        column_major_view(right.data(), types.type, k, side), 0, {},
                        row_major_view(d.data(), types.result, side, side));
    };
    const Problem problem = product(a, b).problem;
    std::set<std::int64_t> shares;
    int in_parts = 0;
    std::vector<std::string> kernels;
    for (const PlannedWay& way : context.plan(problem).ways())
      if (find_kernel(way.kernel).split && !way.packs_a && !way.packs_b) kernels.push_back(way.kernel);
    // Parts are not weighed for so few results.
    if (size_of(types.type) == 2)
      for (const char* const tile : {"64x128x64_s8_e1x72", "128x192x64_s5_e1x40"})
        kernels.push_back(fmt::format("wgmma_batched_{}_{}-f32-RC", tile, name_of(types.type)));
    for (const std::string& name : kernels) {
      const library::LibraryKernel& kernel = *library::library_kernel(find_kernel(name));
      const Plan plan = context.plan(problem, {.kernel = name, .packs = PackedOperands()});
      const PlannedWay& way = plan.way();
      in_parts += way.parts > 1;
      if (way.parts == 1) shares.insert(kernel.work(problem, card_of(own->stream()).multiprocessors).share);
      const auto run = [&](const Integers& left, const Integers& right) {
        context.run(plan, own->stream(), product(left, right).operands);
        own->synchronize();
        return d.download();
      };
      const std::vector<float> found = run(a, b);
      for (std::int64_t i = 0; i < side; ++i)
        for (std::int64_t j = 0; j < side; ++j) {
          double sum = 0;
          for (std::int64_t n = 0; n < k; ++n) sum += double{a[i * k + n]} * double{b[j * k + n]};
          ASSERT_EQ(found[static_cast<std::size_t>(i * side + j)], sum) << way.kernel << ": " << i << ", " << j;
        }
      const std::vector<float> once = run(x, y);
      EXPECT_EQ(run(x, y), once) << way.kernel;
    }
    EXPECT_TRUE(shares.contains(parts)) << to_string(types) << ": K is shared out among "
                                        << fmt::format("{}", fmt::join(shares, ", "));
    if (size_of(types.type) == 2) {
      EXPECT_EQ(in_parts, 2) << to_string(types);
    }
  }
}

TEST_P(Library, PlansAreKeptAndLetGo) {
  const Problem p = {.kind = Type::f32, .M = 32, .N = 32, .K = 32};
  const Plan first = context().plan(p);
  EXPECT_EQ(&context().plan(p).data(), &first.data());
  EXPECT_NE(&context().plan(p, {.batch_invariant = true}).data(), &first.data());
  context().clear();
  EXPECT_NE(&context().plan(p).data(), &first.data());
  EXPECT_EQ(context().plan(p).id(), first.id());
}

TEST_P(Library, LogsEachChoiceOnce) {
  const ScratchFolder folder;
  const std::string file = folder.file("log");
  setenv("LAPIDARY_LOG", file.c_str(), 1);
  Context logging(device());
  unsetenv("LAPIDARY_LOG");
  const Problem p = {.kind = Type::f32, .M = 32, .N = 32, .K = 32};
  const Plan first = logging.plan(p), second = logging.plan(p, {.batch_invariant = true});
  logging.plan(p);
  context().plan(p);
  std::ifstream stream(file);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  EXPECT_EQ(text, fmt::format("{}: {}\n{}: {}\n", first.id(), first.why(), second.id(), second.why()));
}

template <class Gemm>
void Library::expect_threads_right(Gemm&& gemm) {
  constexpr int threads = 4, rounds = 3;
  std::vector<std::thread> running;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < threads; ++t)
    running.emplace_back([&, t] {
      const std::int64_t n = 16 * (t + 1);
      const auto count = static_cast<std::size_t>(n * n);
      std::vector<float> ones(count, 1);
      const DeviceBuffer a(device(), count * 4, "a"), d(device(), count * 4, "d");
      device().upload(a.data(), ones.data(), count * 4);
      for (int round = 0; round < rounds; ++round) {
        const auto view = column_major_view(a.data(), Type::f32, n, n);
        gemm(view, row_major_view(d.data(), Type::f32, n, n));
      }
      device().synchronize();
      device().download(ones.data(), d.data(), count * 4);
      for (const float value : ones) wrong += value == static_cast<float>(n) ? 0 : 1;
    });
  for (std::thread& thread : running) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_P(Library, ThreadsShareAContext) {
  expect_threads_right(
      [&](const ConstMatrixView& x, const MatrixView& d) { context().gemm(device().stream(), 1, x, x, 0, {}, d); });
}

TEST_P(Library, ThreadsShareTheDefaultContext) {
  std::mutex mutex;
  std::set<Context*> used;
  expect_threads_right([&](const ConstMatrixView& x, const MatrixView& d) {
    gemm(device().stream(), 1, x, x, 0, {}, d);
    const std::lock_guard lock(mutex);
    used.insert(&default_context(device().stream()));
  });
  EXPECT_EQ(used.size(), 1u);
}

/// What of a device's memory is taken, of a GPU only roughly: its memory goes by pages, and others may use it.
std::size_t bytes_taken(Device& device) {
  if (emulator::Machine* const machine = device.stream().machine) {
    std::size_t bytes = 0;
    for (const auto& [base, allocation] : machine->memory().allocations()) bytes += allocation.bytes;
    return bytes;
  }
  const DeviceProperties properties = device.properties();
  return properties.memory_bytes - properties.free_bytes;
}

TEST_P(Library, DefaultContextsAreOfOneDeviceEachAndCleared) {
  const auto other = open_emulator();
  EXPECT_NE(&default_context(other->stream()), &default_context(device().stream()));
  for (Device* const on : {&device(), other.get()}) {
    // A and B, which are column-major, are copied to a workspace, on a GPU to one that shows.
    const GemmOptions options = {.kernel = "multistage_128x128x32_s3_f32"};
    const std::int64_t n = on->kind() == DeviceKind::gpu ? 2049 : 65;
    const auto count = static_cast<std::size_t>(n * n);
    const std::size_t copies = 2 * count * sizeof(float), page = on->kind() == DeviceKind::gpu ? 8 << 20 : 0;
    const Stream stream = on->stream();
    const Integers a = Integers::random(*on, Type::f32, count, 1), d = Integers::random(*on, Type::f32, count, 2);
    const auto view = column_major_view(a.data(), Type::f32, n, n);
    const MatrixView to = row_major_view(d.data(), Type::f32, n, n);
    // A first call loads kernels, which stay.
    gemm(stream, 1, view, view, 0, {}, to, {}, options);
    on->synchronize();
    const std::vector<float> first = d.download();
    default_context(stream).clear();
    const std::size_t before = bytes_taken(*on);
    gemm(stream, -1, view, view, 0, {}, to, {}, options);
    on->synchronize();
    EXPECT_GE(bytes_taken(*on) + page, before + copies) << "a workspace is kept";
    const std::vector<float> second = d.download();
    for (std::size_t i = 0; i < first.size(); ++i) ASSERT_EQ(second[i], -first[i]);
    default_context(stream).clear();
    EXPECT_LE(bytes_taken(*on), before + page) << "it is let go of";
  }
}

TEST(Workspaces, MayHoldACThatIsNotRead) {
  const auto device = open_emulator();
  Context context(*device);
  constexpr std::int64_t n = 64;
  const Integers a = Integers::random(*device, Type::f16, n * n, 1), d = Integers::random(*device, Type::f16, n * n, 2);
  const Problem problem = {.kind = {Type::f16, Type::f16},
                           .M = n,
                           .N = n,
                           .K = n,
                           .beta = Factor::any,
                           .aligned = {16, 16, 16, 16},
                           .epilogue = {.activation = Activation::gelu_erf}};
  const Plan made = context.plan(problem);
  ASSERT_GT(made.workspace_bytes(), 0U);
  const DeviceBuffer workspace(*device, made.workspace_bytes(), "workspace");
  const auto run = [&](float beta) {
    context.run(made, device->stream(), {a.data(), a.data(), workspace.data(), d.data(), 1, beta}, workspace.data());
  };
  EXPECT_NO_THROW(run(0));
  EXPECT_THROW(run(1), Refusal);
}

// On the emulated machine any handle stands for a stream.
TEST(Workspaces, AreOfFewStreams) {
  const auto device = open_emulator();
  Context context(*device);
  constexpr std::int64_t n = 65;
  const Integers a = Integers::random(*device, Type::f32, n * n, 1), d = Integers::random(*device, Type::f32, n * n, 2);
  const auto view = column_major_view(a.data(), Type::f32, n, n);
  const std::size_t before = bytes_taken(*device);
  for (std::uintptr_t handle = 1; handle <= 300; ++handle) {
    const Stream stream = {.machine = device->stream().machine, .cuda = reinterpret_cast<void*>(handle << 8)};
    context.gemm(stream, 1, view, view, 0, {}, row_major_view(d.data(), Type::f32, n, n),
                 {.kernel = "multistage_128x128x32_s3_f32"});
  }
  const std::size_t each = context
                               .plan(
                                   product_of(1, view, view, 0, {}, row_major_view(d.data(), Type::f32, n, n)).problem,
                                   {.kernel = "multistage_128x128x32_s3_f32"})
                               .workspace_bytes();
  EXPECT_GT(each, 0U);
  EXPECT_EQ(bytes_taken(*device), before + 64 * each);
  context.clear();
  EXPECT_EQ(bytes_taken(*device), before);
}

#if LAPIDARY_WITH_INSTRUMENTED
TEST(CountingMachine, CountsTheMultiplyAddsOfWholeTiles) {
  const auto device = open_emulator({.count = true});
  emulator::Machine& machine = *device->stream().machine;
  Context context(*device);
  struct Run {
    Type type;
    std::int64_t M, N, K, count;
    const char* kernel;
    std::int64_t rounded_m, rounded_n, rounded_k;  ///< to tiles
  };
  for (const Run& run : {Run{Type::f32, 128, 128, 64, 1, "multistage_128x128x32_s3_f32", 128, 128, 64},
                         Run{Type::f32, 128, 128, 64, 3, "multistage_128x128x32_s3_f32", 128, 128, 64},
                         Run{Type::f32, 130, 127, 33, 1, "multistage_128x128x32_s3_f32", 256, 128, 64},
                         Run{Type::f16, 128, 256, 96, 1, "mma_multistage_128x256x32_s4_f16", 128, 256, 96},
                         Run{Type::f16, 768, 768, 128, 1, "", 768, 768, 128}}) {  // clusters of most tiles
    const auto matrix = [&](std::int64_t rows, std::int64_t cols) {
      return Integers::random(*device, run.type, static_cast<std::size_t>(run.count * rows * cols), 1);
    };
    const auto view = [&](const Integers& x, std::int64_t rows, std::int64_t cols) {
      return row_major_view(x.data(), run.type, rows, cols).batched(run.count, rows * cols);
    };
    const Integers a = matrix(run.M, run.K), b = matrix(run.K, run.N), d = matrix(run.M, run.N);
    machine.clear_report();
    context.gemm(device->stream(), 1, view(a, run.M, run.K), view(b, run.K, run.N), 0, {}, view(d, run.M, run.N),
                 {.kernel = run.kernel});
    const emulator::Counters total = machine.report().total;
    const auto products = static_cast<std::uint64_t>(run.count * run.rounded_m * run.rounded_n * run.rounded_k);
    EXPECT_EQ(total.multiply_adds(), products) << run.kernel;
    EXPECT_EQ(total.fma, run.type == Type::f32 ? products : 0) << run.kernel;
  }
}

// Whether a launch may begin while the one in front of it ends is the plan's to say, of each of two plans by one
// kernel.
TEST(CountingMachine, IsToldWhichLaunchesWait) {
  std::vector<bool> overlap;
  const auto device = open_emulator({.count = true, .sample = [&](const LaunchShape& shape) {
                                       overlap.push_back(shape.overlaps);
                                       return std::vector<emulator::BlockSample>{{.block = 0, .weight = 1}};
                                     }});
  Context context(*device);
  const Integers a = Integers::random(*device, Type::f16, 64 * 64, 1),
                 b = Integers::random(*device, Type::f16, 64 * 64, 2),
                 d = Integers::random(*device, Type::f16, 64 * 64, 3);
  const Plan early = context.plan({.kind = {Type::f16, Type::f16, Order::row_major, Order::column_major},
                                   .M = 64,
                                   .N = 64,
                                   .K = 64,
                                   .aligned = {16, 16, 16, 16}},
                                  {.kernel = "wgmma_waves_64x64x64_s13_e1x64_f16-RC"});
  const Plan waiting = plan_of(early.id() + "-w");
  for (const Plan& plan : {early, waiting, early})
    context.run(plan, device->stream(), {.A = a.data(), .B = b.data(), .D = d.data()});
  EXPECT_EQ(overlap, std::vector({true, false, true}));
}

TEST(CheckedMachine, StopsAProductWhoseOperandIsTooShort) {
  const auto device = open_emulator({.check = true});
  Context context(*device);
  constexpr std::int64_t side = 40;
  const Integers a = Integers::random(*device, Type::f32, side * side, 1),
                 d(*device, Type::f32, std::vector<float>(side * side, 99));
  const DeviceBuffer b(*device, (side * side - 1) * sizeof(float), "weights");
  const auto view = [&](void* data) { return row_major_view(data, Type::f32, side, side); };
  const auto gemm = [&](void* right) {
    context.gemm(device->stream(), 1, view(a.data()), view(right), 0, {}, view(d.data()));
  };
  try {
    gemm(b.data());
    FAIL() << "the last element of B is not there";
  } catch (const KernelFault& fault) {
    EXPECT_EQ(fault.kind(), FaultKind::out_of_bounds);
    EXPECT_NE(std::string(fault.what()).find("of weights, which has 6396"), std::string::npos) << fault.what();
  }
  gemm(a.data());
  double sum = 0;
  for (std::int64_t k = 0; k < side; ++k) sum += a[k] * a[k * side];
  EXPECT_EQ(d.download()[0], sum) << "and goes on";
}
#endif

TEST(DefaultContext, NeedsAGpuWhereThereIsNoMachine) {
  if (gpu_count() > 0) GTEST_SKIP() << "there is a GPU";
  EXPECT_THROW(default_context({}), InvalidArgument);
}

}  // namespace
}  // namespace lapidary
