#include "report/markup.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lapidary::report {

std::string xml_escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      default: result += c;
    }
  }
  return result;
}

std::string html_text(std::string_view text) {
  std::string result;
  bool code = false;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('`', begin), text.size());
    const std::string piece = xml_escaped(text.substr(begin, end - begin));
    result += code ? fmt::format("<code>{}</code>", piece) : piece;
    code = !code;
    begin = end + 1;
  }
  return result;
}

std::string markdown_text(std::string_view text, bool in_table) {
  std::string result;
  bool code = false;
  for (const char c : text) {
    if (c == '`') code = !code;
    // A bar ends a table's cell even inside code, where elsewhere a backslash means itself.
    if ((in_table && c == '|') || (!code && (c == '<' || c == '*' || c == '[' || c == '\\'))) result += '\\';
    result += c;
  }
  return result;
}

}  // namespace lapidary::report
