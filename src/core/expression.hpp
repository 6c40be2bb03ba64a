#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.hpp"

// Expressions that users write: sizes of a launch, indices of an access.
//
//   + - * / %  << >>  & ^ |  == != < <= > >=  ( )     with the precedence of C; - and + also before an operand
//   16, 0x10, 16u, 1.5, 2.0f                          a number with a point or an exponent is real
//   (int) x, static_cast<float>(x), sizeof(float4)    casts to C's integer and floating-point types
//   ceil_div, cdiv, div_up, idivup, min, max, ceil, floor, of any capitals, with std:: or without
//   lane, tile::BM, block.x                           names, which the caller knows
//
// Whole numbers are divided as C divides integers, real ones and mixed ones as real numbers.

namespace lapidary {

/// What is wrong with an expression. The message does not repeat its text.
class ExpressionError : public InvalidArgument {
 public:
  ExpressionError(std::size_t position, const std::string& message) : InvalidArgument(message), position_(position) {}
  /// Of the character in the text at which it is wrong.
  std::size_t position() const { return position_; }

 private:
  std::size_t position_;
};

/// What the names in an expression stand for.
struct ExpressionNames {
  /// The expression that a name stands for, or nothing if it is not known.
  std::function<std::optional<std::string>(const std::string& name)> meaning;
  std::string known;   ///< which names there are, for the error: "the only variable is lane"; may be empty
  bool whole = false;  ///< a value that is real is refused
};

/// The value of the expression that begins at `position` of a text, without what it has behind the point; `position` is
/// then behind the expression.
/// @throws ExpressionError
std::int64_t evaluate_at(std::string_view text, std::size_t& position, const ExpressionNames& names);

/// The value of an expression that is the whole text.
/// @throws InvalidArgument naming the text and what is wrong with it
std::int64_t evaluate(std::string_view text, const ExpressionNames& names);

}  // namespace lapidary
