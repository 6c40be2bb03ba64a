#pragma once
#include <map>
#include <string>
#include <vector>

namespace lapidary::cli {

/// Lines of source files, for tables that name them.
class SourceText {
 public:
  /// A line of a file without the blanks around it. The sources of the rungs come from the program itself, others from
  /// the current directory; empty if the file or the line is not there.
  /// @param number  from 1 on
  std::string line(const std::string& file, int number);

 private:
  std::map<std::string, std::vector<std::string>> files_;
};

}  // namespace lapidary::cli
