#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "lens/explanation.hpp"
#include "report/document.hpp"

namespace lapidary::pages {

/// What a page of a rung is made for.
struct PageTarget {
  std::function<std::string(std::string_view kernel)> page;  ///< the link to a rung's page
  std::function<std::string(std::string_view path)> source;  ///< the link to a file of the project
};

/// All about a rung: its idea and what it changes, what it costs, what was predicted and measured of all its tiles and
/// sizes, the card's counters, and something to try. @param e  of explain_for_page()
report::Document rung_page(const lens::Explanation& e, const PageTarget& target);

}  // namespace lapidary::pages
