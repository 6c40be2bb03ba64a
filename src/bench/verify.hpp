#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "bench/host_problem.hpp"

namespace lapidary::bench {

/// What came out of holding a result against the reference.
struct Verification {
  bool ok = false;
  /// |result - reference| and the largest one allowed, at the worst result: the one with the largest ratio of the two,
  /// or the first one that is not a number. 0 if nothing was compared.
  double max_error = 0, bound = 0;
  std::int64_t row = 0, col = 0;  ///< of the worst result
  std::int64_t results = 0;       ///< M * N
  std::int64_t compared = 0;      ///< results that were compared; the others were only looked at for NaN
  std::int64_t wrong = 0;         ///< results outside of their bound, NaN or never written
  std::int64_t outside = 0;       ///< elements between the lines of D that were changed
  std::string message;            ///< one line for a person
};

/// The right results of a problem in fp64, with the error that each of them may have.
///
/// Computing all of them takes M * N * K multiply-adds on the CPU. Above `most_multiply_adds`, or above
/// `most_results` of them, it covers a sample of
/// whole rows, spread evenly with the problem's seed, the first and the last one among them.
class Reference {
 public:
  static constexpr double most_multiply_adds = 2e10;
  static constexpr std::int64_t most_results = std::int64_t{1} << 24;

  /// The rows that the reference of a resolved spec covers, ascending.
  static std::vector<std::int64_t> covered_rows(const RandomProblem& spec);
  /// Host memory that the reference of a resolved spec takes, in bytes.
  static std::size_t bytes(const RandomProblem& spec);

  explicit Reference(const HostProblem& problem, const OnProgress& progress = {});

  /// Compares D, which is M x N with the leading dimension ldd and was poisoned, or a copy of C if it is computed in
  /// place, before the kernel ran.
  Verification verify(const HostMatrix& D) const;

  /// The results and their bounds, row after row of `covered_rows`, N of them each.
  const std::vector<double>& results() const { return results_; }
  const std::vector<double>& bounds() const { return bounds_; }

 private:
  RandomProblem spec_;
  std::vector<std::int64_t> rows_;
  std::vector<double> results_, bounds_;
};

}  // namespace lapidary::bench
