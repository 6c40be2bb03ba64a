#include "trial/kernel_data.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>

namespace lapidary::trial {
namespace {

bench::HostProblem rounded(const bench::RandomProblem& spec, const Operands& operands, InitialC initial_c) {
  bench::RandomProblem made = spec;
  if (initial_c == InitialC::numbers && made.beta == 0) made.beta = 1;  // C is made as one that is read
  bench::HostProblem problem = bench::make_problem(made);
  problem.spec = bench::resolve(spec);
  if (initial_c == InitialC::zeros && spec.beta == 0)
    for (std::int64_t i = 0; i < problem.C.rows(); ++i)
      for (std::int64_t j = 0; j < problem.C.cols(); ++j) problem.C.set(i, j, 0);
  round_to(problem.A, operands.A.element);
  round_to(problem.B, operands.B.element);
  round_to(problem.C, operands.C.element);
  return problem;
}

}  // namespace

KernelData::KernelData(const bench::RandomProblem& spec, const Operands& operands, InitialC initial_c)
    : operands_(operands), problem_(rounded(spec, operands, initial_c)), reference_(problem_) {}

KernelData::Outcome KernelData::run(Device& device, const std::function<void(const KernelArguments&)>& launch) const {
  const bench::RandomProblem& spec = problem_.spec;
  const Problem& p = spec.problem;
  const MatrixImage a(problem_.A, operands_.A), b(problem_.B, operands_.B), c(problem_.C, operands_.C);
  MatrixImage d = p.in_place ? c : MatrixImage({p.kind.result, p.M, p.N, p.N}, operands_.D);
  const DeviceBuffer A = a.allocate(device, "A"), B = b.allocate(device, "B"), C = c.allocate(device, "C"),
                     D = p.in_place ? DeviceBuffer(device, 0, "D") : d.allocate(device, "D");
  a.upload(device, A.data());
  b.upload(device, B.data());
  c.upload(device, C.data());
  const DeviceBuffer& result = p.in_place ? C : D;
  if (!p.in_place) d.upload(device, D.data());
  launch(KernelArguments{p.M, p.N, p.K, operands_.A.ld, operands_.B.ld, operands_.C.ld, operands_.D.ld, spec.alpha,
                         spec.beta, A.data(), B.data(), C.data(), result.data()});
  device.synchronize();
  d.download(device, result.data());
  Outcome outcome{std::move(d), {}};
  const auto compare = [&](const char* name, const MatrixImage& before, const DeviceBuffer& buffer) {
    MatrixImage after = before;
    after.download(device, buffer.data());
    if (const std::int64_t changed = after.changed_from(before)) outcome.changed.emplace_back(name, changed);
  };
  compare("A", a, A);
  compare("B", b, B);
  if (!p.in_place) compare("C", c, C);
  return outcome;
}

bench::Verification KernelData::verify(const Outcome& outcome) const {
  const MatrixImage& D = outcome.D;
  bench::Verification found = reference_.verify(D.matrix(problem_.spec.problem.kind.result));
  if (found.ok && operands_.D.element == Element::f64) verify_double(D, found);
  if (!found.ok && operands_.sums != Element::f32) verify_narrow(D, found);
  found.outside = D.changed_between();
  if (found.outside > 0) {
    found.ok = false;
    found.message += fmt::format("; {} elements between the {} of D were changed", found.outside,
                                 operands_.D.column_major ? "columns" : "rows");
  }
  for (const auto& [name, changed] : outcome.changed) {
    found.ok = false;
    found.message += fmt::format("; {} elements of {} were changed, which is an input", changed, name);
  }
  return found;
}

WrongResults KernelData::find_wrong(const Outcome& outcome) const {
  const std::vector<double> narrow = operands_.sums == Element::f32
                                         ? std::vector<double>()
                                         : bounds_of_sums(problem_, reference_, operands_.sums);
  return find_wrong_results(problem_, reference_, narrow.empty() ? reference_.bounds() : narrow,
                            outcome.D.matrix(problem_.spec.problem.kind.result));
}

void KernelData::verify_again(const MatrixImage& D, const std::function<double(std::int64_t, std::int64_t)>& bound,
                              bench::Verification& found) const {
  double worst = -1;
  found.wrong = 0;
  for (std::int64_t i = 0; i < problem_.spec.problem.M; ++i) {
    for (std::int64_t j = 0; j < problem_.spec.problem.N; ++j) {
      const auto place = static_cast<std::size_t>(i * problem_.spec.problem.N + j);
      const double error = std::abs(D.at(i, j) - reference_.results()[place]), allowed = bound(i, j);
      found.wrong += !(error <= allowed);
      const double ratio = std::isnan(error) ? std::numeric_limits<double>::infinity() : error / allowed;
      if (ratio <= worst) continue;
      worst = ratio;
      found.max_error = error;
      found.bound = allowed;
      found.row = i;
      found.col = j;
    }
  }
  found.ok = found.wrong == 0;
}

// The reference's own error is as large as theirs; twice their sum is allowed.
void KernelData::verify_double(const MatrixImage& D, bench::Verification& found) const {
  constexpr double finer = 4 * 0x1p-53 / 0x1p-24;
  const std::int64_t N = problem_.spec.problem.N;
  verify_again(
      D, [&](auto i, auto j) { return finer * reference_.bounds()[static_cast<std::size_t>(i * N + j)]; }, found);
  const std::string verdict = found.ok ? fmt::format("all {} results are right", found.results)
                                       : fmt::format(
                                             "{} of {} results are right to single precision only, so "
                                             "something that they are computed with is float",
                                             found.wrong, found.results);
  found.message = fmt::format("{}; the largest error is {:.3g} where {:.3g} is allowed", verdict, found.max_error,
                              found.bound);
}

void KernelData::verify_narrow(const MatrixImage& D, bench::Verification& found) const {
  const std::vector<double> bounds = bounds_of_sums(problem_, reference_, operands_.sums);
  const std::int64_t N = problem_.spec.problem.N;
  verify_again(
      D, [&](auto i, auto j) { return bounds[static_cast<std::size_t>(i * N + j)]; }, found);
  const std::string verdict =
      found.ok
          ? fmt::format("all {} results are right for sums in {}; the largest error is {:.2g}", found.results,
                        name_of(operands_.sums), found.max_error)
          : fmt::format("{} of {} results are wrong for sums in {}; the worst is D({}, {}), off by {:.2g}", found.wrong,
                        found.results, name_of(operands_.sums), found.row, found.col, found.max_error);
  found.message = fmt::format("{} where {:.3g} is allowed", verdict, found.bound);
}

}  // namespace lapidary::trial
