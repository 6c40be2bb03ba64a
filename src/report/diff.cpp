#include "report/diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "report/markup.hpp"

namespace lapidary::report {
namespace {

using Lines = std::vector<std::string_view>;

Lines split(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, length));
    text.remove_prefix(std::min(text.size(), length + 1));
  }
  return lines;
}

/// A line of the common text of both: kept (' '), only in the old text ('-') or only in the new one ('+').
struct Edit {
  char kind;
  std::string_view line;
};

/// The edits along a longest common subsequence; of lines that change places, the old ones come first.
std::vector<Edit> edits_between(const Lines& before, const Lines& after) {
  const std::size_t rows = before.size(), cols = after.size();
  // common[i][j]: length of the longest common subsequence of before[i..] and after[j..].
  std::vector<std::vector<int>> common(rows + 1, std::vector<int>(cols + 1));
  for (std::size_t i = rows; i-- > 0;) {
    for (std::size_t j = cols; j-- > 0;) {
      common[i][j] = before[i] == after[j] ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
    }
  }
  std::vector<Edit> edits;
  std::size_t i = 0, j = 0;
  while (i < rows || j < cols) {
    if (i < rows && j < cols && before[i] == after[j]) {
      edits.push_back({' ', before[i++]});
      ++j;
    } else if (j == cols || (i < rows && common[i + 1][j] >= common[i][j + 1])) {
      edits.push_back({'-', before[i++]});
    } else {
      edits.push_back({'+', after[j++]});
    }
  }
  return edits;
}

/// "12,7"; a range without lines is named by the line before it.
std::string range(std::size_t lines_before, std::size_t count) {
  const std::size_t first = count == 0 ? lines_before : lines_before + 1;
  return count == 1 ? fmt::format("{}", first) : fmt::format("{},{}", first, count);
}

}  // namespace

std::string unified_diff(std::string_view old_name, std::string_view old_text, std::string_view new_name,
                         std::string_view new_text) {
  constexpr std::ptrdiff_t context = 3;
  const std::vector<Edit> edits = edits_between(split(old_text), split(new_text));
  const auto changed = [](const Edit& e) { return e.kind != ' '; };
  std::string out;
  std::size_t old_line = 0, new_line = 0;  // lines of either text before `position`
  auto position = edits.begin();
  for (auto change = std::find_if(position, edits.end(), changed); change != edits.end();) {
    // A hunk goes on as long as its changes are too close for their contexts to be told apart.
    auto end = std::next(change), next = std::find_if(end, edits.end(), changed);
    for (; next != edits.end() && next - end <= 2 * context; next = std::find_if(end, edits.end(), changed)) {
      end = std::next(next);
    }
    const auto first = change - std::min(context, change - position);
    const auto last = end + std::min(context, edits.end() - end);
    old_line += static_cast<std::size_t>(first - position);
    new_line += static_cast<std::size_t>(first - position);

    if (out.empty()) out = fmt::format("--- {}\n+++ {}\n", old_name, new_name);
    const auto old_count = static_cast<std::size_t>(
        std::count_if(first, last, [](const Edit& e) { return e.kind != '+'; }));
    const auto new_count = static_cast<std::size_t>(
        std::count_if(first, last, [](const Edit& e) { return e.kind != '-'; }));
    out += fmt::format("@@ -{} +{} @@\n", range(old_line, old_count), range(new_line, new_count));
    for (auto edit = first; edit != last; ++edit) out += fmt::format("{}{}\n", edit->kind, edit->line);
    old_line += old_count;
    new_line += new_count;
    position = last;
    change = next;
  }
  return out;
}

std::string html_diff(std::string_view diff) {
  std::string out;
  for (int number = 0; !diff.empty(); ++number) {
    const std::string_view line = diff.substr(0, diff.find('\n'));
    diff.remove_prefix(std::min(diff.size(), line.size() + 1));
    const char first = line.empty() ? ' ' : line.front();
    // The first two lines name the files.
    const char* const style = number < 2 || first == '@' ? "place"
                              : first == '+'             ? "added"
                              : first == '-'             ? "removed"
                                                         : "";
    out += *style ? fmt::format("<span class=\"{}\">{}</span>\n", style, xml_escaped(line)) : xml_escaped(line) + "\n";
  }
  return out;
}

}  // namespace lapidary::report
