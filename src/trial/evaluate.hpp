#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace lapidary::trial {

/// The value of an integer expression of C: + - * / % << >>, brackets, casts, sizeof, min, max, ceil, and ceil_div(a,
/// b) by the names it has in tutorials. Names are looked up; for `block.x` what `block` stands for is a list.
/// @throws InvalidArgument naming what cannot be evaluated
std::int64_t evaluate(const std::string& expression,
                      const std::function<std::optional<std::string>(const std::string&)>& lookup);

}  // namespace lapidary::trial
