#pragma once
#include <string>
#include <string_view>

namespace lapidary::report {

/// A text as XML and HTML show it: & < > " are written as entities.
std::string xml_escaped(std::string_view text);

/// A sentence of plain text as HTML; what stands between `backquotes` is code.
std::string html_text(std::string_view text);

/// A sentence of plain text as Markdown, in which < and, in a cell of a table, | mean themselves; what stands between
/// `backquotes` is code.
std::string markdown_text(std::string_view text, bool in_table = false);

}  // namespace lapidary::report
