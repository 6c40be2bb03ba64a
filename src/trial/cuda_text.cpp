#include "trial/cuda_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <regex>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/file.hpp"
#include "core/pattern.hpp"
#include "trial/tokens.hpp"

namespace lapidary::trial {

namespace {

std::string text_of(const std::string& path) {
  if (std::optional<std::string> text = read_file(path)) return *std::move(text);
  throw InvalidArgument(fmt::format("cannot read {}", path));
}

/// The text with `__global__` where a macro without parameters stands for it, which may stand for more, on that line.
std::string without_macros_for_global(std::string text) {
  static const std::regex definition = pattern(R"(#[ \t]*define[ \t]+(\w+)[ \t]+([^\n\\]*\b__global__\b[^\n\\]*))");
  const std::string plain = without_comments(text);
  for (auto macro = std::sregex_iterator(plain.begin(), plain.end(), definition); macro != std::sregex_iterator();
       ++macro) {
    const std::string name = (*macro)[1], value = trimmed((*macro)[2].str());
    std::string code = without_directives(without_strings(without_comments(text)));
    for (std::size_t at = find_word(code, name, 0); at != code.npos; at = find_word(code, name, at + value.size())) {
      text.replace(at, name.size(), value);
      code.replace(at, name.size(), value);
    }
  }
  return text;
}

}  // namespace

CudaText::CudaText(std::string path) : path_(std::move(path)), written_(text_of(path_)) {
  if (written_.starts_with("\xef\xbb\xbf")) written_.erase(0, 3);  // a mark that it is UTF-8
  if (written_.empty()) throw InvalidArgument(fmt::format("{} is empty", path_));
  written_ = without_macros_for_global(std::move(written_));
  uncommented_ = without_comments(written_);
  code_ = without_directives(without_strings(uncommented_));
  find_scopes();
}

int CudaText::line_of(std::size_t position) const {
  return 1 +
         static_cast<int>(std::count(written_.begin(), written_.begin() + static_cast<std::ptrdiff_t>(position), '\n'));
}

void CudaText::find_scopes() {
  static const std::regex space = pattern(R"(\bnamespace((?:\s+\w+(?:\s*::\s*(?:inline\s+)?\w+)*)?)\s*$)");
  static const std::regex linkage = pattern(R"(\bextern\s*"\s*"\s*$)");
  std::vector<std::optional<std::string>> around = {""};
  scopes_[0] = "";
  for (std::size_t i = 0; i < code_.size(); ++i) {
    if (code_[i] == '{') {
      std::optional<std::string> scope = around.back();
      const std::size_t begin = i == 0 ? 0 : statement_begin(code_, i - 1);
      const std::string header = code_.substr(begin, i - begin);
      std::smatch match;
      if (scope && std::regex_search(header, match, space)) {
        const std::string name = std::regex_replace(match[1].str(), pattern(R"(\s+|\binline\s)"), "");
        *scope += name.empty() ? "" : name + "::";
      } else if (!std::regex_search(header, linkage)) {
        scope.reset();
      }
      around.push_back(std::move(scope));
    } else if (code_[i] == '}' && around.size() > 1) {
      around.pop_back();
    } else {
      continue;
    }
    scopes_[i + 1] = around.back();
  }
}

std::optional<std::string> CudaText::scope_of(std::size_t position) const {
  return std::prev(scopes_.upper_bound(position))->second;
}

std::vector<Body> find_bodies(const std::string& code) {
  std::vector<Body> bodies;
  for (std::size_t i = 0, begin = 0; i < code.size(); ++i) {
    if (code[i] == ';' || code[i] == '}') begin = i + 1;
    if (code[i] != '{') continue;
    const std::string header = code.substr(begin, i - begin);
    const bool inside = find_word(header, "namespace", 0) != header.npos ||
                        (header.find('(') == header.npos && find_word(header, "extern", 0) != header.npos);
    if (inside) {
      begin = i + 1;
      continue;
    }
    bodies.push_back({begin, i, behind_bracket(code, i)});
    begin = bodies.back().end;
    i = begin - 1;
  }
  return bodies;
}

}  // namespace lapidary::trial
