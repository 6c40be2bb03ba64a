#include "report/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace lapidary::report {
namespace {

/// The first `width` columns of a text.
std::string_view head(std::string_view text, int width) {
  std::size_t bytes = 0;
  for (; bytes < text.size(); ++bytes) {
    if ((text[bytes] & 0xc0) != 0x80 && width-- == 0) break;
  }
  return text.substr(0, bytes);
}

}  // namespace

std::string with_separators(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t place = digits.size(); place > 3;) digits.insert(place -= 3, 1, ',');
  return digits;
}

std::string counted_percent(double share) { return fmt::format("{:.3g} %", 100 * share); }

std::string in_short(std::uint64_t number) {
  if (number < 10000) return with_separators(number);
  double value = static_cast<double>(number);
  // From 999.5 on three digits would be rounded up to four.
  for (const char unit : {'K', 'M', 'G', 'T', 'P', 'E'}) {
    value /= 1000;
    if (value < 999.5 || unit == 'E') {
      return fmt::format("{:.{}f}{}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, unit);
    }
  }
  return {};
}

int display_width(std::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string cut(std::string_view text, int width) {
  return display_width(text) <= width ? std::string(text) : std::string(head(text, width - 3)) + "...";
}

std::vector<std::string> wrap(std::string_view text, int width) {
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (!lines.back().empty() && display_width(lines.back()) + 1 + display_width(word) > width) lines.emplace_back();
    while (display_width(word) > width) {
      const std::string_view part = head(word, width);
      lines.back() = part;
      lines.emplace_back();
      word.remove_prefix(part.size());
    }
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back() += word;
  }
  return lines;
}

std::string paragraph(std::string_view text, int width) {
  constexpr std::string_view indentation = "  ";
  std::string out;
  for (const std::string& line : wrap(text, width - display_width(indentation))) {
    out += fmt::format("{}{}\n", out.empty() ? "" : indentation, line);
  }
  return out;
}

std::string styled(std::string text, Style style, bool colour) {
  if (!colour || style == Style::plain || text.empty()) return text;
  constexpr std::array<const char*, 5> codes = {"0", "1", "32", "31", "2"};
  return fmt::format("\x1b[{}m{}\x1b[0m", codes[static_cast<std::size_t>(style)], text);
}

}  // namespace lapidary::report
