// gemm() computes right results, and touches nothing else, for random problems of every type, in every order, at any
// alignment, in batches; on the emulated machine, where every access is checked, and on a GPU.
#include "lapidary/gemm.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/run.hpp"
#include "core/error.hpp"
#include "library/elements.hpp"
#include "library/library_target.hpp"
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
        return x.order == Order::row_major ? row_major_view(data, x.type, x.rows, x.cols, x.ld)
                                           : column_major_view(data, x.type, x.rows, x.cols, x.ld);
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

  std::mutex memory_;  ///< of the device, which is no thread's alone
};
INSTANTIATE_TEST_SUITE_P(On, Library, testing::ValuesIn(test::library_targets()),
                         [](const auto& info) { return info.param.name; });

constexpr Order orders[] = {Order::row_major, Order::column_major};

std::string describe(const Problem& p) {
  const auto letter = [](Order order) { return order == Order::row_major ? 'R' : 'C'; };
  return fmt::format("{} {}x{}x{} {}{}{} ld {} {} {} {}", to_string(p.kind), p.M, p.N, p.K, letter(p.kind.a),
                     letter(p.kind.b), letter(p.order_d), p.lda, p.ldb, p.ldc, p.ldd);
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
  p.in_place = spec.beta != 0 && random() % 3 == 0;
  if (p.in_place) p.ldd = p.ldc;
  spec.seed = random();
  return spec;
}

const GemmKind kinds[] = {{Type::f32, Type::f32},   {Type::f16, Type::f16},  {Type::f16, Type::f32},
                          {Type::bf16, Type::bf16}, {Type::bf16, Type::f32}, {Type::tf32, Type::f32},
                          {Type::e4m3, Type::f32},  {Type::s8, Type::f32}};

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

TEST_P(Library, EveryOrderOfEveryTypeIsRight) {
  for (const GemmKind& types : kinds)
    for (const Order a : orders)
      for (const Order b : orders)
        for (const Order d : orders) {
          RandomProblem spec = {.problem = {.kind = {types.type, types.result, a, b}, .M = 144, .N = 80, .K = 48},
                                .alpha = 0.5F,
                                .beta = -2};
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
      context().gemm(device().stream(), 2, row_major_view<const void>(a.data(), type, M, K).batched(count, stride_a),
                     row_major_view<const void>(b.data(), type, K, N).batched(count, stride_b), -1,
                     row_major_view<const void>(c.data(), type, M, N),
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

TEST_P(Library, ProductsMayLieAnywhere) {
  constexpr std::int64_t n = 16;
  std::vector<Integers> matrices;
  for (unsigned i = 0; i < 9; ++i) matrices.push_back(Integers::random(device(), Type::f32, n * n, i));
  std::vector<Operands> products;
  for (std::size_t i = 0; i < 3; ++i)
    products.push_back({.A = matrices[3 * i].data(), .B = matrices[3 * i + 1].data(), .D = matrices[3 * i + 2].data()});
  const Problem p = {.kind = {Type::f32, Type::f32, Order::row_major, Order::column_major}, .M = n, .N = n, .K = n};
  const Plan plan = context().plan(p);
  EXPECT_GT(plan.workspace_bytes(), 0u);
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
    const Product product = product_of(alpha, row_major_view<const void>(a.data(), types.type, side, K),
                                       column_major_view<const void>(b.data(), types.type, K, side), 0, {},
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
    const auto view = [&](const Integers& x) { return row_major_view<const void>(x.data(), type, 64, 64); };
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
    // What is multiplied by something else is read: it spoils the results.
    for (const float result : run(1, bad, 0, bad)) ASSERT_TRUE(std::isnan(result));
    for (const float result : run(1, c, 1, bad)) ASSERT_TRUE(std::isnan(result));
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
      context().gemm(device().stream(), 1, row_major_view<const void>(from, type, count, K),
                     column_major_view<const void>(b.data(), type, K, N), 0, {},
                     row_major_view(d.data(), type, count, N), {.batch_invariant = true});
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

TEST_P(Library, ThreadsShareAContext) {
  constexpr int threads = 4, rounds = 3;
  std::vector<std::thread> running;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < threads; ++t)
    running.emplace_back([&, t] {
      const std::int64_t n = 16 * (t + 1);
      const auto count = static_cast<std::size_t>(n * n);
      std::vector<float> ones(count, 1);
      std::unique_ptr<DeviceBuffer> a, d;
      {
        const std::lock_guard lock(memory_);
        a = std::make_unique<DeviceBuffer>(device(), count * 4, "a");
        d = std::make_unique<DeviceBuffer>(device(), count * 4, "d");
        device().upload(a->data(), ones.data(), count * 4);
      }
      for (int round = 0; round < rounds; ++round) {
        const auto view = column_major_view<const void>(a->data(), Type::f32, n, n);
        context().gemm(device().stream(), 1, view, view, 0, {}, row_major_view(d->data(), Type::f32, n, n));
      }
      const std::lock_guard lock(memory_);
      device().synchronize();
      device().download(ones.data(), d->data(), count * 4);
      for (const float value : ones) wrong += value == static_cast<float>(n) ? 0 : 1;
    });
  for (std::thread& thread : running) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace lapidary
