#pragma once
#include <string>
#include <vector>

#include "bench/workload.hpp"

namespace lapidary::cli {

/// The problems of a list; one that is not found where it was said to be may be one of the program's own.
/// @throws InvalidArgument as bench::read_problems()
std::vector<bench::TimedProblem> problem_list(const std::string& path);

}  // namespace lapidary::cli
