#pragma once
#include <string>
#include <string_view>

namespace lapidary::report {

/// The difference of two texts in unified format with three lines of context, as `diff -u` writes it; empty if the
/// lines of both are the same. Time and memory grow with the product of the numbers of lines.
std::string unified_diff(std::string_view old_name, std::string_view old_text, std::string_view new_name,
                         std::string_view new_text);

/// Such a difference as HTML, for a `pre` element: lines in spans with the classes "added", "removed" and "place".
std::string html_diff(std::string_view diff);

}  // namespace lapidary::report
