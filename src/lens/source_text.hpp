#pragma once
#include <map>
#include <string>
#include <vector>

namespace lapidary::lens {

/// Lines of source files, for tables that name them.
class SourceText {
 public:
  /// A line of a file without the blanks around it. The sources of the rungs come from the program itself, others from
  /// the current directory or where the program's data files are; empty if the file or the line is not there.
  /// @param number  from 1 on
  std::string line(const std::string& file, int number);

  /// Takes these lines for those of the file from now on.
  void replace(const std::string& file, std::vector<std::string> lines);

  /// A message of the emulated machine with the source of each place that it names below the line that names it.
  std::string annotate(const std::string& message);

 private:
  std::map<std::string, std::vector<std::string>> files_;
};

}  // namespace lapidary::lens
