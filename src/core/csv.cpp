#include "core/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.hpp"

namespace lapidary {
namespace {

[[noreturn]] void refuse_at(std::string_view file, const CsvValue& value, std::string_view message) {
  throw InvalidArgument(fmt::format("{}:{}:{}: {}", file, value.line, value.column, message));
}

/// Goes through a text row by row.
class Reader {
 public:
  Reader(std::string_view text, std::string_view file) : text_(text), file_(file) {
    if (constexpr std::string_view mark = "\xef\xbb\xbf"; text_.starts_with(mark)) text_.remove_prefix(mark.size());
  }

  /// The values of the next line that is not empty; none behind the last.
  std::vector<CsvValue> next_row() {
    while (at_ < text_.size() && at_line_end()) end_line();
    std::vector<CsvValue> row;
    if (at_ == text_.size()) return row;
    for (;;) {
      row.push_back(next_value());
      if (at_line_end()) break;
      ++at_;  // the comma
    }
    end_line();
    return row;
  }

 private:
  bool at_line_end() const {
    std::string_view rest = text_.substr(at_);
    if (rest.starts_with('\r')) rest.remove_prefix(1);
    return rest.empty() || rest.front() == '\n';
  }

  void end_line() {
    at_ = std::min(text_.find('\n', at_), text_.size() - 1) + 1;
    line_begin_ = at_;
    ++line_;
  }

  /// Stops at the comma or the end of the line behind it.
  CsvValue next_value() {
    CsvValue value{{}, line_, at_ - line_begin_ + 1};
    if (text_.substr(at_, 1) == "\"") {
      read_quoted(value);
    } else {
      for (; !at_line_end() && text_[at_] != ','; ++at_) value.text += text_[at_];
    }
    return value;
  }

  void read_quoted(CsvValue& value) {
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '"') {
        ++at_;
        if (at_line_end() || text_[at_] == ',') return;
        if (text_[at_] != '"')
          refuse_at(file_, value, "behind the closing quote there is more; a quote is written \"\"");
      }
      value.text += text_[at_];
      if (text_[at_] == '\n') {
        ++line_;
        line_begin_ = at_ + 1;
      }
    }
    refuse_at(file_, value, "the quotes are not closed");
  }

  std::string_view text_, file_;
  std::size_t at_ = 0, line_ = 1, line_begin_ = 0;
};

}  // namespace

void CsvTable::refuse(const CsvValue& value, std::string_view message) const { refuse_at(file, value, message); }

std::size_t CsvTable::column(std::string_view name) const {
  const auto found = std::find_if(header.begin(), header.end(), [&](const CsvValue& v) { return v.text == name; });
  if (found == header.end()) refuse(header.front(), fmt::format("the column {} is missing", name));
  return static_cast<std::size_t>(found - header.begin());
}

CsvTable parse_csv(std::string_view text, std::string file) {
  Reader reader(text, file);
  CsvTable table{.file = file, .header = reader.next_row(), .rows = {}};
  if (table.header.empty()) table.refuse({}, "the line of column names is missing");
  for (const CsvValue& title : table.header) {
    const auto same = [&](const CsvValue& other) { return other.text == title.text; };
    if (std::count_if(table.header.begin(), table.header.end(), same) > 1)
      table.refuse(title, fmt::format("there are two columns {}; one is enough", title.text));
  }
  for (std::vector<CsvValue> row = reader.next_row(); !row.empty(); row = reader.next_row()) {
    if (row.size() != table.header.size())
      table.refuse(row.back(),
                   fmt::format("there are {} values; the first line has {} columns", row.size(), table.header.size()));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace lapidary
