#include "trial/tokens.hpp"

#include <algorithm>
#include <cctype>

namespace lapidary::trial {
namespace {

/// Blanks, but for line breaks, over a range of a text.
void blank(std::string& text, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i)
    if (text[i] != '\n') text[i] = ' ';
}

}  // namespace

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

std::string trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return std::string(text);
}

std::string without_comments(std::string text) {
  for (std::size_t i = 0; i < text.size();) {
    if (text.compare(i, 2, "//") == 0 || text.compare(i, 2, "/*") == 0) {
      const bool line = text[i + 1] == '/';
      std::size_t end = text.find(line ? "\n" : "*/", i + 2);
      end = end == text.npos ? text.size() : line ? end : end + 2;
      blank(text, i, end);
      i = end;
    } else if (text[i] == '"' || (text[i] == '\'' && !(i > 0 && is_word(text[i - 1])))) {
      const char quote = text[i++];
      while (i < text.size() && text[i] != quote && text[i] != '\n') i += text[i] == '\\' ? 2 : 1;
      ++i;
    } else {
      ++i;
    }
  }
  return text;
}

/// Blanks for what stands between quotes.
std::string without_strings(std::string text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '"' && (text[i] != '\'' || (i > 0 && is_word(text[i - 1])))) continue;
    const std::size_t begin = i;
    const char quote = text[i++];
    while (i < text.size() && text[i] != quote && text[i] != '\n') i += text[i] == '\\' ? 2 : 1;
    blank(text, begin + 1, std::min(i, text.size()));
  }
  return text;
}

/// Blanks for preprocessor lines.
std::string without_directives(std::string text) {
  bool at_start = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '#' && at_start) {
      std::size_t end = i;
      do end = std::min(text.find('\n', end + 1), text.size());
      while (end < text.size() && text[end - 1] == '\\');
      blank(text, i, end);
      i = end;
    } else if (text[i] == '\n') {
      at_start = true;
    } else if (!is_blank(text[i])) {
      at_start = false;
    }
  }
  return text;
}

std::size_t find_word(const std::string& text, std::string_view word, std::size_t from) {
  for (std::size_t i = text.find(word, from); i != text.npos; i = text.find(word, i + 1))
    if ((i == 0 || !is_word(text[i - 1])) && (i + word.size() == text.size() || !is_word(text[i + word.size()])))
      return i;
  return text.npos;
}

/// The place behind the bracket that closes the one at `open`; the end of the text if there is none.
std::size_t behind_bracket(const std::string& text, std::size_t open) {
  const char left = text[open], right = left == '(' ? ')' : left == '[' ? ']' : left == '{' ? '}' : '>';
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == left) ++depth;
    if (text[i] == right && --depth == 0) return i + 1;
  }
  return text.size();
}

std::size_t skip_blanks(const std::string& text, std::size_t i) {
  while (i < text.size() && is_blank(text[i])) ++i;
  return i;
}

std::string word_at(const std::string& text, std::size_t i) {
  std::size_t end = i;
  while (end < text.size() && is_word(text[end])) ++end;
  return text.substr(i, end - i);
}

std::size_t statement_begin(const std::string& code, std::size_t position) {
  const std::size_t before = code.find_last_of(";{}", position);
  return before == code.npos ? 0 : before + 1;
}

std::string without_extents(std::string declarator) {
  for (std::size_t open; declarator.ends_with(']') && (open = declarator.rfind('[')) != declarator.npos;)
    declarator = trimmed(declarator.substr(0, open));
  return declarator;
}

std::vector<std::string> split_arguments(std::string_view text) {
  std::vector<std::string> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (std::string_view("([{<").find(text[i]) != std::string_view::npos) ++depth;
    if (std::string_view(")]}>").find(text[i]) != std::string_view::npos) --depth;
    if (text[i] == ',' && depth == 0) {
      parts.push_back(trimmed(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  parts.push_back(trimmed(text.substr(begin)));
  if (parts.size() == 1 && parts[0].empty()) parts.clear();
  return parts;
}

}  // namespace lapidary::trial
