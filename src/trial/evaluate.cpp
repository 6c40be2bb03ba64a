#include "trial/evaluate.hpp"

#include <string_view>
#include <vector>

#include "core/expression.hpp"
#include "trial/tokens.hpp"

namespace lapidary::trial {

std::int64_t evaluate(const std::string& expression,
                      const std::function<std::optional<std::string>(const std::string&)>& lookup) {
  const auto meaning = [&](const std::string& name) {
    std::optional<std::string> found = lookup(name);
    const std::size_t dot = name.rfind('.');
    if (found || dot == name.npos || dot + 2 != name.size()) return found;
    const std::size_t dimension = std::string_view("xyz").find(name.back());
    if (dimension == std::string_view::npos || !(found = lookup(name.substr(0, dot)))) return found;
    const std::vector<std::string> extents = split_arguments(*found);
    return std::optional<std::string>(dimension < extents.size() ? extents[dimension] : "1");
  };
  return lapidary::evaluate(expression, {meaning, ""});
}

}  // namespace lapidary::trial
