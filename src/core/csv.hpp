#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lapidary {

/// A value of a table, and where in its file it begins, both from 1 on.
struct CsvValue {
  std::string text;
  std::size_t line = 1, column = 1;
};

/// A table of values that are separated by commas, a line of column names first.
struct CsvTable {
  std::string file;  ///< for messages
  std::vector<CsvValue> header;
  std::vector<std::vector<CsvValue>> rows;  ///< of as many values as the header has

  /// Index of the column of that name. @throws InvalidArgument if there is none
  std::size_t column(std::string_view name) const;

  /// @throws InvalidArgument "file:line:column: message"
  [[noreturn]] void refuse(const CsvValue& value, std::string_view message) const;
};

/// Reads a table as RFC 4180 has it: a value in quotes may have commas and line breaks in it, and quotes, which are
/// written twice. Lines end with or without a carriage return; empty ones are left out, and so is a byte order mark.
/// @throws InvalidArgument as CsvTable::refuse() if there is no header, two columns have one name, a row has more or
/// fewer values than there are columns, or a value's quotes are not closed
CsvTable parse_csv(std::string_view text, std::string file);

}  // namespace lapidary
