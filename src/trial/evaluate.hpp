#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace lapidary::trial {

/// The value of an expression of a CUDA file (core/expression.hpp), without what it has behind the point.
/// @param lookup  what a name stands for; of `block.x` it is asked for itself and for `block`, of which it is the first
///                part, or 1 if there are not as many
/// @throws InvalidArgument naming what cannot be evaluated
std::int64_t evaluate(const std::string& expression,
                      const std::function<std::optional<std::string>(const std::string&)>& lookup);

}  // namespace lapidary::trial
