#pragma once
#include <string>
#include <string_view>

namespace lapidary::report {

/// A whole HTML page that loads nothing: style sheet and script are in it. It is complete without its script, which
/// adds a switch between light and dark shades and marks the chapter that is read.
/// @param title  plain text
/// @param navigation  HTML of links to the chapters, or empty
/// @param body  HTML
std::string html_page(std::string_view title, std::string_view navigation, std::string_view body);

}  // namespace lapidary::report
