#include "cli/type_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <string>
#include <utility>

namespace lapidary::cli {

std::string_view known_type_name(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> names[] = {
      {"fp32", "f32"},    {"float", "f32"},     {"float32", "f32"}, {"fp16", "f16"},   {"half", "f16"},
      {"float16", "f16"}, {"bfloat16", "bf16"}, {"fp64", "f64"},    {"double", "f64"}, {"float64", "f64"},
      {"int8", "s8"},     {"uint8", "u8"},      {"fp8", "e4m3"}};
  for (const auto& [other, known] : names) {
    if (name != other) continue;
    if (name == "fp8") fmt::print(stderr, "note: fp8 is taken for e4m3, not e5m2\n");
    return known;
  }
  return name;
}

std::string known_type_names(std::string_view text) {
  std::string known;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find_first_of(" ./", begin), text.size());
    std::string word(text.substr(begin, end - begin));
    std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::tolower(c); });
    const std::string_view name = known_type_name(word);
    known += name == word ? text.substr(begin, end - begin) : name;
    known += text.substr(end, 1);
    begin = end + 1;
  }
  return known;
}

Check known_type() {
  return Check([](std::string& text) {
    text = known_type_name(text);
    return std::string();
  });
}

}  // namespace lapidary::cli
