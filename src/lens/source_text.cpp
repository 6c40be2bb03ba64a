#include "lens/source_text.hpp"

#include <regex>
#include <sstream>

#include "core/data_file.hpp"
#include "core/file.hpp"
#include "kernels/registry.hpp"
#include "kernels/sources.hpp"

namespace lapidary::lens {
namespace {

std::string read(const std::string& file) {
  for (const Rung& rung : ladder()) {
    if (rung.source == file) return std::string(rung_source(rung.name()));
  }
  for (const OptionalRung& rung : optional_rungs()) {
    if (rung.source == file) return std::string(rung_source(rung.name));
  }
  if (std::optional<std::string> text = read_file(file)) return *std::move(text);
  return read_file(data_file(file)).value_or("");
}

std::string without_blanks(const std::string& line) {
  const std::size_t begin = line.find_first_not_of(" \t");
  return begin == std::string::npos ? "" : line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
}

}  // namespace

std::string SourceText::line(const std::string& file, int number) {
  auto place = files_.find(file);
  if (place == files_.end()) {
    std::vector<std::string> lines;
    std::istringstream text(read(file));
    for (std::string line; std::getline(text, line);) lines.push_back(without_blanks(line));
    place = files_.emplace(file, std::move(lines)).first;
  }
  const std::vector<std::string>& lines = place->second;
  return number >= 1 && number <= static_cast<int>(lines.size()) ? lines[static_cast<std::size_t>(number) - 1] : "";
}

void SourceText::replace(const std::string& file, std::vector<std::string> lines) {
  for (std::string& line : lines) line = without_blanks(line);
  files_[file] = std::move(lines);
}

std::string SourceText::annotate(const std::string& message) {
  static const std::regex place(R"(([\w./+-]+\.\w+):(\d+))");
  std::istringstream lines(message);
  std::string out;
  for (std::string text; std::getline(lines, text);) {
    out += (out.empty() ? "" : "\n") + text;
    std::smatch match;
    if (!std::regex_search(text, match, place)) continue;
    const std::string code = line(match[1], std::stoi(match[2]));
    if (!code.empty()) out += "\n      " + code;
  }
  return out;
}

}  // namespace lapidary::lens
