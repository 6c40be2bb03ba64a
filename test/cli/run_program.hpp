#pragma once
// The program as its user runs it.
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

namespace lapidary {

struct Output {
  int code;
  std::string text;
};

/// Runs the program with arguments as a shell splits them, in a folder. The text is that of its standard output, and
/// with it that of its errors unless they are redirected.
inline Output run_program(const std::string& arguments, const std::string& redirection = "2>&1",
                          const std::string& folder = ".") {
  std::FILE* const pipe = popen(
      ("cd \"" + folder + "\" && \"" LAPIDARY_PROGRAM "\" " + arguments + " " + redirection).c_str(), "r");
  std::string text;
  std::array<char, 4096> buffer;
  while (const std::size_t bytes = std::fread(buffer.data(), 1, buffer.size(), pipe)) text.append(buffer.data(), bytes);
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text};
}

}  // namespace lapidary
