#include "cli/problem_list.hpp"

#include <filesystem>

#include "core/data_file.hpp"

namespace lapidary::cli {

std::vector<bench::TimedProblem> problem_list(const std::string& path) {
  const std::filesystem::path own = data_file(path);
  std::error_code cannot;
  const bool there = std::filesystem::exists(path, cannot) || !std::filesystem::exists(own, cannot) || path.empty();
  return bench::read_problems(there ? path : own.string());
}

}  // namespace lapidary::cli
