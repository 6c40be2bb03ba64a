#pragma once
#include <cstdio>
#include <string>

namespace lapidary::trial {

/// Takes what kernels print to standard output, which is the program's own: there it would stand in the middle of JSON.
/// Ends with its life.
class CapturedOutput {
 public:
  /// @param text  where it is in the end, of much the beginning, with `?` for bytes that are no text
  explicit CapturedOutput(std::string& text);
  ~CapturedOutput();
  CapturedOutput(const CapturedOutput&) = delete;
  CapturedOutput& operator=(const CapturedOutput&) = delete;

 private:
  std::string& text_;
  std::FILE* file_;  ///< null if there is none: then what is printed stays there
  int output_ = -1;
};

}  // namespace lapidary::trial
