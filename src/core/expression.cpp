#include "core/expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

namespace lapidary {
namespace {

/// Whole numbers are held as exactly as real ones: up to this.
constexpr double most = 0x1p53;
/// Brackets, signs and casts within each other, and names that stand for names.
constexpr int most_nested = 100, most_definitions = 20;
/// Names in all: definitions that each name another one twice would never end.
constexpr int most_names = 10000;

struct Number {
  double value = 0;
  bool real = false;
};

struct Operator {
  std::string_view symbol;
  int level;  ///< 0 binds weakest
};
// Symbols that begin with another one come before it.
constexpr Operator operators[] = {{"<<", 5}, {">>", 5}, {"<=", 4}, {">=", 4}, {"==", 3}, {"!=", 3}, {"<", 4}, {">", 4},
                                  {"|", 0},  {"^", 1},  {"&", 2},  {"+", 6},  {"-", 6},  {"*", 7},  {"/", 7}, {"%", 7}};

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/// Reads a text from left to right, and evaluates it as it reads.
class Evaluator {
 public:
  /// @param known  how many names have been looked up, by it and by those that it stands for
  Evaluator(std::string_view text, std::size_t at, const ExpressionNames& names, int& known, int definitions = 0)
      : text_(text), at_(at), names_(names), known_(known), definitions_(definitions) {}

  std::size_t position() {
    skip_blanks();
    return at_;
  }

  /// Of operators that bind as tightly as this level or tighter.
  Number value(int level = 0) {
    Number left = operand();
    while (const Operator* const next = operator_from(level)) {
      const std::size_t at = at_;
      at_ += next->symbol.size();
      left = apply(next->symbol, left, value(next->level + 1), at);
    }
    return left;
  }

  void expect_end() {
    if (position() < text_.size()) fail(at_, fmt::format("expected an operator {}", instead()));
  }

 private:
  /// One more bracket, sign or cast, for as long as it lives.
  struct Nested {
    explicit Nested(Evaluator& evaluator) : depth(evaluator.depth_) {
      if (++depth > most_nested) evaluator.fail(evaluator.at_, fmt::format("at most {} are nested", most_nested));
    }
    ~Nested() { --depth; }
    int& depth;
  };

  [[noreturn]] void fail(std::size_t position, const std::string& message) const {
    throw ExpressionError(position, definitions_ == 0 ? message : fmt::format("{} in `{}`", message, text_));
  }
  std::string instead() {
    if (position() == text_.size()) return "but the text ends";
    std::size_t end = at_ + 1;  // of the character, of which UTF-8 may have several bytes
    while (end < text_.size() && (static_cast<unsigned char>(text_[end]) & 0xc0) == 0x80) ++end;
    return fmt::format("instead of \"{}\"", text_.substr(at_, end - at_));
  }
  void skip_blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }
  bool take(std::string_view symbol) {
    if (text_.substr(position(), symbol.size()) != symbol) return false;
    at_ += symbol.size();
    return true;
  }
  void expect(std::string_view symbol) {
    if (!take(symbol)) fail(at_, fmt::format("expected \"{}\" {}", symbol, instead()));
  }
  /// A name or a keyword; empty if none comes next.
  std::string word() {
    const std::size_t begin = position();
    while (at_ < text_.size() && (is_letter(text_[at_]) || (at_ > begin && is_digit(text_[at_])))) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  const Operator* operator_from(int level) {
    const std::string_view rest = text_.substr(position());
    for (const Operator& one : operators)
      if (rest.starts_with(one.symbol)) return one.level >= level ? &one : nullptr;
    return nullptr;
  }

  Number operand() {
    const Nested nested(*this);
    if (take("-")) {
      const Number number = operand();
      return {-number.value, number.real};
    }
    if (take("+")) return operand();
    if (take("(")) {
      if (const std::optional<bool> to_real = type_of_cast()) return converted(operand(), *to_real);
      const Number number = value();
      expect(")");
      return number;
    }
    if (position() < text_.size() && is_digit(text_[at_])) return number();
    take("std::");
    const std::size_t at = position();
    std::string name = word();
    if (name.empty()) fail(at, fmt::format("expected a number, a name or \"(\" {}", instead()));
    while (take("::")) name.append("::").append(word());
    if (name == "static_cast" && take("<")) {
      const std::size_t begin = at_, end = text_.find('>', begin);
      if (end == text_.npos) fail(begin, "this type is not closed by \">\"");
      at_ = end + 1;
      const std::string_view type = text_.substr(begin, end - begin);
      return converted(operand(), type.find("float") != type.npos || type.find("double") != type.npos);
    }
    if (take("(")) return call(name, at);
    if (take(".")) name.append(".").append(word());
    return meaning(name, at);
  }

  Number number() {
    const std::size_t begin = at_;
    const char *const first = text_.data() + at_, *const last = text_.data() + text_.size();
    Number result;
    std::from_chars_result read{};
    if (text_.substr(at_, 2) == "0x" || text_.substr(at_, 2) == "0X") {
      std::uint64_t whole = 0;
      read = std::from_chars(first + 2, last, whole, 16);
      result.value = static_cast<double>(whole);
    } else {
      read = std::from_chars(first, last, result.value);
      result.real = std::any_of(first, read.ptr, [](char c) { return c == '.' || c == 'e' || c == 'E'; });
    }
    if (read.ec != std::errc()) fail(begin, "this is no number");
    at_ = static_cast<std::size_t>(read.ptr - text_.data());
    while (at_ < text_.size() && std::string_view("uUlLfF").find(text_[at_]) != std::string_view::npos) ++at_;
    return limited(result, begin);
  }

  /// Takes a type and the bracket that closes its cast if they come next. Returns whether its numbers are real.
  std::optional<bool> type_of_cast() {
    constexpr std::array whole = {"const", "unsigned", "signed", "int", "uint", "long", "short", "size_t"};
    const std::size_t begin = at_;
    bool real = false;
    take("std::");
    for (std::string name = word(); !name.empty(); name = word()) {
      if (name == "float" || name == "double")
        real = true;
      else if (std::find(whole.begin(), whole.end(), name) == whole.end())
        break;
      if (take(")")) return real;
    }
    at_ = begin;
    return std::nullopt;
  }

  static Number converted(Number number, bool to_real) {
    return {to_real ? number.value : std::trunc(number.value), to_real};
  }

  Number call(const std::string& name, std::size_t at) {
    if (name == "sizeof") return size_of_type(at);
    std::vector<Number> given;
    do given.push_back(value());
    while (take(","));
    expect(")");
    std::string lower;
    for (const char c : name)
      if (c != '_') lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
      return std::find(names.begin(), names.end(), lower) != names.end();
    };
    if (given.size() == 2) {
      const auto [x, y] = std::pair(given[0], given[1]);
      if (is_one_of({"ceildiv", "cdiv", "divup", "divceil", "idivup", "divroundup"})) {
        if (y.value == 0) fail(at, "division by 0");
        return limited({std::ceil(x.value / y.value), false}, at);
      }
      if (lower == "min") return {std::min(x.value, y.value), x.real || y.real};
      if (lower == "max") return {std::max(x.value, y.value), x.real || y.real};
    }
    if (given.size() == 1) {
      if (is_one_of({"ceil", "ceilf"})) return {std::ceil(given[0].value), true};
      if (is_one_of({"floor", "floorf"})) return {std::floor(given[0].value), true};
      if (is_one_of({"dim3", "int"})) return converted(given[0], false);
    }
    fail(at, fmt::format("\"{}\" of {} is unknown; there are ceil_div, min, max, ceil and floor", name,
                         given.size() == 1 ? "one argument" : fmt::format("{} arguments", given.size())));
  }

  Number size_of_type(std::size_t at) {
    constexpr std::pair<std::string_view, int> sizes[] = {{"half", 2},    {"__half", 2}, {"float", 4},
                                                          {"int", 4},     {"half2", 4},  {"float2", 8},
                                                          {"float4", 16}, {"double", 8}, {"double2", 16}};
    const std::string type = word();
    expect(")");
    for (const auto& [name, bytes] : sizes)
      if (type == name) return {static_cast<double>(bytes), false};
    fail(at, fmt::format("the size of \"{}\" is not known", type));
  }

  Number meaning(const std::string& name, std::size_t at) {
    if (++known_ > most_names) fail(at, fmt::format("it stands for more than {} names", most_names));
    const std::optional<std::string> text = names_.meaning(name);
    if (!text) fail(at, fmt::format("\"{}\" is unknown{}", name, names_.known.empty() ? "" : "; " + names_.known));
    if (definitions_ == most_definitions) fail(at, fmt::format("\"{}\" is defined by itself", name));
    try {
      Evaluator evaluator(*text, 0, names_, known_, definitions_ + 1);
      const Number number = evaluator.value();
      evaluator.expect_end();
      return number;
    } catch (const ExpressionError& error) {
      throw ExpressionError(at, error.what());
    }
  }

  Number apply(std::string_view symbol, Number left, Number right, std::size_t at) const {
    const double x = left.value, y = right.value;
    const bool real = left.real || right.real;
    const auto truth = [](bool of) { return Number{of ? 1.0 : 0.0, false}; };
    if (symbol == "<=") return truth(x <= y);
    if (symbol == ">=") return truth(x >= y);
    if (symbol == "==") return truth(x == y);
    if (symbol == "!=") return truth(x != y);
    if (symbol == "<") return truth(x < y);
    if (symbol == ">") return truth(x > y);
    if (symbol == "|" || symbol == "^" || symbol == "&") {
      if (real) fail(at, fmt::format("\"{}\" is of whole numbers", symbol));
      const auto a = static_cast<std::int64_t>(x), b = static_cast<std::int64_t>(y);
      return {static_cast<double>(symbol == "|" ? a | b : symbol == "^" ? a ^ b : a & b), false};
    }
    if (symbol == "<<" || symbol == ">>") {
      if (!(y >= 0 && y <= 62)) fail(at, fmt::format("a shift is by 0 to 62 bits, not {}", y));
      const int bits = static_cast<int>(y);
      return limited({std::floor(std::ldexp(x, symbol == "<<" ? bits : -bits)), false}, at);
    }
    if (symbol == "/" || symbol == "%") {
      if (y == 0) fail(at, "division by 0");
      if (symbol == "%") return {std::fmod(x, y), real};
      return limited({real ? x / y : std::trunc(x / y), real}, at);
    }
    return limited({symbol == "+" ? x + y : symbol == "-" ? x - y : x * y, real}, at);
  }
  Number limited(Number number, std::size_t at) const {
    if (number.value >= -most && number.value <= most) return number;
    fail(at, fmt::format("values are at most {:.0f}; got {:.0f}", most, number.value));
  }

  std::string_view text_;
  std::size_t at_;
  const ExpressionNames& names_;
  int& known_;
  int definitions_;  ///< that this text stands for a name in
  int depth_ = 0;
};

}  // namespace

std::int64_t evaluate_at(std::string_view text, std::size_t& position, const ExpressionNames& names) {
  int known = 0;
  Evaluator evaluator(text, position, names, known);
  const Number number = evaluator.value();
  if (names.whole && number.real) throw ExpressionError(position, "this is a real number; a whole one is needed");
  position = evaluator.position();
  return static_cast<std::int64_t>(number.value);
}

std::int64_t evaluate(std::string_view text, const ExpressionNames& names) {
  try {
    int known = 0;
    Evaluator evaluator(text, 0, names, known);
    const Number number = evaluator.value();
    evaluator.expect_end();
    return static_cast<std::int64_t>(number.value);
  } catch (const ExpressionError& error) {
    throw InvalidArgument(fmt::format("`{}`: {}", text, error.what()));
  }
}

}  // namespace lapidary
