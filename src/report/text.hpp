#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lapidary::report {

/// "16,777,216"
std::string with_separators(std::uint64_t number);
/// "12.5 %" of 0.125: three digits, of what was counted
std::string counted_percent(double share);

/// At most three significant digits and a unit from 10,000 on: "9,999", "16.8M".
std::string in_short(std::uint64_t number);

/// Columns that UTF-8 text takes on a terminal, for letters of single width.
int display_width(std::string_view text);

/// The text, or what of it fits into so many columns with "..." behind it.
std::string cut(std::string_view text, int width);

/// Breaks a text between words into lines of at most `width` columns; a longer word is broken anywhere.
std::vector<std::string> wrap(std::string_view text, int width);

/// A paragraph of lines that end in a line break, all but the first one indented.
std::string paragraph(std::string_view text, int width);

enum class Style : std::uint8_t { plain, heading, good, bad, faint };

/// The text between the escape sequences that give it a style, or alone without colour.
std::string styled(std::string text, Style style, bool colour);

}  // namespace lapidary::report
