#include "report/terminal.hpp"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace lapidary::report {

bool is_terminal(std::FILE* stream) { return isatty(fileno(stream)) != 0; }

bool wants_colour(std::FILE* stream) {
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color && *no_color) return false;
  const char* terminal = std::getenv("TERM");
  return is_terminal(stream) && terminal && std::string_view(terminal) != "dumb";
}

}  // namespace lapidary::report
