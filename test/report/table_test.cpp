#include "report/table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace lapidary::report {
namespace {

std::size_t widest_line(const std::string& text) {
  std::size_t width = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) width = std::max(width, line.size());
  return width;
}

TEST(Table, AlignsColumns) {
  Table table({{"name"}, {"count", Column::number, "group"}, {"x", Column::number, "group"}});
  table.add_row({{"a"}, {std::uint64_t{1234567}}, {"0.5"}});
  table.add_section("section");
  table.add_row({{"longer"}});
  EXPECT_EQ(table.render(false),
            "        --- group ----\n"
            "name        count    x\n"
            "a       1,234,567  0.5\n"
            "section\n"
            "longer\n");
}

TEST(Table, WritesCountsInShortRatherThanTooWide) {
  std::vector<Column> columns(10, {"count", Column::number});
  Table table(columns);
  table.add_row(std::vector<Cell>(10, {std::uint64_t{123456789012}}));
  const std::string text = table.render(false, 100);
  EXPECT_LE(widest_line(text), 100u);
  EXPECT_NE(text.find("123G   123G"), std::string::npos) << text;
}

TEST(Table, NarrowsGapsBeforeItShortensCounts) {
  Table table(std::vector<Column>(10, {"count", Column::number}));
  table.add_row(std::vector<Cell>(10, {std::uint64_t{1234567}}));
  EXPECT_NE(table.render(false, 100).find("1,234,567 1,234,567"), std::string::npos);
}

TEST(Table, WrapsBetweenWords) {
  Table table({{"name"}, {"idea", Column::wrapped}});
  table.add_row({{"a"}, {"one two three four"}});
  EXPECT_EQ(table.render(false, 16), "name  idea\na     one two\n      three four\n");
}

TEST(Table, CutsSections) {
  Table table({{"name"}});
  table.add_section(std::string(50, 'x'));
  EXPECT_EQ(widest_line(table.render(false, 20)), 20u);
}

TEST(Table, HasEscapeCodesOnlyWithColour) {
  Table table({{"name"}});
  table.add_row({{"a", Style::good}});
  EXPECT_EQ(table.render(false).find('\x1b'), std::string::npos);
  EXPECT_NE(table.render(true).find("\x1b[32ma\x1b[0m"), std::string::npos);
}

}  // namespace
}  // namespace lapidary::report
