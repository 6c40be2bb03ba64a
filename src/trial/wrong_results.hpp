#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "bench/host_problem.hpp"
#include "bench/verify.hpp"
#include "trial/element.hpp"

namespace lapidary::trial {

/// What the values of wrong results tell of the mistake.
enum class Mistake : std::uint8_t {
  unknown,
  unwritten,       ///< no thread writes them
  not_numbers,     ///< all of them
  reads_c,         ///< where beta is 0: they are no numbers if C holds none
  adds_to_c,       ///< of a kernel that is given no beta
  elementwise,     ///< they are sums, differences or products of elements of A and B at the same place
  no_factors,      ///< neither alpha nor beta is applied
  c_without_beta,  ///< C is added as it is: where beta is 0, or without beta
  no_alpha,
  no_beta_c,
  alpha_of_c,  ///< alpha is applied to beta C, too
  beta_alone,  ///< beta is added, and not beta C
  multiples,   ///< of what they should be, all by the same number
  exchanged_factors,
  transposed,
  negative_as_zero,  ///< and the others right
  no_sum,
  short_sums,  ///< they end before K
  half_sums    ///< as far off as sums of half precision are, or sums of what is rounded to it
};

/// Whether that is alpha or beta alone, A B being right.
constexpr bool is_of_factors(Mistake mistake) {
  return mistake >= Mistake::no_factors && mistake <= Mistake::exchanged_factors;
}

/// Which results of D are wrong.
struct WrongResults {
  std::string pattern;  ///< in words: "rows 64 to 127, columns 0 to 31", or empty if it takes the map
  Mistake mistake = Mistake::unknown;
  std::string cause;  ///< the mistake in words; empty if it is not known
  std::string map;    ///< lines of `.` (right) and `#` (a wrong result among those the place stands for)
};

/// How far right results may be from those of the reference, row after row, if their products are added up in f16 or
/// bf16: the bound of bench/bound.hpp with that unit roundoff, and the reference's own.
/// @param reference  of all rows of the problem
std::vector<double> bounds_of_sums(const bench::HostProblem& problem, const bench::Reference& reference, Element sums);

/// @param reference  of all rows of the problem
/// @param bounds  how far results may be from it
WrongResults find_wrong_results(const bench::HostProblem& problem, const bench::Reference& reference,
                                const std::vector<double>& bounds, const bench::HostMatrix& D);

}  // namespace lapidary::trial
