#include "bench/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <random>

#include "bench/bound.hpp"

namespace lapidary::bench {
namespace {

/// The least number that rounds to infinity: the largest finite one and half a unit in its last place.
constexpr double overflow_of(Type type) {
  return type == Type::f32 ? 0x1.ffffffp127 : type == Type::f16 ? 65520 : 0x1.ffp127;
}

/// Columns that a tile of the reference computes at a time: enough chains of additions to hide their latency, few
/// enough to stay in registers.
constexpr std::int64_t tile_cols = 8;
/// Rows that share one copy of tile_cols columns of B.
constexpr std::int64_t tile_rows = 64;

/// One row of A, whose elements are `stride` apart, times tile_cols packed columns of B, with the sums of the squared
/// products beside them.
template <class T>
void multiply_row(const T* a, std::int64_t stride, const double* packed, std::int64_t K, double* sum_out,
                  double* square_out) {
  double sum[tile_cols] = {}, square[tile_cols] = {};
  for (std::int64_t k = 0; k < K; ++k) {
    const double factor = to_float(a[k * stride]);
    for (std::int64_t j = 0; j < tile_cols; ++j) {
      const double product = factor * packed[k * tile_cols + j];
      sum[j] += product;
      square[j] += product * product;
    }
  }
  std::copy_n(sum, tile_cols, sum_out);
  std::copy_n(square, tile_cols, square_out);
}

template <class T>
void pack_columns(const HostMatrix& B, std::int64_t first, std::int64_t cols, std::vector<double>& packed) {
  for (std::int64_t k = 0; k < B.rows(); ++k) {
    const T* row = B.as<T>() + k * B.row_stride() + first * B.col_stride();
    for (std::int64_t j = 0; j < cols; ++j)
      packed[static_cast<std::size_t>(k * tile_cols + j)] = to_float(row[j * B.col_stride()]);
  }
}

template <class T>
void compute_reference(const HostProblem& problem, const std::vector<std::int64_t>& rows, const OnProgress& progress,
                       std::vector<double>& results, std::vector<double>& bounds) {
  const Problem& p = problem.spec.problem;
  const std::int64_t row_count = static_cast<std::int64_t>(rows.size());
  const std::int64_t row_tiles = (row_count + tile_rows - 1) / tile_rows;
  const std::int64_t tiles = (p.N + tile_cols - 1) / tile_cols * row_tiles;
  const double alpha = problem.spec.alpha, beta = problem.spec.beta;
  std::atomic<std::int64_t> done = 0;
  parallel_for(tiles, [&](std::int64_t tile) {
    const std::int64_t first_row = tile % row_tiles * tile_rows, end_row = std::min(row_count, first_row + tile_rows);
    const std::int64_t first_col = tile / row_tiles * tile_cols;
    const std::int64_t cols = std::min(tile_cols, p.N - first_col);
    std::vector<double> packed(static_cast<std::size_t>(p.K * tile_cols));
    if (p.K > 0) pack_columns<T>(problem.B, first_col, cols, packed);
    for (std::int64_t r = first_row; r < end_row; ++r) {
      const std::int64_t row = rows[static_cast<std::size_t>(r)];
      double sum[tile_cols], square[tile_cols];
      const HostMatrix& A = problem.A;
      multiply_row(A.as<T>() + row * A.row_stride(), A.col_stride(), packed.data(), p.K, sum, square);
      for (std::int64_t j = 0; j < cols; ++j) {
        const double scaled_c = beta == 0 ? 0 : beta * problem.C.at(row, first_col + j);
        const double result = wrapped(p.kind, alpha * sum[j] + scaled_c);
        const std::size_t place = static_cast<std::size_t>(r * p.N + first_col + j);
        results[place] = result;
        bounds[place] = error_bound(p.kind, p.K, alpha, square[j], scaled_c, result);
      }
    }
    ++done;
    if (progress) progress("fp64 reference", static_cast<double>(done) / static_cast<double>(tiles));
  });
}

/// A result and how it compares; `ratio` is error / bound, infinite where a NaN is involved and negative for no result.
struct Comparison {
  std::int64_t row = 0, col = 0;
  double value = 0, expected = 0, error = 0, bound = 0, ratio = -1;
};

/// From the least of some indices to the largest.
struct Span {
  std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = -1;

  void join(const Span& other) {
    first = std::min(first, other.first);
    last = std::max(last, other.last);
  }
};

/// What was found in some rows of D.
struct Findings {
  std::int64_t compared = 0, wrong = 0, unwritten = 0, outside = 0;
  Span wrong_rows, wrong_cols;
  Comparison worst;

  void compare(std::int64_t row, std::int64_t col, double value, double expected, double bound) {
    const double error = std::abs(value - expected);
    // The bound of integers is 0.
    const double ratio = std::isnan(error) ? std::numeric_limits<double>::infinity() : error == 0 ? 0 : error / bound;
    if (!(error <= bound)) {
      ++wrong;
      wrong_rows.join({row, row});
      wrong_cols.join({col, col});
    }
    if (ratio > worst.ratio) worst = {row, col, value, expected, error, bound, ratio};
  }

  void join(const Findings& other) {
    compared += other.compared;
    wrong += other.wrong;
    unwritten += other.unwritten;
    wrong_rows.join(other.wrong_rows);
    wrong_cols.join(other.wrong_cols);
    const bool earlier = other.worst.row < worst.row;  // so that the order in which threads finish does not show
    if (other.worst.ratio > worst.ratio || (other.worst.ratio == worst.ratio && earlier)) worst = other.worst;
  }
};

/// Where all wrong results are, as far as that leaves out others.
std::string place_of_wrong(const Problem& p, const Findings& found) {
  std::string text;
  const auto add = [&](const Span& span, std::int64_t extent, const char* what) {
    if (span.first == 0 && span.last == extent - 1) return;
    text += text.empty() ? ", all in " : " and ";
    text += span.first == span.last ? fmt::format("{} {}", what, span.first)
                                    : fmt::format("{}s {} to {}", what, span.first, span.last);
  };
  add(found.wrong_rows, p.M, "row");
  add(found.wrong_cols, p.N, "column");
  return text;
}

std::string describe(const Problem& p, const Findings& found) {
  const std::int64_t results = p.M * p.N;
  const Comparison& worst = found.worst;
  std::string text;
  if (found.wrong > 0) {
    text = fmt::format("{} of {} results are wrong", found.wrong, results);
    if (found.unwritten > 0) text += fmt::format(", {} of them never written", found.unwritten);
    if (found.wrong > 1) text += place_of_wrong(p, found);
    const int digits = p.kind.result == Type::s32 ? 10 : 7;
    text += fmt::format("; the worst is D({}, {}) = {:.{}g}", worst.row, worst.col, worst.value, digits);
    if (!std::isnan(worst.expected)) text += fmt::format(" instead of {:.{}g}", worst.expected, digits);
    if (!std::isnan(worst.error))
      text += fmt::format(", off by {:.3g} where {:.3g} is allowed", worst.error, worst.bound);
  } else if (results == 0) {
    text = "D has no elements";
  } else {
    text = found.compared == results
               ? fmt::format("all {} results are right", results)
               : fmt::format("{} of {} results were compared and are right", found.compared, results);
    text += fmt::format("; the largest error is {:.3g} where {:.3g} is allowed", worst.error, worst.bound);
  }
  if (found.outside > 0) text += fmt::format("; {} elements between the lines of D were changed", found.outside);
  return text;
}

/// Looks at row i of D. `expected` and `bounds` are those of its results, or null for a row that the reference leaves
/// out.
void examine_row(const Problem& p, const HostMatrix& D, std::int64_t i, const double* expected, const double* bounds,
                 Findings& found) {
  const double overflow = overflow_of(p.kind.result);
  const bool was_poisoned = !p.in_place || !p.reads_c();
  for (std::int64_t j = 0; j < p.N; ++j) {
    const double value = D.at(i, j);
    if (was_poisoned && D.poisoned(D.offset(i, j))) ++found.unwritten;
    if (expected) {
      const bool right_infinity = std::isinf(value) && std::abs(expected[j]) + bounds[j] >= overflow &&
                                  std::signbit(value) == std::signbit(expected[j]);
      found.compare(i, j, right_infinity ? expected[j] : value, expected[j], bounds[j]);
      ++found.compared;
    } else if (std::isnan(value)) {
      found.compare(i, j, value, std::numeric_limits<double>::quiet_NaN(), 0);
    }
  }
}

/// Elements between the lines of D that were changed; the last line ends with its last element.
std::int64_t changed_outside(const HostMatrix& D) {
  const MatrixShape shape = {D.type(), D.rows(), D.cols(), D.ld(), D.order()};
  if (shape.empty()) return 0;
  std::int64_t changed = 0;
  for (std::int64_t line = 0; line + 1 < shape.lines(); ++line)
    for (std::int64_t j = shape.length(); j < D.ld(); ++j)
      if (!D.poisoned(line * D.ld() + j)) ++changed;
  return changed;
}

}  // namespace

std::vector<std::int64_t> Reference::covered_rows(const RandomProblem& spec) {
  const Problem& p = spec.problem;
  if (p.M == 0 || p.N == 0) return {};
  const double padded_cols = static_cast<double>((p.N + tile_cols - 1) / tile_cols) * tile_cols;
  const double row_cost = std::max(1.0, padded_cols * static_cast<double>(std::max<std::int64_t>(p.K, 1)));
  const double affordable = std::min(most_multiply_adds / row_cost,
                                     static_cast<double>(most_results) / static_cast<double>(p.N));
  std::int64_t count = p.M;
  if (affordable < static_cast<double>(p.M)) {
    count = std::min(p.M, std::max<std::int64_t>(2, static_cast<std::int64_t>(affordable)));
  }
  // One row of each of `count` strata of equal size, give or take a row.
  std::vector<std::int64_t> rows(static_cast<std::size_t>(count));
  std::mt19937_64 random(spec.seed);
  const std::int64_t size = p.M / count, longer = p.M % count;
  std::int64_t begin = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t rows_here = size + (i < longer ? 1 : 0);
    rows[static_cast<std::size_t>(i)] = begin +
                                        static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(rows_here));
    begin += rows_here;
  }
  rows.front() = 0;
  rows.back() = p.M - 1;
  return rows;
}

std::size_t Reference::bytes(const RandomProblem& spec) {
  return covered_rows(spec).size() *
         (static_cast<std::size_t>(spec.problem.N) * 2 * sizeof(double) + sizeof(std::int64_t));
}

Reference::Reference(const HostProblem& problem, const OnProgress& progress)
    : spec_(problem.spec),
      rows_(covered_rows(spec_)),
      results_(rows_.size() * static_cast<std::size_t>(spec_.problem.N)),
      bounds_(results_.size()) {
  with_type(spec_.problem.kind.type,
            [&](auto element) { compute_reference<decltype(element)>(problem, rows_, progress, results_, bounds_); });
}

Verification Reference::verify(const HostMatrix& D) const {
  const Problem& p = spec_.problem;
  const std::int64_t rows = p.N == 0 ? 0 : p.M;
  const std::int64_t rows_per_task = 1 + 16384 / (1 + p.N);
  Findings all;
  std::mutex join;
  parallel_for((rows + rows_per_task - 1) / rows_per_task, [&](std::int64_t task) {
    Findings part;
    const std::int64_t first = task * rows_per_task, end = std::min(rows, first + rows_per_task);
    auto covered = std::lower_bound(rows_.begin(), rows_.end(), first);
    for (std::int64_t i = first; i < end; ++i) {
      if (covered != rows_.end() && *covered == i) {
        const std::int64_t place = (covered - rows_.begin()) * p.N;
        examine_row(p, D, i, results_.data() + place, bounds_.data() + place, part);
        ++covered;
      } else {
        examine_row(p, D, i, nullptr, nullptr, part);
      }
    }
    const std::lock_guard lock(join);
    all.join(part);
  });
  all.outside = changed_outside(D);
  const std::int64_t results = rows * p.N;
  return {.ok = all.wrong == 0 && all.outside == 0,
          .max_error = all.worst.error,
          .bound = all.worst.bound,
          .row = all.worst.row,
          .col = all.worst.col,
          .results = results,
          .compared = all.compared,
          .wrong = all.wrong,
          .outside = all.outside,
          .message = describe(p, all)};
}

}  // namespace lapidary::bench
