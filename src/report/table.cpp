#include "report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "report/markup.hpp"

namespace lapidary::report {
namespace {

std::string text_of(const Cell& cell, bool short_counts) {
  if (const auto* text = std::get_if<std::string>(&cell.value)) return *text;
  if (const auto* count = std::get_if<std::uint64_t>(&cell.value)) {
    return short_counts ? in_short(*count) : with_separators(*count);
  }
  return "";
}

void end_line(std::string& out) {
  out.erase(out.find_last_not_of(' ') + 1);
  out += '\n';
}

}  // namespace

struct Table::Layout {
  std::vector<int> widths;
  int gap;
  bool short_counts;

  int total() const {
    return std::accumulate(widths.begin(), widths.end(), gap * (static_cast<int>(widths.size()) - 1));
  }
};

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::add_row(std::vector<Cell> cells) {
  cells.resize(columns_.size());
  rows_.push_back({"", std::move(cells)});
}

void Table::add_section(std::string text) { rows_.push_back({std::move(text), {}}); }

std::vector<int> Table::natural_widths(bool short_counts) const {
  std::vector<int> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    int width = std::max(display_width(columns_[c].title), columns_[c].width);
    for (const Row& row : rows_) {
      if (!row.cells.empty()) width = std::max(width, display_width(text_of(row.cells[c], short_counts)));
    }
    widths.push_back(width);
  }
  return widths;
}

Table::Layout Table::fit(int width) const {
  const bool wraps = std::any_of(columns_.begin(), columns_.end(),
                                 [](const Column& c) { return c.kind == Column::wrapped; });
  Layout layout{natural_widths(false), 2, false};
  if (layout.total() <= width) return layout;
  if (!wraps) {
    layout.gap = 1;
    if (layout.total() <= width) return layout;
    return {natural_widths(true), 2, true};
  }
  constexpr int least = 10;
  while (layout.total() > width) {
    int* widest = nullptr;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (columns_[c].kind == Column::wrapped && (!widest || layout.widths[c] > *widest)) widest = &layout.widths[c];
    }
    if (*widest <= least) break;
    --*widest;
  }
  return layout;
}

std::string Table::group_line(const Layout& layout, bool colour) const {
  std::string line;
  for (std::size_t c = 0; c < columns_.size();) {
    const std::string& group = columns_[c].group;
    int width = layout.widths[c];
    for (++c; c < columns_.size() && !group.empty() && columns_[c].group == group; ++c) {
      width += layout.gap + layout.widths[c];
    }
    if (group.empty()) {
      line.append(static_cast<std::size_t>(width), ' ');
    } else {
      line += styled(fmt::format("{:-^{}}", cut(fmt::format(" {} ", group), width), width), Style::faint, colour);
    }
    line.append(static_cast<std::size_t>(layout.gap), ' ');
  }
  end_line(line);
  return line;
}

void Table::append_row(std::string& out, const std::vector<Cell>& cells, const Layout& layout, bool colour) const {
  std::vector<std::vector<std::string>> lines(cells.size());
  std::size_t height = 1;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    const std::string text = text_of(cells[c], layout.short_counts);
    lines[c] = columns_[c].kind == Column::wrapped ? wrap(text, layout.widths[c]) : std::vector{text};
    height = std::max(height, lines[c].size());
  }
  for (std::size_t i = 0; i < height; ++i) {
    std::string line;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const std::string text = i < lines[c].size() ? lines[c][i] : "";
      const std::string blanks(static_cast<std::size_t>(std::max(0, layout.widths[c] - display_width(text))), ' ');
      const std::string shown = styled(text, cells[c].style, colour);
      line += columns_[c].kind == Column::number ? blanks + shown : shown + blanks;
      line.append(static_cast<std::size_t>(layout.gap), ' ');
    }
    end_line(line);
    out += line;
  }
}

std::string Table::render(bool colour, int width) const {
  const Layout layout = fit(width);
  std::string out;
  if (std::any_of(columns_.begin(), columns_.end(), [](const Column& c) { return !c.group.empty(); })) {
    out += group_line(layout, colour);
  }
  std::vector<Cell> titles;
  for (const Column& column : columns_) titles.push_back({column.title, Style::heading});
  append_row(out, titles, layout, colour);
  for (const Row& row : rows_) {
    if (row.cells.empty()) {
      out += cut(row.section, width) + '\n';
    } else {
      append_row(out, row.cells, layout, colour);
    }
  }
  return out;
}

std::string Table::render_row(const std::vector<Cell>& cells, bool colour, int width) const {
  std::string out;
  append_row(out, cells, fit(width), colour);
  return out;
}

std::string Table::markdown() const {
  std::string head = "|", rule = "|", body;
  for (const Column& column : columns_) {
    const bool unit = !column.group.empty();
    head += fmt::format(" {}{} |", unit ? markdown_text(column.group, true) + (column.title.empty() ? "" : ", ") : "",
                        markdown_text(column.title, true));
    rule += column.kind == Column::number ? " --: |" : " --- |";
  }
  for (const Row& row : rows_) {
    body += '|';
    if (row.cells.empty()) body += fmt::format(" `{}` |", row.section);
    for (const Cell& cell : row.cells) body += fmt::format(" {} |", markdown_text(text_of(cell, false), true));
    if (row.cells.empty())
      for (std::size_t c = 1; c < columns_.size(); ++c) body += " |";
    body += '\n';
  }
  return fmt::format("{}\n{}\n{}", head, rule, body);
}

std::string Table::html() const {
  constexpr std::array<const char*, 5> styles = {"", "heading", "good", "bad", "faint"};
  const auto classes = [&](std::size_t column, Style style) {
    const Column::Kind kind = columns_[column].kind;
    const char* const kind_class = kind == Column::number ? "number" : kind == Column::wrapped ? "wrapped" : "";
    const char* const style_class = styles[static_cast<std::size_t>(style)];
    if (!*kind_class && !*style_class) return std::string();
    return fmt::format(" class=\"{}{}{}\"", kind_class, *kind_class && *style_class ? " " : "", style_class);
  };
  std::string out = "<table>\n<thead>";
  if (std::any_of(columns_.begin(), columns_.end(), [](const Column& c) { return !c.group.empty(); })) {
    out += "<tr>";
    for (std::size_t c = 0; c < columns_.size();) {
      const std::string& group = columns_[c].group;
      std::size_t span = 1;
      while (!group.empty() && c + span < columns_.size() && columns_[c + span].group == group) ++span;
      out += fmt::format("<th class=\"group\" colspan=\"{}\">{}</th>", span, html_text(group));
      c += span;
    }
    out += "</tr>\n";
  }
  out += "<tr>";
  for (std::size_t c = 0; c < columns_.size(); ++c)
    out += fmt::format("<th{}>{}</th>", classes(c, Style::plain), html_text(columns_[c].title));
  out += "</tr></thead>\n<tbody>\n";
  for (const Row& row : rows_) {
    out += "<tr>";
    if (row.cells.empty())
      out += fmt::format("<td class=\"section\" colspan=\"{}\"><code>{}</code></td>", columns_.size(),
                         xml_escaped(row.section));
    for (std::size_t c = 0; c < row.cells.size(); ++c)
      out += fmt::format("<td{}>{}</td>", classes(c, row.cells[c].style), html_text(text_of(row.cells[c], false)));
    out += "</tr>\n";
  }
  return out + "</tbody></table>";
}

}  // namespace lapidary::report
