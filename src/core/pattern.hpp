#pragma once
#include <regex>
#include <string>

namespace lapidary {

/// A pattern for text of any length: matching it takes a stack that does not grow with the text. libstdc++ otherwise
/// takes some of it for each character, and some ten thousand of them end the program. Of alternatives that match at
/// one place this takes the longest with libstdc++, and the first elsewhere: patterns must not depend on which.
inline std::regex pattern(const std::string& text) {
#if defined(__GLIBCXX__)
  return std::regex(text, std::regex::ECMAScript | std::regex_constants::__polynomial);
#else
  return std::regex(text);
#endif
}

}  // namespace lapidary
