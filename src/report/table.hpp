#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "report/terminal.hpp"
#include "report/text.hpp"

namespace lapidary::report {

struct Column {
  enum Kind : std::uint8_t {
    text,     ///< to the left, on one line
    wrapped,  ///< to the left, broken between words where the table is too wide
    number,   ///< to the right
  };
  std::string title;
  Kind kind = text;
  std::string group = {};  ///< a title above the titles of neighbouring columns of the same group
  int width = 0;           ///< at least so wide
};

/// What stands in one place of a table: nothing, a text, or a count that the table may write in short.
struct Cell {
  std::variant<std::monostate, std::string, std::uint64_t> value = {};
  Style style = Style::plain;
};

/// A table in plain text.
class Table {
 public:
  explicit Table(std::vector<Column> columns);

  /// One cell for each column; those left out at the end are empty.
  void add_row(std::vector<Cell> cells);
  /// A line of its own, cut off at the width of the page.
  void add_section(std::string text);

  /// The table with a line break behind each line and no blanks at the end of lines. What is too wide for the page gets
  /// narrower gaps between its columns, then counts in short, then wrapped columns.
  std::string render(bool colour, int width = page_width) const;
  /// A row that is not in the table, as render() would write it. Where rows are printed one by one the table has none,
  /// and is rendered before them; Column::width then says how wide they will be.
  std::string render_row(const std::vector<Cell>& cells, bool colour, int width = page_width) const;
  /// A Markdown table; lines of their own stand in its first column.
  std::string markdown() const;
  /// A table element. Numbers have the class "number", styles their names; a line of its own spans all columns.
  std::string html() const;

 private:
  struct Row {
    std::string section;  ///< where there are no cells
    std::vector<Cell> cells;
  };
  struct Layout;

  std::vector<int> natural_widths(bool short_counts) const;
  Layout fit(int width) const;
  std::string group_line(const Layout& layout, bool colour) const;
  void append_row(std::string& out, const std::vector<Cell>& cells, const Layout& layout, bool colour) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace lapidary::report
