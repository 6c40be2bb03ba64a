#include "core/csv.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/error.hpp"

namespace lapidary {
namespace {

std::vector<std::vector<std::string>> rows_of(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  for (const std::vector<CsvValue>& row : parse_csv(text, "t.csv").rows) {
    rows.emplace_back();
    for (const CsvValue& value : row) rows.back().push_back(value.text);
  }
  return rows;
}

std::string refusal(const std::string& text) {
  try {
    parse_csv(text, "t.csv");
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "no error";
}

using Rows = std::vector<std::vector<std::string>>;

TEST(Csv, ValuesAreWhatStandsBetweenCommas) {
  EXPECT_EQ(rows_of("a,b\n1, 2 \n,\n"), (Rows{{"1", " 2 "}, {"", ""}}));
  EXPECT_EQ(rows_of("a,b\n1,2"), (Rows{{"1", "2"}})) << "the last line needs no end";
  EXPECT_EQ(rows_of("a,b\r\n\r\n1,2\r\n\n3,4\r"), (Rows{{"1", "2"}, {"3", "4"}}));
  EXPECT_EQ(rows_of("a\n"), Rows{});
  EXPECT_EQ(parse_csv("\xef\xbb\xbf"
                      "a,b\n1,2\n",
                      "table.csv")
                .column("a"),
            0u)
      << "behind a byte order mark";
}

TEST(Csv, QuotesHoldCommasQuotesAndLineBreaks) {
  EXPECT_EQ(rows_of("a,b\n\"1,5\",\"\"\n\"say \"\"so\"\"\",\"two\nlines\"\n"),
            (Rows{{"1,5", ""}, {"say \"so\"", "two\nlines"}}));
  EXPECT_EQ(rows_of("a\n5\" disk\n"), (Rows{{"5\" disk"}})) << "quotes within a value are its own";
  EXPECT_EQ(rows_of("\"a,b\",c\n1,2"), (Rows{{"1", "2"}}));
}

TEST(Csv, ValuesKnowTheirLineAndColumn) {
  const CsvTable table = parse_csv("name,value\n\"x\ny\",1\n\n z,\"2\"", "t.csv");
  ASSERT_EQ(table.rows.size(), 2u);
  const auto place = [&](std::size_t row, std::size_t column) {
    const CsvValue& value = table.rows[row][column];
    return std::vector{value.line, value.column};
  };
  using Place = std::vector<std::size_t>;
  EXPECT_EQ(place(0, 0), (Place{2, 1}));
  EXPECT_EQ(place(0, 1), (Place{3, 4}));
  EXPECT_EQ(place(1, 0), (Place{5, 1}));
  EXPECT_EQ(place(1, 1), (Place{5, 4}));
  EXPECT_EQ(table.column("value"), 1u);
}

TEST(Csv, MalformedTablesAreRefusedByLineAndColumn) {
  EXPECT_EQ(refusal(""), "t.csv:1:1: the line of column names is missing");
  EXPECT_EQ(refusal("\n\n"), "t.csv:1:1: the line of column names is missing");
  EXPECT_EQ(refusal("a,b,a\n"), "t.csv:1:1: there are two columns a; one is enough");
  EXPECT_EQ(refusal("a,b\n1,2\n1,2,3\n"), "t.csv:3:5: there are 3 values; the first line has 2 columns");
  EXPECT_EQ(refusal("a,b\n1\n"), "t.csv:2:1: there are 1 values; the first line has 2 columns");
  EXPECT_EQ(refusal("a,b\n1,\"2\n3,4\n"), "t.csv:2:3: the quotes are not closed");
  EXPECT_EQ(refusal("a,b\n\"1\"2,3\n"), "t.csv:2:1: behind the closing quote there is more; a quote is written \"\"");
  const CsvTable table = parse_csv("a,b\n1,2\n", "t.csv");
  EXPECT_THROW(table.column("c"), InvalidArgument);
  EXPECT_THROW(table.refuse(table.rows[0][1], "wrong"), InvalidArgument);
}

}  // namespace
}  // namespace lapidary
