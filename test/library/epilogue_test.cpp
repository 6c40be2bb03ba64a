// What follows A * B is computed as it is asked for: factors in device memory, biases, activations, scales, residuals
// and clamps, in any combination, type and order, rounded once; on the emulated machine, where every access is checked,
// and on a GPU.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bench/bound.hpp"
#include "bench/receipt.hpp"
#include "core/error.hpp"
#include "lapidary/gemm.hpp"
#include "library/elements.hpp"
#include "library/kernel_cost.hpp"
#include "library/library_target.hpp"

namespace lapidary {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

float rounded(Type type, double value) {
  return with_type(type,
                   [&](auto element) { return to_float(from_float<decltype(element)>(static_cast<float>(value))); });
}

/// A matrix on host and device, in a buffer that ends with its last element and begins `shift` elements before its
/// first one. What is between its lines is NaN.
class HostMatrix {
 public:
  HostMatrix(Device& device, Type type, std::int64_t rows, std::int64_t cols, Order order, std::int64_t gap,
             std::int64_t count = 1, std::int64_t shift = 0)
      : device_(&device),
        type_(type),
        rows_(rows),
        cols_(cols),
        count_(count),
        by_rows_(order == Order::row_major),
        ld_((by_rows_ ? cols : rows) + gap),
        stride_((by_rows_ ? rows : cols) * ld_),
        shift_(shift),
        values_(static_cast<std::size_t>(shift + std::max<std::int64_t>(count * stride_ - gap, 1)), nan),
        buffer_(device, values_.size() * static_cast<std::size_t>(size_of(type)), "matrix") {}

  template <class Value>
  void fill(Value&& value) {
    for (std::int64_t b = 0; b < count_; ++b)
      for (std::int64_t i = 0; i < rows_; ++i)
        for (std::int64_t j = 0; j < cols_; ++j) values_[at(b, i, j)] = rounded(type_, value());
    upload();
  }
  void upload() { test::upload_as(*device_, buffer_.data(), type_, values_); }
  std::vector<float> download() const { return test::download_of(*device_, buffer_.data(), type_, values_.size()); }
  /// Of the first rows, one after the other, as they are stored.
  std::vector<std::uint32_t> bits(std::int64_t rows) const {
    const auto size = static_cast<std::size_t>(size_of(type_));
    std::vector<std::byte> raw(values_.size() * size);
    device_->download(raw.data(), buffer_.data(), raw.size());
    std::vector<std::uint32_t> found(static_cast<std::size_t>(rows * cols_));
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < cols_; ++j)
        std::memcpy(&found[static_cast<std::size_t>(i * cols_ + j)], raw.data() + at(0, i, j) * size, size);
    return found;
  }

  std::size_t at(std::int64_t b, std::int64_t i, std::int64_t j) const {
    return static_cast<std::size_t>(shift_ + b * stride_ + (by_rows_ ? i * ld_ + j : j * ld_ + i));
  }
  double operator()(std::int64_t b, std::int64_t i, std::int64_t j) const { return values_[at(b, i, j)]; }
  MatrixView view() const {
    return {data(), type_, rows_, cols_, by_rows_ ? ld_ : 1, by_rows_ ? 1 : ld_, count_, stride_};
  }
  ConstMatrixView const_view() const {
    const MatrixView x = view();
    return {x.data, x.type, x.rows, x.cols, x.row_stride, x.col_stride, x.count, x.batch_stride};
  }
  void* data() const { return static_cast<std::byte*>(buffer_.data()) + shift_ * size_of(type_); }
  Type type() const { return type_; }

 private:
  Device* device_;
  Type type_;
  std::int64_t rows_, cols_, count_;
  bool by_rows_;
  std::int64_t ld_, stride_, shift_;
  std::vector<float> values_;
  DeviceBuffer buffer_;
};

double activated(Activation activation, double x) {
  switch (activation) {
    case Activation::none: break;
    case Activation::relu: return x < 0 ? 0 : x;
    case Activation::gelu_erf: return x / 2 * std::erfc(-x / std::sqrt(2.0));
    case Activation::gelu_tanh:
      return x / 2 * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
    case Activation::silu: return x / (1 + std::exp(-x));
  }
  return x;
}

/// A product with an epilogue, what it has to be, and how far off it may be.
struct Case {
  std::int64_t M, N, K, count = 1;
  GemmKind kind = {};
  Order order_d = Order::row_major;
  std::int64_t gap = 0, shift = 0;  ///< shift: of bias and residual, whose lines are one element further apart then
  double alpha = 1, beta = 0;
  bool factors_on_device = false, d_is_c = false, d_is_residual = false;
  Epilogue epilogue = {};
  float scale = 1, low = 0, high = 0;

  std::string text() const {
    return fmt::format("{} of {} x {} x {} {}, D {}, gap {}, shift {}, alpha {}, beta {}{}{}{}: {}", count, M, N, K,
                       to_string(kind), order_d == Order::row_major ? "R" : "C", gap, shift, alpha, beta,
                       factors_on_device ? " on the device" : "", d_is_c ? ", D is C" : "",
                       d_is_residual ? ", D is the residual" : "", to_string(epilogue));
  }
};

class Epilogues : public test::LibraryTarget {
 protected:
  void expect_right(const Case& x, std::mt19937& random, const GemmOptions& options = {}) {
    SCOPED_TRACE(x.text());
    std::normal_distribution<double> normal;
    const Type type = x.kind.type, result = x.kind.result;
    const auto number = [&] { return type == Type::s8 ? std::round(20 * normal(random)) : normal(random); };
    HostMatrix a(device(), type, x.M, x.K, x.kind.a, x.gap, x.count),
        b(device(), type, x.K, x.N, x.kind.b, x.gap, x.count), c(device(), result, x.M, x.N, x.order_d, x.gap, x.count),
        d(device(), result, x.M, x.N, x.order_d, x.gap, x.count),
        residual(device(), result, x.M, x.N, x.order_d, x.gap + (x.shift ? 1 : 0), x.count, x.shift),
        bias(device(), result, 1, x.epilogue.bias == Bias::of_rows ? x.M : x.N, Order::row_major, 0, 1, x.shift),
        factors(device(), Type::f32, 1, 2, Order::row_major, 0);
    for (HostMatrix* const input : {&a, &b}) input->fill(number);
    for (HostMatrix* const input : {&c, &residual, &bias}) input->fill([&] { return normal(random); });
    // By the BLAS's rule C is not read where beta is 0.
    if (x.beta == 0) c.fill([] { return nan; });
    if (!x.d_is_c) d.upload();
    HostMatrix& to = x.d_is_c ? c : x.d_is_residual ? residual : d;
    int factor = 0;
    factors.fill([&] { return factor++ == 0 ? x.alpha : x.beta; });
    const auto* const on_device = static_cast<const float*>(factors.data());
    const auto scalar = [&](double value, int place) {
      return x.factors_on_device ? Scalar::in_device_memory(on_device + place) : Scalar(static_cast<float>(value));
    };
    GemmEpilogue epilogue = {.bias = x.epilogue.bias, .activation = x.epilogue.activation};
    if (x.epilogue.bias != Bias::none) epilogue.bias_data = bias.data();
    if (x.epilogue.scale) epilogue.scale = x.scale;
    if (x.epilogue.residual) epilogue.residual = residual.const_view();
    if (x.epilogue.clamp) epilogue.clamp = {x.low, x.high};
    context().gemm(device().stream(), scalar(x.alpha, 0), a.const_view(), b.const_view(), scalar(x.beta, 1),
                   c.const_view(), to.view(), epilogue, options);
    device().synchronize();
    std::vector<float> found = to.download();
    for (std::int64_t product = 0; product < x.count; ++product)
      for (std::int64_t i = 0; i < x.M; ++i)
        for (std::int64_t j = 0; j < x.N; ++j) {
          double sum = 0, square = 0;
          for (std::int64_t k = 0; k < x.K; ++k) {
            const double term = a(product, i, k) * b(product, k, j);
            sum += term;
            square += term * term;
          }
          const double addend = x.beta != 0 ? x.beta * c(product, i, j) : 0;
          const double bias_here = x.epilogue.bias == Bias::none      ? 0
                                   : x.epilogue.bias == Bias::of_rows ? bias(0, 0, i)
                                                                      : bias(0, 0, j);
          const double t = (x.alpha != 0 ? x.alpha * sum : 0) + addend + bias_here;
          const double scale = x.epilogue.scale ? static_cast<double>(x.scale) : 1;
          const double added = x.epilogue.residual ? residual(product, i, j) : 0;
          double expected = scale * activated(x.epilogue.activation, t) + added;
          // Activations are steep 1.13 times at most, and their formulas a few roundings long.
          const double of_sum = bench::error_bound({type, Type::f32}, x.K, x.alpha, square, addend + bias_here, t);
          const double error = std::abs(scale) * 1.2 * (of_sum + 8 * 0x1p-23 * (std::abs(t) + std::abs(bias_here))) +
                               4 * 0x1p-24 * (std::abs(expected) + std::abs(added));
          if (x.epilogue.clamp) expected = std::min<double>(std::max<double>(expected, x.low), x.high);
          const double unit = result == Type::f16 ? 0x1p-11 : result == Type::bf16 ? 0x1p-8 : 0x1p-24;
          const double allowed = error + unit * std::abs(expected) + (result == Type::f16 ? 0x1p-25 : 0);
          float& there = found[to.at(product, i, j)];
          ASSERT_LE(std::abs(static_cast<double>(there) - expected), allowed)
              << product << ": " << i << ", " << j << ": " << there << " instead of " << expected;
          there = nan;
        }
    EXPECT_TRUE(std::all_of(found.begin(), found.end(), [](float value) { return std::isnan(value); }))
        << "something beside D is written";
  }
};
INSTANTIATE_TEST_SUITE_P(On, Epilogues, testing::ValuesIn(test::library_targets()),
                         [](const auto& info) { return info.param.name; });

constexpr Type results[] = {Type::f32, Type::f16, Type::bf16};

TEST_P(Epilogues, RandomOnesAreRight) {
  std::mt19937 random(3);
  const auto pick = [&](auto... values) {
    const std::array list = {values...};
    return list[random() % list.size()];
  };
  const auto order = [&] { return pick(Order::row_major, Order::column_major); };
  const auto one_in = [&](unsigned n) { return random() % n == 0; };
  for (const Type type : operand_types)
    for (const Type result : results)
      for (int i = 0; i < (GetParam().kind == DeviceKind::gpu ? 60 : GetParam().options.check ? 3 : 8); ++i) {
        Case x{.M = pick(1, 5, 32, 33, 64, 130),
               .N = pick(1, 3, 16, 31, 128, 132),
               .K = one_in(8) ? 0 : pick(1, 16, 40, 100)};
        x.kind = {type, result, order(), order()};
        x.order_d = order();
        x.gap = pick(0, 0, 1, 4, 8);
        x.count = one_in(4) ? 3 : 1;
        x.alpha = pick(1.0, -0.5, 2.5, 0.0);
        x.beta = pick(0.0, 0.0, 1.0, -1.5);
        x.factors_on_device = one_in(3);
        x.d_is_c = x.beta != 0 && one_in(2);
        x.epilogue = {
            pick(Bias::none, Bias::of_columns, Bias::of_rows),
            pick(Activation::none, Activation::relu, Activation::gelu_erf, Activation::gelu_tanh, Activation::silu),
            one_in(2), one_in(2), one_in(3)};
        x.d_is_residual = x.epilogue.residual && !x.d_is_c && one_in(2);
        x.scale = pick(0.5f, -2.0f, 0.0f);
        x.low = -1;
        x.high = pick(0.75f, 2.0f);
        expect_right(x, random);
        if (HasFatalFailure()) return;
      }
}

TEST_P(Epilogues, AreRightOfKernelsThatFinish) {
  std::mt19937 random(6);
  const auto pick = [&](auto... values) {
    const std::array list = {values...};
    return list[random() % list.size()];
  };
  const auto one_in = [&](unsigned n) { return random() % n == 0; };
  int kernels = 0;
  for (const library::LibraryKernel& known : library::library_kernels()) {
    if (!known.kernel->finishes) continue;
    if (!known.rung->runs_on(card_of(device().stream()).compute_capability, known.kernel->kind)) continue;
    ++kernels;
    SCOPED_TRACE(known.kernel->id());
    std::vector<Epilogue> epilogues = {
        {.bias = Bias::of_columns}, {.bias = Bias::of_rows}, {.scale = true}, {.residual = true}, {.clamp = true}};
    const std::array activations = {Activation::relu, Activation::gelu_tanh, Activation::silu};
    for (const Activation activation : activations) {
      epilogues.push_back({.activation = activation});
      epilogues.push_back({.bias = Bias::of_columns, .activation = activation});
    }
    for (int i = 0; i < (GetParam().kind == DeviceKind::gpu ? 60 : 3); ++i)
      epilogues.push_back({pick(Bias::none, Bias::of_columns, Bias::of_rows),
                           pick(Activation::none, activations[0], activations[1], activations[2]), one_in(2), one_in(2),
                           true});
    for (const Epilogue& epilogue : epilogues) {
      Case x{.M = pick(1, 63, 131), .N = pick(8, 264, 512), .K = pick(8, 72, 136), .kind = known.kernel->kind};
      x.gap = pick(0, 8, 24);
      x.count = one_in(4) ? 2 : 1;
      x.alpha = pick(1.0, -0.5);
      x.beta = pick(0.0, 0.0, -1.5);
      x.d_is_c = x.beta != 0 && one_in(2);
      x.epilogue = epilogue;
      x.d_is_residual = epilogue.residual && !x.d_is_c && one_in(2);
      x.shift = x.d_is_residual ? 0 : pick(0, 0, 1, 2);
      x.scale = pick(0.5f, -2.0f);
      x.low = -1;
      x.high = pick(0.75f, 2.0f);
      expect_right(x, random, {.kernel = known.kernel->id()});
      if (HasFatalFailure()) return;
    }
  }
  if (card_of(device().stream()).compute_capability == 90) {
    EXPECT_GT(kernels, 0);
  }
}

TEST_P(Epilogues, AreRightOfSumsOfPartsOfK) {
  std::mt19937 random(8);
  const auto pick = [&](auto... values) {
    const std::array list = {values...};
    return list[random() % list.size()];
  };
  const auto one_in = [&](unsigned n) { return random() % n == 0; };
  std::set<int> parts;
  for (const library::LibraryKernel& known : library::library_kernels()) {
    const KernelEntry& kernel = *known.kernel;
    if (!kernel.batches || kernel.kind.result != Type::f32) continue;
    if (!known.rung->runs_on(card_of(device().stream()).compute_capability, kernel.kind)) continue;
    SCOPED_TRACE(known.id);
    for (int i = 0; i < (GetParam().kind == DeviceKind::gpu ? 30 : 2); ++i) {
      Case x{.M = pick(1, 40, 131), .N = pick(4, 72, 264), .K = pick(512, 513, 760, 2112), .kind = kernel.kind};
      x.kind.result = pick(Type::f32, Type::f16, Type::bf16);
      x.order_d = pick(Order::row_major, Order::column_major);
      if (x.order_d == Order::column_major) {
        // The kernel's product is the transposed one.
        const auto other = [](Order order) {
          return order == Order::row_major ? Order::column_major : Order::row_major;
        };
        x.kind = {x.kind.type, x.kind.result, other(kernel.kind.b), other(kernel.kind.a)};
        std::swap(x.M, x.N);
      }
      x.gap = pick(0, 1, 8);
      x.alpha = pick(1.0, -0.5);
      x.beta = pick(0.0, 0.0, -1.5);
      x.factors_on_device = one_in(3);
      x.d_is_c = x.beta != 0 && one_in(2);
      if (one_in(2))
        x.epilogue = {pick(Bias::of_columns, Bias::of_rows), Activation::relu, one_in(2), one_in(2), one_in(2)};
      x.d_is_residual = x.epilogue.residual && !x.d_is_c && one_in(2);
      x.scale = 0.5f;
      x.low = -1;
      x.high = 2;
      const Problem problem = {.kind = x.kind, .M = x.M, .N = x.N, .K = x.K, .order_d = x.order_d};
      parts.insert(plan(problem, "h200", {.kernel = known.id}).way().parts);
      expect_right(x, random, {.kernel = known.id});
      if (HasFatalFailure()) return;
    }
  }
  if (card_of(device().stream()).compute_capability == 90) {
    EXPECT_GE(parts.size(), 3u);
    EXPECT_FALSE(parts.contains(1));
  }
}

TEST_P(Epilogues, EachPartAloneIsRight) {
  std::mt19937 random(4);
  Case x{.M = 65, .N = 140, .K = 72, .kind = {Type::f16, Type::f16, Order::row_major, Order::column_major}};
  std::vector<Epilogue> alone = {
      {.bias = Bias::of_columns}, {.bias = Bias::of_rows}, {.scale = true}, {.residual = true}, {.clamp = true}};
  for (const Activation activation : {Activation::relu, Activation::gelu_erf, Activation::gelu_tanh, Activation::silu})
    alone.push_back({.activation = activation});
  x.scale = 3;
  x.low = -0.5;
  x.high = 8;
  for (const Epilogue& epilogue : alone)
    for (const Order order : {Order::row_major, Order::column_major}) {
      x.epilogue = epilogue;
      x.order_d = order;
      expect_right(x, random);
    }
}

/// Far from 0, where formulas overflow or cancel, and of NaN.
TEST_P(Epilogues, ActivationsAreRightEverywhere) {
  constexpr std::int64_t count = 512;
  for (const Activation activation :
       {Activation::relu, Activation::gelu_erf, Activation::gelu_tanh, Activation::silu}) {
    HostMatrix one(device(), Type::f32, 1, 1, Order::row_major, 0),
        x(device(), Type::f32, 1, count, Order::row_major, 0), d(device(), Type::f32, 1, count, Order::row_major, 0);
    one.fill([] { return 1; });
    int place = 0;
    x.fill([&] {
      const int i = place++;
      return i == 0 ? static_cast<double>(nan) : i == 1 ? 1e30 : i == 2 ? -1e30 : (i - 256) * (i % 2 ? 0.02 : 0.6);
    });
    context().gemm(device().stream(), 1, one.const_view(), x.const_view(), 0, {}, d.view(),
                   GemmEpilogue{.activation = activation});
    device().synchronize();
    const std::vector<float> found = d.download();
    EXPECT_TRUE(std::isnan(found[0]));
    for (std::int64_t i = 1; i < count; ++i) {
      const double at = x(0, 0, i), expected = activated(activation, at);
      // By the tanh's own formula the reference has no relative precision far below 0.
      EXPECT_NEAR(found[static_cast<std::size_t>(i)], expected, 4e-6 * std::abs(expected) + 1e-12) << at;
    }
  }
}

/// The same in the kernel that multiplies, where two neighbours share a reciprocal.
TEST_P(Epilogues, NeighboursDoNotSpoilEachOther) {
  if (card_of(device().stream()).compute_capability != 90) GTEST_SKIP() << "wgmma is of sm_90a alone";
  constexpr std::int64_t count = 520, K = 8;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const Activation activation : {Activation::relu, Activation::gelu_tanh, Activation::silu}) {
    HostMatrix one(device(), Type::f16, 1, K, Order::row_major, 0),
        x(device(), Type::f16, K, count, Order::column_major, 0), d(device(), Type::f16, 1, count, Order::row_major, 0);
    int k = 0, place = 0;
    one.fill([&] { return k++ == 0 ? 1 : 0; });
    x.fill([&] {
      const std::int64_t j = place++;  // all of the first row, then zeros
      constexpr double special[] = {nan, 1, infinity, -3, 60000, -60000, -60000, -60000, nan, -infinity};
      if (j >= count) return 0.0;
      return j < 10 ? special[j] : (static_cast<double>(j) - 260) * (j % 2 ? 0.02 : 0.6);
    });
    context().gemm(device().stream(), 1, one.const_view(), x.const_view(), 0, {}, d.view(),
                   GemmEpilogue{.activation = activation}, {.kernel = "wgmma_fused_128x256x64_s4_c2x1_e2x64_f16-RC"});
    device().synchronize();
    const std::vector<float> found = d.download();
    for (std::int64_t j = 0; j < count; ++j) {
      const double at = x(0, 0, j), expected = activated(activation, at);
      const auto there = static_cast<double>(found[static_cast<std::size_t>(j)]);
      if (std::isnan(at)) {
        EXPECT_TRUE(std::isnan(there)) << j;
      } else if (std::isinf(at)) {
        EXPECT_EQ(there, at > 0 ? at : 0) << j;
      } else {
        EXPECT_NEAR(there, expected, 0x1p-10 * std::abs(expected) + 0x1p-24) << at;
      }
    }
  }
}

/// The first row of a batch-invariant product of so many rows, of which the first one is always the same.
struct OfAnyRows {
  GemmKind kind;
  Order order_a, order_d;
  std::int64_t gap;
  Activation activation;

  std::vector<float> first_row(Device& device, Context& context, std::int64_t M) const {
    constexpr std::int64_t N = 16, K = 80;
    std::mt19937 random(8);
    std::normal_distribution<double> normal;
    std::vector<double> row_of_a(K);
    for (double& value : row_of_a) value = normal(random);
    HostMatrix a(device, kind.type, M, K, order_a, 0), b(device, kind.type, K, N, Order::column_major, 0),
        d(device, kind.result, M, N, order_d, gap);
    b.fill([&] { return normal(random); });
    std::int64_t place = 0;
    a.fill([&] {
      const std::int64_t i = place / K, k = place % K;
      ++place;
      return i == 0 ? row_of_a[static_cast<std::size_t>(k)] : normal(random);
    });
    d.upload();
    context.gemm(device.stream(), 1, a.const_view(), b.const_view(), 0, {}, d.view(),
                 GemmEpilogue{.activation = activation}, {.batch_invariant = true});
    device.synchronize();
    const std::vector<float> all = d.download();
    std::vector<float> row;
    for (std::int64_t j = 0; j < N; ++j) row.push_back(all[d.at(0, 0, j)]);
    return row;
  }
};

/// By batch_invariant a row's results are the same bits whatever other rows there are, column by column too.
TEST_P(Epilogues, RowsDoNotDependOnTheirNeighbours) {
  for (const Type type : {Type::f32, Type::f16})
    for (const Order order : {Order::row_major, Order::column_major})
      for (const Activation activation : {Activation::gelu_tanh, Activation::silu, Activation::gelu_erf}) {
        const OfAnyRows product = {type, Order::row_major, order, 0, activation};
        const std::vector<float> first = product.first_row(device(), context(), 1);
        for (const std::int64_t M : {2, 64})
          EXPECT_EQ(product.first_row(device(), context(), M), first)
              << name_of(type) << ", M = " << M << ", " << static_cast<int>(order);
      }
}

/// Nor does a single row, of whatever order and with whatever gap behind it.
TEST_P(Epilogues, ASingleRowIsAsThatOfMany) {
  for (const GemmKind& kind : {GemmKind(Type::f32), GemmKind(Type::f16), GemmKind(Type::e4m3)})
    for (const Order order_a : {Order::row_major, Order::column_major})
      for (const Order order : {Order::row_major, Order::column_major})
        for (const std::int64_t gap : {0, 7}) {
          const OfAnyRows product = {kind, order_a, order, gap, Activation::none};
          EXPECT_EQ(product.first_row(device(), context(), 1), product.first_row(device(), context(), 63))
              << to_string(kind) << ", A " << static_cast<int>(order_a) << ", D " << static_cast<int>(order) << ", gap "
              << gap;
        }
}

/// What batch_invariant rests on: which kernel adds up in an order, with which copies, and whether a second launch
/// makes results of its sums, changes no bit; nor of zeros with a sign, of infinities and of NaN. With
/// LAPIDARY_SAME_BITS=FILE it writes how many ways gave the same, on a GPU.
TEST_P(Epilogues, KernelsThatAddUpInOneOrderGiveTheSameBits) {
  const bool on_gpu = GetParam().kind == DeviceKind::gpu;
  if (GetParam().options.check) GTEST_SKIP() << "what they access is checked elsewhere";
  const auto [M, N, K] = on_gpu ? std::array<std::int64_t, 3>{300, 272, 2000} : std::array<std::int64_t, 3>{40, 48, 72};
  struct Form {
    GemmKind kind;
    Order order_d = Order::row_major;
    std::int64_t gap = 0;
    float alpha = 1, beta = 0;
    GemmEpilogue epilogue = {};
  };
  constexpr Order row = Order::row_major, column = Order::column_major;
  const GemmEpilogue bias = {.bias = Bias::of_columns, .activation = Activation::gelu_tanh},
                     more = {.activation = Activation::silu, .scale = 0.3F, .clamp = std::pair(-1.0F, 9.0F)};
  std::vector<Form> forms;
  for (const GemmKind& t : {GemmKind(Type::f32), GemmKind(Type::f16, Type::f16), GemmKind(Type::bf16, Type::f32),
                            GemmKind(Type::bf16, Type::bf16), GemmKind(Type::tf32), GemmKind(Type::e4m3),
                            GemmKind(Type::e4m3, Type::bf16), GemmKind(Type::s8), GemmKind(Type::s8, Type::s32)})
    for (const Order a : {row, column})
      for (const Order b : {row, column}) {
        const GemmKind kind(t.type, t.result, a, b);
        if (!on_gpu && (a != row || b != column)) continue;
        forms.push_back({.kind = kind});
        if (t.result == Type::s32) continue;
        forms.push_back({.kind = kind, .gap = 1, .alpha = -0.4F});
        forms.push_back({.kind = kind, .gap = 1, .alpha = 1.5F, .beta = 0.75F});
        forms.push_back({.kind = kind, .gap = 1, .alpha = 1.5F, .beta = 0.75F, .epilogue = more});
        forms.push_back({.kind = kind, .order_d = column, .alpha = -0.4F, .epilogue = bias});
        forms.push_back({.kind = kind, .alpha = 1.5F, .beta = 0.75F});
      }
  const char* const record = on_gpu ? std::getenv("LAPIDARY_SAME_BITS") : nullptr;
  nlohmann::ordered_json records = nlohmann::ordered_json::array();
  int alike = 0, seen = 0;
  for (const Form& form : forms) {
    const Type type = form.kind.type, result = form.kind.result;
    HostMatrix a(device(), type, M, K, form.kind.a, form.gap), b(device(), type, K, N, form.kind.b, form.gap),
        c(device(), result, M, N, form.order_d, form.gap), bias_of_all(device(), result, 1, N, row, 0);
    std::mt19937 random(7);
    std::normal_distribution<double> normal;
    std::int64_t place = 0;
    a.fill([&] {
      const std::int64_t i = place / K, k = place % K;
      ++place;
      // Sums of many of these are no f32.
      if (type == Type::s8) return i == 0 ? 0.0 : 127.0 - static_cast<double>(random() % 9);
      // Products with B, which is negative, are all -0 in the first row.
      if (i < 2) return i == 0 || k % 2 == 0 ? 0.0 : -0.0;
      if (type != Type::e4m3 && i == 2 && k == 5) return HUGE_VAL;
      return i == 3 && k == 7 ? std::nan("") : normal(random);
    });
    b.fill([&] { return type == Type::s8 ? 127.0 - static_cast<double>(random() % 9) : -std::abs(normal(random)); });
    for (HostMatrix* const input : {&c, &bias_of_all}) input->fill([&] { return normal(random); });
    GemmEpilogue epilogue = form.epilogue;
    if (epilogue.bias != Bias::none) epilogue.bias_data = bias_of_all.data();
    const auto d_of = [&](const GemmOptions& options, bool turned = false) {
      HostMatrix d(device(), result, M, N, turned != (form.order_d == row) ? row : column, form.gap);
      d.upload();
      const Product product = product_of(form.alpha, a.const_view(), b.const_view(), form.beta,
                                         form.beta == 0 ? ConstMatrixView{} : c.const_view(), d.view(), epilogue);
      const Plan made = context().plan(product.problem, options);
      context().run(made, device().stream(), product.operands);
      device().synchronize();
      return std::pair(d.bits(M), made);
    };
    const Plan free = d_of({}).second;
    // Of e4m3 results are in the order that kernels store which add up in another one.
    if (form.beta == 0 && type != Type::e4m3) {
      const auto [one, of_one] = d_of({.batch_invariant = true});
      const auto [other, of_other] = d_of({.batch_invariant = true}, true);
      EXPECT_EQ(one, other) << of_one.id() << " and " << of_other.id();
    }
    using Bits = std::vector<std::uint32_t>;
    std::map<library::SumOrder, std::pair<Bits, std::string>> first;
    std::map<library::SumOrder, int> ways;
    std::map<Bits, int> others;  // of kernels whose order depends on how many results there are
    for (const PlannedWay& way : context().plan(free.problem()).ways()) {
      const library::SumOrder order = library::library_kernel(find_kernel(way.kernel))->sum_order();
      const bool depends = order == library::SumOrder::depends || way.parts > 1;
      if (depends && !record) continue;
      // On the CPU another part of them of each form.
      constexpr int of_all = 5;
      if (!on_gpu && ++seen % of_all != 0) continue;
      const auto [found, made] = d_of({.kernel = way.kernel, .packs = PackedOperands{way.packs_a, way.packs_b}});
      EXPECT_EQ(made.way().kernel, way.kernel);
      EXPECT_EQ(made.way().finishes, way.finishes);
      if (depends) {
        ++others[found];
        continue;
      }
      const auto& [expected, other] = first.try_emplace(order, found, made.id()).first->second;
      ++ways[order];
      ++alike;
      EXPECT_EQ(found, expected) << made.id() << " and " << other;
    }
    int of_others = 0;
    for (const auto& [bits, kernels] : others) of_others += kernels;
    nlohmann::ordered_json orders = nlohmann::ordered_json::array();
    for (const auto& [order, kernels] : ways) {
      const auto as_well = others.find(first.at(order).first);
      orders.push_back({{"ways", kernels}, {"of_others", as_well == others.end() ? 0 : as_well->second}});
    }
    records.push_back({{"kind", to_string(form.kind)},
                       {"follows", to_string(free.problem().epilogue)},
                       {"beta", form.beta},
                       {"gap", form.gap},
                       {"orders", orders},
                       {"others", of_others}});
  }
  EXPECT_GT(alike, on_gpu ? 3000 : 120);
  if (!record || HasFailure()) return;
  const nlohmann::ordered_json document = {
      {"receipt", bench::machine_receipt(device())}, {"m", M}, {"n", N}, {"k", K}, {"forms", records}};
  std::ofstream(record) << document.dump(1) << '\n';
}

/// Rows of a random product, computed with others and with fewer of them, from an A that begins at any row, are the
/// same bit by bit by batch_invariant.
TEST_P(Epilogues, RowsOfRandomProductsAreTheSameForAnyM) {
  if (GetParam().options.check) GTEST_SKIP() << "what kernels access is checked elsewhere";
  const bool on_gpu = GetParam().kind == DeviceKind::gpu;
  const std::int64_t M = on_gpu ? 700 : 70;
  std::mt19937 random(31);
  std::normal_distribution<double> normal;
  const auto pick = [&](auto... values) {
    const std::array list = {values...};
    return list[random() % list.size()];
  };
  constexpr Order row = Order::row_major, column = Order::column_major;
  std::set<std::string> kernels;
  int differing = 0;
  for (int i = 0; i < (on_gpu ? 600 : 60); ++i) {
    const GemmKind types = pick(GemmKind(Type::f32), GemmKind(Type::f16, Type::f16), GemmKind(Type::bf16, Type::f32),
                                GemmKind(Type::bf16, Type::bf16), GemmKind(Type::tf32), GemmKind(Type::e4m3),
                                GemmKind(Type::e4m3, Type::bf16), GemmKind(Type::s8));
    const GemmKind kind(types.type, types.result, pick(row, column), pick(row, column));
    const Order order_d = pick(row, column);
    const std::int64_t N = pick(1, 8, 24, 65, 129, 256), K = pick(1, 16, 80, 200, 515, on_gpu ? 3000 : 96),
                       gap = pick(0, 1, 8);
    const float alpha = pick(1.0F, -0.4F), beta = pick(0.0F, 0.75F);
    HostMatrix a(device(), kind.type, M, K, kind.a, gap), b(device(), kind.type, K, N, kind.b, gap),
        c(device(), kind.result, M, N, order_d, gap), bias(device(), kind.result, 1, N, row, 0);
    const double scale = kind.type == Type::s8 ? 20 : 1;
    std::int64_t place = 0;
    // Every fifth row of A is of zeros.
    a.fill([&] { return place++ / K % 5 == 0 ? 0 : scale * normal(random); });
    b.fill([&] { return -scale * std::abs(normal(random)); });
    for (HostMatrix* const input : {&c, &bias}) input->fill([&] { return normal(random); });
    const GemmEpilogue followed = {.bias = Bias::of_columns, .bias_data = bias.data(), .activation = Activation::silu};
    const GemmEpilogue epilogue = pick(0, 0, 1) == 1 ? followed : GemmEpilogue();
    const auto from = [](const HostMatrix& x, std::int64_t first, std::int64_t count) {
      ConstMatrixView part = x.const_view();
      part.data = static_cast<const std::byte*>(part.data) + first * part.row_stride * size_of(part.type);
      part.rows = count;
      return part;
    };
    const auto rows = [&](std::int64_t first, std::int64_t count) {
      HostMatrix d(device(), kind.result, M, N, order_d, gap);
      d.upload();
      MatrixView to = d.view();
      to.rows = count;
      const Product product = product_of(alpha, from(a, first, count), b.const_view(), beta,
                                         beta == 0 ? ConstMatrixView{} : from(c, first, count), to, epilogue);
      const Plan made = context().plan(product.problem, {.batch_invariant = true});
      context().run(made, device().stream(), product.operands);
      device().synchronize();
      return std::pair(d.bits(count), made);
    };
    const auto [whole, of_all] = rows(0, M);
    kernels.insert(of_all.way().kernel);
    for (const auto& [first, count] : {std::pair<std::int64_t, std::int64_t>(0, 1), {5, 2}, {M - 33, 33}, {3, 64}}) {
      const auto [part, of_part] = rows(first, count);
      kernels.insert(of_part.way().kernel);
      differing += of_part.way().kernel != of_all.way().kernel;
      EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + first * N))
          << first << ", " << count << ": " << of_part.id() << " and " << of_all.id();
    }
  }
  EXPECT_GT(differing, on_gpu ? 300 : 20) << "they are the same by other kernels";
  EXPECT_GT(kernels.size(), 10u);
}

TEST_P(Epilogues, ResultsAreRoundedOnce) {
  // 1 + 2^-11 lies between two numbers of f16. What is rounded to it before 2^-12 is added never gets there.
  HostMatrix a(device(), Type::f16, 1, 2, Order::row_major, 0), b(device(), Type::f16, 2, 1, Order::column_major, 0),
      d(device(), Type::f16, 1, 1, Order::row_major, 0), bias(device(), Type::f16, 1, 1, Order::row_major, 0);
  int place = 0;
  a.fill([&] { return place++ == 0 ? 1 : 0x1p-11; });
  b.fill([] { return 1; });
  bias.fill([] { return 0x1p-12; });
  context().gemm(device().stream(), 1, a.const_view(), b.const_view(), 0, {}, d.view(),
                 GemmEpilogue{.bias = Bias::of_columns, .bias_data = bias.data()});
  device().synchronize();
  EXPECT_EQ(d.download()[0], 1 + 0x1p-10f);
}

TEST_P(Epilogues, NothingCountsThatAFactorOfZeroOnTheDeviceMultiplies) {
  std::mt19937 random(5);
  Case x{.M = 20, .N = 36, .K = 8, .kind = {Type::f16, Type::f16}};
  x.factors_on_device = true;
  for (const auto& [alpha, beta] : {std::pair(0.0, 1.0), {1.0, 0.0}, {0.0, 0.0}}) {
    x.alpha = alpha;
    x.beta = beta;
    expect_right(x, random);
  }
  HostMatrix bad(device(), Type::f32, 8, 8, Order::row_major, 0), d(device(), Type::f32, 8, 8, Order::row_major, 0),
      zero(device(), Type::f32, 1, 1, Order::row_major, 0);
  bad.fill([] { return nan; });
  zero.fill([] { return 0; });
  const Scalar at = Scalar::in_device_memory(static_cast<const float*>(zero.data()));
  context().gemm(device().stream(), at, bad.const_view(), bad.const_view(), at, bad.const_view(), d.view());
  device().synchronize();
  for (const float result : d.download()) EXPECT_EQ(result, 0);
}

TEST_P(Epilogues, ArePartOfAPlansId) {
  Problem p = {.kind = {Type::e4m3, Type::f16, Order::row_major, Order::column_major}, .M = 64, .N = 48, .K = 32};
  p.epilogue = {Bias::of_columns, Activation::gelu_tanh, false, true, false};
  p.ldr = 50;
  p.batch = {2, 2048, 1536, 0, 3072, 3200};
  const Plan made = context().plan(p);
  EXPECT_TRUE(made.way().finishes);
  EXPECT_NE(made.id().find(".ebias_of_columns-gelu_tanh-residual."), std::string::npos) << made.id();
  const Plan again = plan_of(made.id());
  EXPECT_EQ(again.problem(), made.problem());
  EXPECT_EQ(again.workspace_bytes(), made.workspace_bytes());
  EXPECT_GE(made.workspace_bytes(), 64u * 48 * 4) << "sums in f32";
  // Results of f32 that nothing else is read for are made where they are.
  const Plan in_place = context().plan({.M = 64, .N = 48, .K = 32, .epilogue = {.activation = Activation::relu}});
  EXPECT_TRUE(in_place.way().finishes);
  EXPECT_EQ(in_place.workspace_bytes(), 0u);
}

TEST(EpilogueText, IsReadAsItIsWritten) {
  EXPECT_THROW(parse_epilogue("gelu"), InvalidArgument);
  EXPECT_THROW(parse_epilogue("relu-bias_of_rows"), InvalidArgument) << "in another order";
  for (const char* const text : {"none", "bias_of_rows-silu-scale-residual-clamp", "clamp"})
    EXPECT_EQ(to_string(parse_epilogue(text)), text);
}

}  // namespace
}  // namespace lapidary
