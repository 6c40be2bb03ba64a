#pragma once
#include <string>

#include "bench/problem.hpp"
#include "bench/verify.hpp"

namespace lapidary::cli {

/// Which results of D are wrong.
struct WrongResults {
  std::string pattern;   ///< in words: "rows 64 to 127, columns 0 to 31", or empty if it takes the map
  std::string cause;     ///< what the values tell: a transposed result, a sum that ends early; or empty
  bool factors = false;  ///< whether that is alpha or beta alone
  std::string map;       ///< lines of `.` (right) and `#` (a wrong result among those the place stands for)
};

/// @param reference  of all rows of the problem
WrongResults find_wrong_results(const bench::HostProblem& problem, const bench::Reference& reference,
                                const bench::HostMatrix& D);

}  // namespace lapidary::cli
