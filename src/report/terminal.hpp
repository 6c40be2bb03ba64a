#pragma once
#include <cstdio>

namespace lapidary::report {

/// Columns that output is made for, whatever the terminal's width: it looks the same in a log.
constexpr int page_width = 120;

/// Whether a stream is read by a person at a terminal.
bool is_terminal(std::FILE* stream);

/// Whether to write colours to a stream: it is a terminal that has them, and NO_COLOR (https://no-color.org) is not set
/// or empty.
bool wants_colour(std::FILE* stream);

}  // namespace lapidary::report
