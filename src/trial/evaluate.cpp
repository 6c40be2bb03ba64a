#include "trial/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <regex>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "trial/tokens.hpp"

namespace lapidary::trial {
namespace {

class Evaluator {
 public:
  using Lookup = std::function<std::optional<std::string>(const std::string&)>;
  Evaluator(const std::string& text, const Lookup& lookup, int depth) : text_(text), lookup_(lookup), depth_(depth) {}

  double value() {
    if (depth_ > 20) fail("is defined by itself");
    const double result = shift();
    if (skip(); at_ < text_.size()) fail(fmt::format("has `{}` where an operator is expected", text_.substr(at_)));
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const { throw InvalidArgument(fmt::format("`{}` {}", text_, why)); }
  void skip() { at_ = skip_blanks(text_, at_); }
  bool take(char c) {
    skip();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  double shift() {
    double result = sum();
    for (;;) {
      skip();
      const std::string_view sign = std::string_view(text_).substr(at_, 2);
      if (sign != "<<" && sign != ">>") return result;
      at_ += 2;
      const int bits = static_cast<int>(sum());
      result = std::floor(std::ldexp(result, sign == "<<" ? bits : -bits));
    }
  }
  double sum() {
    double result = product();
    for (;;) {
      if (take('+'))
        result += product();
      else if (take('-'))
        result -= product();
      else
        return result;
    }
  }
  double product() {
    double result = unary();
    for (;;) {
      const bool was_real = real_;
      if (take('*')) {
        result *= unary();
      } else if (take('/') || take('%')) {
        const bool quotient = text_[at_ - 1] == '/';
        real_ = false;
        const double divisor = unary();
        real_ = real_ || was_real;
        if (divisor == 0) fail("divides by zero");
        result = !quotient ? std::fmod(result, divisor) : real_ ? result / divisor : std::trunc(result / divisor);
      } else {
        return result;
      }
    }
  }
  double unary() {
    if (take('-')) return -unary();
    if (take('+')) return unary();
    if (take('(')) {
      skip();
      static const std::regex cast(R"(^(?:const\s+)?((?:unsigned|int|uint|long|size_t|float|double|\s)+)\))");
      std::smatch match;
      const std::string rest = text_.substr(at_);
      if (std::regex_search(rest, match, cast)) {
        at_ += static_cast<std::size_t>(match.length());
        const double result = unary();
        const std::string type = match[1];
        if (type.find("float") != type.npos || type.find("double") != type.npos) real_ = true;
        return result;
      }
      const double result = shift();
      if (!take(')')) fail("lacks a `)`");
      return result;
    }
    skip();
    if (at_ == text_.size()) fail("ends too early");
    if (std::isdigit(static_cast<unsigned char>(text_[at_]))) {
      char* end = nullptr;
      const double result = std::strtod(text_.c_str() + at_, &end);
      const std::size_t last = static_cast<std::size_t>(end - text_.c_str());
      if (text_.substr(at_, last - at_).find('.') != std::string::npos) real_ = true;
      at_ = last;
      while (at_ < text_.size() && std::string_view("uUlLf").find(text_[at_]) != std::string_view::npos) ++at_;
      return result;
    }
    if (text_.compare(at_, 5, "std::") == 0) at_ += 5;
    std::string name = word_at(text_, at_);
    while (!name.empty() && text_.compare(at_ + name.size(), 2, "::") == 0)
      name += "::" + word_at(text_, at_ + name.size() + 2);
    if (name.empty()) fail(fmt::format("has `{}` where a number or a name is expected", text_.substr(at_)));
    at_ += name.size();
    skip();
    if (name == "static_cast" && take('<')) {
      const std::size_t end = text_.find('>', at_);
      if (end == text_.npos) fail("lacks a `>`");
      const std::string type = text_.substr(at_, end - at_);
      at_ = end + 1;
      if (type.find("float") != type.npos || type.find("double") != type.npos) real_ = true;
      return unary();
    }
    if (at_ < text_.size() && text_[at_] == '(') return call(name);
    std::string member;
    if (take('.')) {
      skip();
      member = word_at(text_, at_);
      at_ += member.size();
      if (const auto value = lookup_(name + "." + member)) return Evaluator(*value, lookup_, depth_ + 1).value();
    }
    const auto definition = lookup_(name);
    if (!definition) throw InvalidArgument(fmt::format("`{}` in `{}` is not known", name, text_));
    if (member.empty()) return Evaluator(*definition, lookup_, depth_ + 1).value();
    const std::size_t dimension = std::string_view("xyz").find(member);
    if (dimension == std::string_view::npos) fail(fmt::format("has the member `{}`, which is not known", member));
    const std::vector<std::string> extents = split_arguments(*definition);
    return dimension < extents.size() ? Evaluator(extents[dimension], lookup_, depth_ + 1).value() : 1;
  }
  double call(const std::string& name) {
    const std::size_t end = behind_bracket(text_, at_);
    const std::vector<std::string> parts = split_arguments(text_.substr(at_ + 1, end - at_ - 2));
    at_ = end;
    if (name == "sizeof" && parts.size() == 1) {
      static const std::map<std::string, int> sizes = {{"half", 2},    {"__half", 2}, {"float", 4},
                                                       {"int", 4},     {"half2", 4},  {"float2", 8},
                                                       {"float4", 16}, {"double", 8}, {"double2", 16}};
      if (const auto size = sizes.find(parts[0]); size != sizes.end()) return size->second;
      fail(fmt::format("has a size of `{}`, which is not known", parts[0]));
    }
    std::vector<double> values;
    for (const std::string& part : parts) values.push_back(Evaluator(part, lookup_, depth_ + 1).value());
    std::string lower = name;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char c) { return static_cast<char>(std::tolower(c)); });
    std::erase(lower, '_');
    if (values.size() == 2) {
      if (lower == "ceildiv" || lower == "cdiv" || lower == "divup" || lower == "divceil" || lower == "idivup" ||
          lower == "divroundup")
        return values[1] == 0 ? (fail("divides by zero"), 0) : std::ceil(values[0] / values[1]);
      if (lower == "min") return std::min(values[0], values[1]);
      if (lower == "max") return std::max(values[0], values[1]);
    }
    if (values.size() == 1) {
      if (lower == "ceil" || lower == "ceilf") return std::ceil(values[0]);
      if (lower == "floor" || lower == "floorf") return std::floor(values[0]);
      if (lower == "dim3" || lower == "int") return values[0];
    }
    fail(fmt::format("calls `{}`, which is not known; ceil_div, min, max, ceil and floor are", name));
  }

  std::string text_;
  const Lookup& lookup_;
  int depth_;
  std::size_t at_ = 0;
  bool real_ = false;
};

}  // namespace

std::int64_t evaluate(const std::string& expression, const Evaluator::Lookup& lookup) {
  return static_cast<std::int64_t>(Evaluator(expression, lookup, 0).value());
}

}  // namespace lapidary::trial
