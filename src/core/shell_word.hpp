#pragma once
#include <string>

namespace lapidary {

/// A text as one word of a shell's command, whatever it has in it.
inline std::string shell_word(const std::string& text) {
  std::string word = "'";
  for (const char letter : text) word += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return word + "'";
}

}  // namespace lapidary
