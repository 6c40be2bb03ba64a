#include "trial/definitions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "core/pattern.hpp"
#include "trial/declarations.hpp"
#include "trial/tokens.hpp"

namespace lapidary::trial {

Definitions::Definitions(const CudaText& source) {
  static const std::regex macro = pattern(R"(#[ \t]*define[ \t]+(\w+)[ \t]+([^\n]+))");
  static const std::regex variable = pattern(R"(\b(\w+)[ \t]*=(?!=))");
  static const std::regex shapes = pattern(R"(\bdim3[ \t]+(?:const[ \t]+)?([^;]*);)");
  static const std::regex shape = pattern(R"(\s*(\w+)\s*(?:=\s*(?:dim3\s*)?)?[\(\{]([^]*)[\)\}]\s*)");
  static const std::regex alias = pattern(R"(\btypedef\s+([^;{}]+?)\s+(\w+)\s*;|\busing\s+(\w+)\s*=\s*([^;{}]+);)");
  static const std::regex structure = pattern(
      R"((?:\btemplate\s*<([^{}]*)>\s*)?\b(?:struct|class)\s+(\w+)[^;{}()]*\{)");
  const std::string &text = source.uncommented(), &code = source.code();
  const auto each = [](const std::string& in, const std::regex& pattern, const auto& add) {
    for (auto match = std::sregex_iterator(in.begin(), in.end(), pattern); match != std::sregex_iterator(); ++match)
      add(*match, static_cast<std::size_t>(match->position()));
  };
  const auto define = [&](std::size_t position, std::string name, std::size_t begin, std::size_t end, bool constant) {
    const std::vector<std::string> parts = split_arguments(std::string_view(text).substr(begin, end - begin));
    if (!parts.empty())
      definitions_.push_back({position, std::move(name), parts[0], skip_blanks(text, begin), constant});
  };
  each(text, macro, [&](const std::smatch& match, std::size_t at) {
    const std::size_t begin = static_cast<std::size_t>(match.position(2));
    define(at, match[1], begin, begin + static_cast<std::size_t>(match.length(2)), true);
  });
  each(code, variable, [&](const std::smatch& match, std::size_t at) {
    const std::size_t begin = at + static_cast<std::size_t>(match.length());
    define(at, match[1], begin, std::min(code.find_first_of(";\n", begin), code.size()),
           source.outside_of_functions(at));
  });
  each(code, shapes, [&](const std::smatch& match, std::size_t at) {
    for (const std::string& declarator : split_arguments(match[1].str()))
      if (std::smatch one; std::regex_match(declarator, one, shape))
        definitions_.push_back({at, one[1], trimmed(one[2].str()), at, false});
  });
  each(code, alias, [&](const std::smatch& match, std::size_t) {
    const bool is_typedef = match[1].matched;
    aliases_.emplace_back(match[is_typedef ? 2 : 3], match[is_typedef ? 1 : 4]);
  });
  each(code, structure, [&](const std::smatch& match, std::size_t at) {
    const std::size_t open = at + static_cast<std::size_t>(match.length()) - 1;
    structures_.push_back({match[2], match[1], code.substr(open, behind_bracket(code, open) - open)});
  });
}

std::optional<std::string> Definitions::constant(std::string_view name) const {
  for (const Definition& definition : definitions_)
    if (definition.constant && definition.name == name) return definition.value;
  return std::nullopt;
}

std::vector<Edit> Definitions::redefine(std::string_view name, const std::string& value) {
  std::vector<Edit> edits;
  for (Definition& definition : definitions_) {
    if (!definition.constant || definition.name != name || definition.value == value) continue;
    edits.push_back({definition.begin, definition.begin + definition.value.size(), value});
    definition.value = value;
  }
  return edits;
}

std::string Definitions::member_of(const std::string& structure, const std::vector<std::string>& arguments,
                                   const std::string& member) const {
  const std::regex alias = pattern(
      fmt::format(R"(\btypedef\s+([^;{{}}]+?)\s+{0}\s*;|\b{0}\s*=\s*([^,;{{}}]+)[,;])", member));
  for (const Structure& one : structures_) {
    std::smatch found;
    if (one.name != structure || !std::regex_search(one.body, found, alias)) continue;
    return with_arguments(found[found[1].matched ? 1 : 2], parameters_of(one.template_parameters), arguments);
  }
  return "";
}

std::string Definitions::without_aliases(std::string type) const {
  static const std::regex of_structure = pattern(
      R"((?:\btypename\s+)?(?:\b\w+\s*::\s*)*\b(\w+)\s*(?:<([^<>]*)>)?\s*::\s*(\w+))");
  std::vector<std::pair<std::string, std::string>> names = aliases_;
  for (const Definition& definition : definitions_)
    if (definition.constant) names.emplace_back(definition.name, definition.value);
  for (int i = 0; i < 8; ++i) {  // aliases may stand for aliases
    const std::string before = type;
    for (auto& [name, meaning] : names) {
      const std::size_t place = name.empty() ? type.npos : find_word(type, name, 0);
      if (place == type.npos || (place >= 2 && type.compare(place - 2, 2, "::") == 0)) continue;
      type.replace(place, name.size(), meaning);
      if (find_word(meaning, name, 0) != meaning.npos) name.clear();  // once, or it would never end
    }
    std::smatch match;
    if (std::regex_search(type, match, of_structure))
      if (const std::string meaning = member_of(match[1], split_arguments(match[2].str()), match[3]); !meaning.empty())
        type.replace(static_cast<std::size_t>(match.position()), static_cast<std::size_t>(match.length()), meaning);
    if (type == before) break;
  }
  return type;
}

std::optional<std::string> Definitions::before(std::size_t position, std::string_view name) const {
  const Definition* found = nullptr;
  for (const Definition& definition : definitions_) {
    if (definition.name != name || definition.position >= position) continue;
    if (!found || definition.position >= found->position) found = &definition;
  }
  if (!found) return std::nullopt;
  return found->value;
}

}  // namespace lapidary::trial
