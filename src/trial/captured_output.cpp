#include "trial/captured_output.hpp"

#include <unistd.h>

namespace lapidary::trial {

CapturedOutput::CapturedOutput(std::string& text) : text_(text), file_(std::tmpfile()) {
  std::fflush(stdout);
  if (!file_) return;
  output_ = dup(STDOUT_FILENO);
  dup2(fileno(file_), STDOUT_FILENO);
}

CapturedOutput::~CapturedOutput() {
  if (!file_) return;
  std::fflush(stdout);
  dup2(output_, STDOUT_FILENO);
  close(output_);
  text_.resize(std::size_t{1} << 14);
  const ssize_t bytes = pread(fileno(file_), text_.data(), text_.size(), 0);
  text_.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  for (char& c : text_)
    if (c != '\n' && c != '\t' && (c < ' ' || c > '~')) c = '?';
  std::fclose(file_);
}

}  // namespace lapidary::trial
