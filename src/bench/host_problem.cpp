#include "bench/host_problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>
#include <utility>

#include "core/batch.hpp"
#include "core/error.hpp"
#include "kernels/registry.hpp"

namespace lapidary::bench {
namespace {

/// Quiet NaNs with a payload that arithmetic does not produce: its NaNs are 0x7fffffff and 0x7fff on a GPU, and the
/// default NaN or an operand's on a CPU.
template <class T>
constexpr T poison{};
template <>
constexpr float poison<float> = std::bit_cast<float>(0x7fc0dead);
template <>
constexpr f16 poison<f16> = {0x7ead};
template <>
constexpr bf16 poison<bf16> = {0x7fed};
template <>
constexpr tf32 poison<tf32> = {0x7fc0dead};
template <>
constexpr e4m3 poison<e4m3> = {0xff};
template <>
constexpr std::int8_t poison<std::int8_t> = -128;  // no NaN, but further from 0 than the data
template <>
constexpr std::int32_t poison<std::int32_t> = 0x7fc0dead;  // likewise

/// The output function of SplitMix64: G. L. Steele, D. Lea, C. H. Flood, "Fast Splittable Pseudorandom Number
/// Generators", OOPSLA 2014. Applied to a counter it makes a generator that can start anywhere.
constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
constexpr std::uint64_t golden_gamma = 0x9e3779b97f4a7c15u;

/// Two independent normal random numbers, number `counter` of a sequence (G. E. P. Box, M. E. Muller, 1958). Unlike
/// std::normal_distribution, whose algorithm each standard library chooses for itself, it gives the same numbers
/// everywhere, but for the last bit of the logarithm or the cosine, which rounding to an element type all but always
/// hides.
std::pair<double, double> normal_pair(std::uint64_t sequence, std::uint64_t counter) {
  const std::uint64_t first = mix(sequence + (2 * counter + 1) * golden_gamma);
  const std::uint64_t second = mix(sequence + (2 * counter + 2) * golden_gamma);
  const double radius = std::sqrt(-2 * std::log((static_cast<double>(first >> 11) + 1) * 0x1p-53));  // of (0, 1]
  const double angle = 2 * std::numbers::pi * static_cast<double>(second >> 11) * 0x1p-53;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

template <class T>
void fill_row(T* row, std::int64_t stride, std::int64_t first_element, std::int64_t cols, std::uint64_t sequence) {
  // Elements are numbered in rows without gaps; numbers 2c and 2c + 1 are pair c, and a row may begin within a pair.
  for (std::int64_t j = 0; j < cols;) {
    const std::uint64_t element = static_cast<std::uint64_t>(first_element + j);
    const auto [even, odd] = normal_pair(sequence, element / 2);
    if (element % 2 == 0) row[j++ * stride] = from_float<T>(spread<T> * static_cast<float>(even));
    if (j < cols) row[j++ * stride] = from_float<T>(spread<T> * static_cast<float>(odd));
  }
}

void fill_normal(HostMatrix& matrix, std::uint64_t sequence, const OnProgress& progress) {
  const std::int64_t rows = matrix.extent() == 0 ? 0 : matrix.rows();
  std::atomic<std::int64_t> done = 0;
  // Rows may be short: a task takes as many as make up some thousand elements.
  const std::int64_t rows_per_task = 1 + 16384 / (1 + matrix.cols());
  parallel_for((rows + rows_per_task - 1) / rows_per_task, [&](std::int64_t task) {
    const std::int64_t end = std::min(rows, (task + 1) * rows_per_task);
    for (std::int64_t i = task * rows_per_task; i < end; ++i) {
      with_type(matrix.type(), [&](auto element) {
        fill_row(matrix.as<decltype(element)>() + i * matrix.row_stride(), matrix.col_stride(), i * matrix.cols(),
                 matrix.cols(), sequence);
      });
    }
    done += end - task * rows_per_task;
    if (progress) progress("random data", static_cast<double>(done) / static_cast<double>(rows));
  });
}

}  // namespace

std::int64_t Displacement::operator[](Matrix matrix) const {
  switch (matrix) {
    case Matrix::A: return A;
    case Matrix::B: return B;
    case Matrix::C: return C;
    case Matrix::D: break;
  }
  return D;
}

std::int64_t& leading_dimension(Problem& problem, Matrix matrix) {
  switch (matrix) {
    case Matrix::A: return problem.lda;
    case Matrix::B: return problem.ldb;
    case Matrix::C: return problem.ldc;
    case Matrix::D: break;
  }
  return problem.ldd;
}

RandomProblem in_groups(RandomProblem spec, int groups, bool at_random) {
  Problem& p = spec.problem;
  p.groups = groups;
  p.batch.stride_b = one_after_another(p, groups).stride_b;
  spec.group_ends.clear();
  for (int i = 1; i <= groups; ++i) {
    const std::uint64_t random = mix(mix(spec.seed) + static_cast<std::uint64_t>(i));
    const std::int64_t end = at_random && i < groups
                                 ? static_cast<std::int64_t>(random %
                                                             static_cast<std::uint64_t>(std::max<std::int64_t>(p.M, 1)))
                                 : p.M / groups * i + p.M % groups * i / groups;
    spec.group_ends.push_back(end);
  }
  std::sort(spec.group_ends.begin(), spec.group_ends.end());
  return spec;
}

std::vector<std::int64_t> legal_ends(const RandomProblem& spec) {
  std::vector<std::int64_t> ends;
  for (const std::int64_t end : spec.group_ends)
    ends.push_back(std::clamp<std::int64_t>(end, ends.empty() ? 0 : ends.back(), spec.problem.M));
  return ends;
}

RandomProblem resolve(RandomProblem spec) {
  Problem& p = spec.problem;
  // Before the others: of a problem in place, resolved() would take a missing ldc from ldd as well.
  if (p.ldc == 0) p.ldc = shape_of(p, Matrix::C).length();
  p = resolved(p);
  p.alpha = factor_of(spec.alpha);
  p.beta = factor_of(spec.beta);
  if (p.in_place) spec.displacement.D = spec.displacement.C;
  constexpr std::int64_t most = 1 << 20;
  const auto aligned = [&](Matrix matrix) {
    const std::int64_t elements = spec.displacement[matrix];
    if (elements < 0 || elements > most)
      throw InvalidArgument(
          fmt::format("the displacement of {} is {} elements; legal are 0 to {}", name_of(matrix), elements, most));
    const auto bytes = static_cast<unsigned>(elements * size_of(shape_of(p, matrix).type)) | 256u;
    return static_cast<int>(bytes & (~bytes + 1));
  };
  p.aligned = {aligned(Matrix::A), aligned(Matrix::B), aligned(Matrix::C), aligned(Matrix::D)};
  if (std::ssize(spec.group_ends) != p.groups)
    throw InvalidArgument(fmt::format("there are {} groups and the ends of {}", p.groups, spec.group_ends.size()));
  // C is allocated even if beta is 0 and no kernel reads it, so that a kernel that does is caught.
  validate(p);
  Problem with_c = p;
  if (p.kind.result == Type::s32) with_c.kind.result = Type::f32;  // as large, and may have a C
  with_c.beta = Factor::one;
  validate(with_c);
  for (const auto& [name, value] : {std::pair{"alpha", spec.alpha}, std::pair{"beta", spec.beta}}) {
    if (!std::isfinite(value)) throw InvalidArgument(fmt::format("{} is {}; it must be finite", name, value));
  }
  return spec;
}

bool is_far(const MatrixShape& shape) { return shape.ld > far_apart && shape.lines() > 1 && !shape.empty(); }

Problem without_far_gaps(Problem p) {
  for (const Matrix matrix : all_matrices)
    if (const MatrixShape shape = shape_of(p, matrix); is_far(shape)) leading_dimension(p, matrix) = shape.length();
  return p;
}

std::string sizes_of(const Problem& problem) {
  return fmt::format("M = {}, N = {}, K = {}", problem.M, problem.N, problem.K);
}

HostMatrix::HostMatrix(Type type, std::int64_t rows, std::int64_t cols, std::int64_t ld, Order order)
    : type_(type),
      rows_(rows),
      cols_(cols),
      ld_(ld),
      order_(order),
      memory_(static_cast<std::size_t>(MatrixShape{type, rows, cols, ld, order}.bytes())) {
  with_type(type, [&](auto element) {
    using T = decltype(element);
    std::fill_n(as<T>(), extent(), poison<T>);
  });
}

double HostMatrix::at(std::int64_t row, std::int64_t col) const {
  return with_type(type_, [&](auto element) { return to_double(as<decltype(element)>()[offset(row, col)]); });
}

void HostMatrix::set(std::int64_t row, std::int64_t col, float value) {
  with_type(type_, [&](auto element) {
    using T = decltype(element);
    as<T>()[offset(row, col)] = from_float<T>(value);
  });
}

bool HostMatrix::poisoned(std::int64_t offset) const {
  return with_type(type_, [&](auto element) {
    using T = decltype(element);
    return std::memcmp(as<T>() + offset, &poison<T>, sizeof(T)) == 0;
  });
}

HostProblem make_problem(const RandomProblem& unresolved, const OnProgress& progress) {
  const RandomProblem spec = resolve(unresolved);
  const Problem kept = without_far_gaps(spec.problem);
  const auto matrix = [&](Matrix which) { return HostMatrix(shape_of(kept, which)); };
  HostProblem problem{spec, matrix(Matrix::A), matrix(Matrix::B), matrix(Matrix::C)};
  const std::uint64_t sequence = mix(spec.seed);
  fill_normal(problem.A, mix(sequence + 1), progress);
  fill_normal(problem.B, mix(sequence + 2), progress);
  if (spec.beta != 0) fill_normal(problem.C, mix(sequence + 3), progress);
  return problem;
}

}  // namespace lapidary::bench
