#include "trial/wrong_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

#include "core/row_col.hpp"

namespace lapidary::trial {
namespace {

using Flags = std::vector<bool>;

std::int64_t count(const Flags& flags) { return std::count(flags.begin(), flags.end(), true); }

/// "rows 64 to 127", "rows 4 to 7 of every 8"; empty if there is no simple rule.
std::string describe(const Flags& flags, const std::string& what) {
  const auto size = static_cast<std::int64_t>(flags.size());
  const std::int64_t first = std::find(flags.begin(), flags.end(), true) - flags.begin();
  const std::int64_t last = size - 1 - (std::find(flags.rbegin(), flags.rend(), true) - flags.rbegin());
  const auto range = [&](std::int64_t from, std::int64_t to) {
    return from == to ? fmt::format("{} {}", what, from) : fmt::format("{}s {} to {}", what, from, to);
  };
  const std::int64_t wrong = count(flags);
  if (wrong == size) return fmt::format("all {}s", what);
  if (last - first + 1 == wrong)
    return last == size - 1 && wrong > 1 ? fmt::format("all {}s from {} on", what, first) : range(first, last);
  for (std::int64_t period = 2; period <= size / 2; ++period) {
    Flags pattern(static_cast<std::size_t>(period));
    bool periodic = true;
    for (std::int64_t i = 0; i < size && periodic; ++i) {
      if (i < period) pattern[static_cast<std::size_t>(i)] = flags[static_cast<std::size_t>(i)];
      periodic = pattern[static_cast<std::size_t>(i % period)] == flags[static_cast<std::size_t>(i)];
    }
    if (!periodic) continue;
    const std::int64_t from = std::find(pattern.begin(), pattern.end(), true) - pattern.begin();
    const std::int64_t to = period - 1 - (std::find(pattern.rbegin(), pattern.rend(), true) - pattern.rbegin());
    if (to - from + 1 == count(pattern)) return fmt::format("{} of every {}", range(from, to), period);
    break;
  }
  return "";
}

std::string pattern_of(const Flags& wrong, std::int64_t M, std::int64_t N) {
  const auto at = [&](std::int64_t i, std::int64_t j) { return wrong[static_cast<std::size_t>(i * N + j)]; };
  Flags any_row(static_cast<std::size_t>(M)), any_col(static_cast<std::size_t>(N)), all_row(any_row.size(), true),
      all_col(any_col.size(), true);
  for (std::int64_t i = 0; i < M; ++i) {
    for (std::int64_t j = 0; j < N; ++j) {
      const auto row = static_cast<std::size_t>(i), col = static_cast<std::size_t>(j);
      any_row[row] = any_row[row] || at(i, j);
      any_col[col] = any_col[col] || at(i, j);
      all_row[row] = all_row[row] && at(i, j);
      all_col[col] = all_col[col] && at(i, j);
    }
  }
  const std::int64_t total = count(wrong);
  if (total == M * N) return "every result";
  if (total == count(any_row) * count(any_col)) {
    const std::string rows = describe(any_row, "row"), cols = describe(any_col, "column");
    if (rows.empty() || cols.empty()) return "";
    if (count(any_row) == M) return cols;
    if (count(any_col) == N) return rows;
    return rows + ", of these " + cols;
  }
  const std::int64_t r = count(all_row), c = count(all_col);
  if (total == r * N + c * M - r * c) {
    const std::string rows = describe(all_row, "row"), cols = describe(all_col, "column");
    if (!rows.empty() && !cols.empty()) return rows + " and " + cols;
  }
  // Nearly the same everywhere: chance makes some results right.
  if (total * 10 > M * N * 9) return "nearly every result";
  return "";
}

std::string map_of(const Flags& wrong, std::int64_t M, std::int64_t N) {
  const std::int64_t rows = std::min<std::int64_t>(M, 16), cols = std::min<std::int64_t>(N, 64);
  std::string map;
  for (std::int64_t y = 0; y < rows; ++y) {
    for (std::int64_t x = 0; x < cols; ++x) {
      bool bad = false;
      for (std::int64_t i = y * M / rows; i < (y + 1) * M / rows; ++i)
        for (std::int64_t j = x * N / cols; j < (x + 1) * N / cols; ++j)
          bad = bad || wrong[static_cast<std::size_t>(i * N + j)];
      map += bad ? '#' : '.';
    }
    map += '\n';
  }
  return map;
}

/// A mistake, and the same in words.
using Cause = std::pair<Mistake, std::string>;

/// Which of the factors a kernel left aside or took for each other, if that is all that is wrong.
Cause cause_of_factors(const bench::HostProblem& problem, const bench::Reference& reference,
                       const std::vector<double>& bounds, const bench::HostMatrix& D) {
  const Problem& p = problem.spec.problem;
  const double alpha = problem.spec.alpha, beta = problem.spec.beta;
  const bool numbers = !problem.C.poisoned(0);
  const double roundoff = p.kind.result == Type::f16 ? 0x1p-10 : p.kind.result == Type::bf16 ? 0x1p-7 : 0x1p-22;
  const auto computes = [&](double a, double b, double addend = 0) {
    for (std::int64_t i = 0; i < p.M; ++i) {
      for (std::int64_t j = 0; j < p.N; ++j) {
        const auto place = static_cast<std::size_t>(i * p.N + j);
        const double c = numbers ? static_cast<double>(problem.C.at(i, j)) : 0;
        const double expected = a * (reference.results()[place] - beta * c) / alpha + b * c + addend;
        const double allowed = bounds[place] + roundoff * std::abs(expected);
        if (!(std::abs(D.at(i, j) - expected) <= allowed)) return false;
      }
    }
    return true;
  };
  if (alpha == 0) return {};
  if (alpha != 1 && beta != 0 && computes(1, 0))
    return {Mistake::no_factors,
            "A B is right, but alpha and beta are not applied: D = A B; --alpha 1 --beta 0 asks for A B alone"};
  if (beta == 0 && numbers && computes(alpha, 1))
    return {Mistake::c_without_beta, "alpha A B is right, but C is added although beta is 0"};
  if (alpha != 1 && computes(1, beta)) return {Mistake::no_alpha, "A B is right, but alpha is not applied to it"};
  if (beta != 0 && computes(alpha, 0)) return {Mistake::no_beta_c, "alpha A B is right, but beta C is not added to it"};
  if (beta != 0 && beta != 1 && computes(alpha, 1))
    return {Mistake::c_without_beta, "alpha A B is right, but C is added without beta"};
  if (beta != 0 && alpha != beta && computes(beta, alpha))
    return {Mistake::exchanged_factors, "alpha and beta have changed places"};
  if (beta != 0 && alpha != 1 && computes(alpha, alpha * beta))
    return {Mistake::alpha_of_c, "alpha is applied to beta C, too: D = alpha (A B + beta C)"};
  if (beta != 0 && computes(alpha, 0, beta))
    return {Mistake::beta_alone, "alpha A B is right, but beta is added to it, and not beta C"};
  const auto largest = std::max_element(reference.results().begin(), reference.results().end(),
                                        [](double a, double b) { return std::abs(a) < std::abs(b); }) -
                       reference.results().begin();
  const double times = D.at(largest / p.N, largest % p.N) / reference.results()[static_cast<std::size_t>(largest)];
  const double simple = std::round(times * 64) / 64;
  if (simple != 1 && simple != 0 && std::abs(times - simple) < 1e-3 && computes(simple * alpha, simple * beta))
    return {Mistake::multiples, fmt::format("they are {:g} times what they should be, all of them", simple)};
  return {};
}

/// Whether a kernel is no matrix product, but takes elements of A and B at the same place together: as far as it writes
/// any, which of vectors is the first row.
Cause elementwise(const bench::HostProblem& problem, const bench::HostMatrix& D) {
  const Problem& p = problem.spec.problem;
  if (p.M != p.N || p.N != p.K) return {};
  const auto is = [&](const auto& combined) {
    std::int64_t written = 0;
    for (std::int64_t i = 0; i < p.M; ++i) {
      for (std::int64_t j = 0; j < p.N; ++j) {
        if (D.poisoned(D.offset(i, j))) continue;
        ++written;
        const double expected = combined(problem.A.at(i, j), problem.B.at(i, j));
        if (!(std::abs(D.at(i, j) - expected) <= 0x1p-7 * std::abs(expected) + 0x1p-20)) return false;
      }
    }
    return written > 1;
  };
  const auto cause = [](const char* operation) {
    return Cause(Mistake::elementwise,
                 fmt::format("this is no matrix product: those that are written are elements of A {} elements of B at "
                             "the same place",
                             operation));
  };
  if (is(std::plus<>())) return cause("plus");
  if (is(std::minus<>())) return cause("minus");
  if (is(std::multiplies<>())) return cause("times");
  return {};
}

/// Results that are wrong.
struct Wrong {
  Flags flags;
  std::vector<std::pair<std::int64_t, std::int64_t>> samples;  ///< rows and columns of a few
  std::int64_t unwritten, not_numbers;
};

bool is_right(const bench::Reference& reference, const std::vector<double>& bounds, const Problem& p, std::int64_t i,
              std::int64_t j, double value) {
  const auto place = static_cast<std::size_t>(i * p.N + j);
  return std::abs(value - reference.results()[place]) <= bounds[place];
}

/// How far a sum may be off that is added up in f16 or bf16.
double rounding_of_sum(const bench::HostProblem& problem, Element sums, std::int64_t row, std::int64_t col) {
  const std::int64_t K = problem.spec.problem.K;
  double square = 0;
  for (std::int64_t k = 0; k < K; ++k) square += std::pow(problem.A.at(row, k) * problem.B.at(k, col), 2);
  const double unit_roundoff = sums == Element::bf16 ? 0x1p-8 : 0x1p-11;
  return 8 * unit_roundoff * std::sqrt(static_cast<double>(K) * square) * std::abs(problem.spec.alpha);
}

bool holds_zeros(const bench::HostProblem& problem) {
  const Problem& p = problem.spec.problem;
  return p.in_place && problem.C.at(0, 0) == 0 && problem.C.at(p.M - 1, p.N - 1) == 0;
}

/// Whether all negative results are 0, and all positive ones right, of which there are some.
bool are_negative_as_zero(const bench::HostProblem& problem, const bench::Reference& reference,
                          const std::vector<double>& bounds, const bench::HostMatrix& D) {
  const Problem& p = problem.spec.problem;
  std::int64_t positive = 0;
  for (std::int64_t i = 0; i < p.M; ++i) {
    for (std::int64_t j = 0; j < p.N; ++j) {
      const double expected = reference.results()[static_cast<std::size_t>(i * p.N + j)], value = D.at(i, j);
      if (is_right(reference, bounds, p, i, j, value))
        positive += value > 0;
      else if (value != 0 || expected > 0)
        return false;
    }
  }
  return positive > 0;
}

Cause cause_of(const bench::HostProblem& problem, const bench::Reference& reference, const std::vector<double>& bounds,
               const bench::HostMatrix& D, const Wrong& wrong) {
  const bench::RandomProblem& spec = problem.spec;
  const std::int64_t N = spec.problem.N, K = spec.problem.K, total = count(wrong.flags);
  const auto all_samples = [&](const std::function<bool(std::int64_t, std::int64_t)>& holds) {
    return std::all_of(wrong.samples.begin(), wrong.samples.end(),
                       [&](const auto& s) { return holds(s.first, s.second); });
  };
  if (wrong.unwritten == total && holds_zeros(problem))
    return {Mistake::unwritten, "they are the zeros that C held: no thread writes them, or adds nothing to them"};
  if (wrong.unwritten == total)
    return {Mistake::unwritten,
            "no thread writes them: the grid or the block is too small, or a guard leaves them out"};
  if (wrong.not_numbers == total)
    return {Mistake::not_numbers,
            "they are not numbers: C is read where beta is 0, or what lies between the rows, or memory before it is "
            "written, or a variable or array of the thread's own is added to before it is set"};
  if (Cause other = elementwise(problem, D); other.first != Mistake::unknown) return other;
  if (Cause factors = cause_of_factors(problem, reference, bounds, D); factors.first != Mistake::unknown)
    return factors;
  if (spec.problem.M == N &&
      all_samples([&](auto i, auto j) { return is_right(reference, bounds, spec.problem, j, i, D.at(i, j)); }))
    return {Mistake::transposed,
            "the result is that of the transpose: row and column are exchanged where C is written"};
  if (are_negative_as_zero(problem, reference, bounds, D))
    return {Mistake::negative_as_zero, "negative results come out as 0, as of a ReLU; the others are right"};
  // Sums that end early: at the same k for all samples, tried at each k.
  const auto sum_to = [&](std::int64_t i, std::int64_t j, std::int64_t end) {
    double sum = 0;
    for (std::int64_t k = 0; k < end; ++k) sum += static_cast<double>(problem.A.at(i, k)) * problem.B.at(k, j);
    return spec.alpha * sum + (spec.beta == 0 ? 0 : spec.beta * static_cast<double>(problem.C.at(i, j)));
  };
  const auto is = [&](std::int64_t i, std::int64_t j, double value) {
    return std::abs(D.at(i, j) - value) <= bounds[static_cast<std::size_t>(i * N + j)] + 1e-6;
  };
  for (std::int64_t end = K - 1; end >= 0; --end) {
    if (!all_samples([&](auto i, auto j) { return is(i, j, sum_to(i, j, end)); })) continue;
    if (end == 0) return {Mistake::no_sum, "the sum over k is missing from them"};
    return {Mistake::short_sums,
            fmt::format("their sums end before k = {}: the last {} of {} products are missing", end, K - end, K)};
  }
  // The bound is some 20 times the error that half precision is expected to make, and 4 times the worst of many: a
  // product that is missing from a long sum passes it.
  double most = 0;
  RowCol<std::int64_t> worst{0, 0};
  for (std::int64_t i = 0; i < spec.problem.M; ++i) {
    for (std::int64_t j = 0; j < N; ++j) {
      const double error = std::abs(D.at(i, j) - reference.results()[static_cast<std::size_t>(i * N + j)]);
      if (std::isnan(error)) return {};
      if (error > most) most = error, worst = {i, j};
    }
  }
  const double allowed = rounding_of_sum(problem, Element::f16, worst.row, worst.col) +
                         bounds[static_cast<std::size_t>(worst.row * N + worst.col)];
  if (most <= allowed / 3)
    return {Mistake::half_sums,
            "they are as far off as where sums, products or operands are rounded to half precision, in registers or by "
            "atomicAdd: keep them in float, or say that it is meant by --sums f16"};
  return {};
}

}  // namespace

std::vector<double> bounds_of_sums(const bench::HostProblem& problem, const bench::Reference& reference, Element sums) {
  std::vector<double> bounds = reference.bounds();
  for (std::int64_t row = 0; row < problem.spec.problem.M; ++row)
    for (std::int64_t col = 0; col < problem.spec.problem.N; ++col)
      bounds[static_cast<std::size_t>(row * problem.spec.problem.N + col)] += rounding_of_sum(problem, sums, row, col);
  return bounds;
}

WrongResults find_wrong_results(const bench::HostProblem& problem, const bench::Reference& reference,
                                const std::vector<double>& bounds, const bench::HostMatrix& D) {
  const Problem& p = problem.spec.problem;
  // What D began as.
  const bool as_c = p.in_place && p.M > 0 && p.N > 0 && !problem.C.poisoned(0);
  Wrong wrong{Flags(static_cast<std::size_t>(p.M * p.N)), {}, 0, 0};
  for (std::int64_t i = 0; i < p.M; ++i) {
    for (std::int64_t j = 0; j < p.N; ++j) {
      const double value = D.at(i, j);
      if (is_right(reference, bounds, p, i, j, value)) continue;
      wrong.flags[static_cast<std::size_t>(i * p.N + j)] = true;
      const bool as_before = as_c && value == problem.C.at(i, j);
      if (D.poisoned(D.offset(i, j)) || as_before) ++wrong.unwritten;
      if (std::isnan(value)) ++wrong.not_numbers;
      auto& samples = wrong.samples;
      if (samples.size() < 8 && (samples.empty() || i != samples.back().first || j > samples.back().second + 16))
        samples.emplace_back(i, j);
    }
  }
  const std::int64_t total = count(wrong.flags);
  WrongResults found;
  found.pattern = pattern_of(wrong.flags, p.M, p.N);
  if (total == 0) return found;
  if (total != p.M * p.N) found.map = map_of(wrong.flags, p.M, p.N);
  std::tie(found.mistake, found.cause) = cause_of(problem, reference, bounds, D, wrong);
  return found;
}

}  // namespace lapidary::trial
