#include "cli/cuda_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <map>
#include <regex>

#include "cli/inline_ptx.hpp"
#include "core/error.hpp"
#include "core/file.hpp"

namespace lapidary::cli {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

std::string trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return std::string(text);
}

/// Blanks, but for line breaks, over a range of a text.
void blank(std::string& text, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i)
    if (text[i] != '\n') text[i] = ' ';
}

std::string without_comments(std::string text) {
  for (std::size_t i = 0; i < text.size();) {
    if (text.compare(i, 2, "//") == 0 || text.compare(i, 2, "/*") == 0) {
      const bool line = text[i + 1] == '/';
      std::size_t end = text.find(line ? "\n" : "*/", i + 2);
      end = end == text.npos ? text.size() : line ? end : end + 2;
      blank(text, i, end);
      i = end;
    } else if (text[i] == '"' || (text[i] == '\'' && !(i > 0 && is_word(text[i - 1])))) {
      const char quote = text[i++];
      while (i < text.size() && text[i] != quote && text[i] != '\n') i += text[i] == '\\' ? 2 : 1;
      ++i;
    } else {
      ++i;
    }
  }
  return text;
}

/// Blanks for what stands between quotes.
std::string without_strings(std::string text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '"' && (text[i] != '\'' || (i > 0 && is_word(text[i - 1])))) continue;
    const std::size_t begin = i;
    const char quote = text[i++];
    while (i < text.size() && text[i] != quote && text[i] != '\n') i += text[i] == '\\' ? 2 : 1;
    blank(text, begin + 1, std::min(i, text.size()));
  }
  return text;
}

/// Blanks for preprocessor lines.
std::string without_directives(std::string text) {
  bool at_start = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '#' && at_start) {
      std::size_t end = i;
      do end = std::min(text.find('\n', end + 1), text.size());
      while (end < text.size() && text[end - 1] == '\\');
      blank(text, i, end);
      i = end;
    } else if (text[i] == '\n') {
      at_start = true;
    } else if (!is_blank(text[i])) {
      at_start = false;
    }
  }
  return text;
}

std::size_t find_word(const std::string& text, std::string_view word, std::size_t from) {
  for (std::size_t i = text.find(word, from); i != text.npos; i = text.find(word, i + 1))
    if ((i == 0 || !is_word(text[i - 1])) && (i + word.size() == text.size() || !is_word(text[i + word.size()])))
      return i;
  return text.npos;
}

/// The place behind the bracket that closes the one at `open`; the end of the text if there is none.
std::size_t behind_bracket(const std::string& text, std::size_t open) {
  const char left = text[open], right = left == '(' ? ')' : left == '[' ? ']' : left == '{' ? '}' : '>';
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == left) ++depth;
    if (text[i] == right && --depth == 0) return i + 1;
  }
  return text.size();
}

std::size_t skip_blanks(const std::string& text, std::size_t i) {
  while (i < text.size() && is_blank(text[i])) ++i;
  return i;
}

std::string word_at(const std::string& text, std::size_t i) {
  std::size_t end = i;
  while (end < text.size() && is_word(text[end])) ++end;
  return text.substr(i, end - i);
}

/// "const float* __restrict__ A" as a type and a name.
CudaParameter parameter_of(std::string text) {
  if (const std::size_t value = text.find('='); value != text.npos) text.resize(value);
  text = trimmed(text);
  bool array = false;
  while (!text.empty() && text.back() == ']') {
    text = trimmed(text.substr(0, text.rfind('[')));
    array = true;
  }
  std::size_t begin = text.size();
  while (begin > 0 && is_word(text[begin - 1])) --begin;
  return {trimmed(text.substr(0, begin)) + (array ? "*" : ""), text.substr(begin)};
}

std::vector<CudaParameter> parameters_of(std::string_view text) {
  std::vector<CudaParameter> parameters;
  for (const std::string& part : split_arguments(text)) parameters.push_back(parameter_of(part));
  return parameters;
}

std::size_t statement_begin(const std::string& code, std::size_t position) {
  const std::size_t before = code.find_last_of(";{}", position);
  return before == code.npos ? 0 : before + 1;
}

}  // namespace

const CudaParameter* CudaParameter::elements() const {
  if (is_pointer()) return this;
  const auto pointer = [](const CudaParameter& member) { return member.is_pointer(); };
  if (std::count_if(members.begin(), members.end(), pointer) != 1) return nullptr;
  return &*std::find_if(members.begin(), members.end(), pointer);
}

std::vector<std::string> split_arguments(std::string_view text) {
  std::vector<std::string> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (std::string_view("([{<").find(text[i]) != std::string_view::npos) ++depth;
    if (std::string_view(")]}>").find(text[i]) != std::string_view::npos) --depth;
    if (text[i] == ',' && depth == 0) {
      parts.push_back(trimmed(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  parts.push_back(trimmed(text.substr(begin)));
  if (parts.size() == 1 && parts[0].empty()) parts.clear();
  return parts;
}

std::string with_arguments(std::string type, const std::vector<CudaParameter>& parameters,
                           const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < std::min(parameters.size(), arguments.size()); ++i) {
    const std::string& name = parameters[i].name;
    for (std::size_t place = name.empty() ? type.npos : find_word(type, name, 0); place != type.npos;
         place = find_word(type, name, place + arguments[i].size()))
      type.replace(place, name.size(), arguments[i]);
  }
  return type;
}

CudaSource::CudaSource(std::string path) : path_(std::move(path)) {
  text_ = read_file(path_).value_or("");
  if (text_.starts_with("\xef\xbb\xbf")) text_.erase(0, 3);  // a mark that it is UTF-8
  if (text_.empty()) throw InvalidArgument(fmt::format("cannot read {}", path_));
  const std::string text = without_comments(text_);
  code_ = without_directives(without_strings(text));
  refuse_unsupported();
  find_scopes();
  find_structures();
  find_kernels();
  find_launches();
  find_definitions();
  find_shared();
  find_inline_ptx(text);
  find_host_functions();
  find_includes();
}

int CudaSource::line_of(std::size_t position) const {
  return 1 + static_cast<int>(std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(position), '\n'));
}

void CudaSource::refuse_unsupported() const {
  constexpr std::array features = {"cooperative_groups", "texture", "tex1D", "tex2D", "tex3D", "surf2D",
                                   "__cluster_dims__"};
  for (const char* feature : features) {
    const std::size_t place = find_word(code_, feature, 0);
    if (place == code_.npos) continue;
    throw InvalidArgument(fmt::format(
        "{}:{}: `{}` is not supported; kernels may use CUDA C++ with float, half, bfloat16 and double, shared "
        "memory, barriers, warp shuffles and votes, warp matrix functions, some inline PTX, atomics and vector types",
        path_, line_of(place), feature));
  }
}

void CudaSource::find_structures() {
  for (std::size_t place = find_word(code_, "struct", 0); place != code_.npos;
       place = find_word(code_, "struct", place + 1)) {
    std::size_t open = skip_blanks(code_, place + std::string_view("struct").size());
    std::string name = word_at(code_, open);
    open = skip_blanks(code_, open + name.size());
    if (open == code_.size() || code_[open] != '{') continue;
    const std::size_t end = behind_bracket(code_, open);
    if (find_word(code_.substr(statement_begin(code_, place), place - statement_begin(code_, place)), "typedef", 0) !=
        code_.npos)
      name = word_at(code_, skip_blanks(code_, end));
    CudaParameter structure{"", name};
    for (std::size_t begin = open + 1, stop; (stop = code_.find(';', begin)) < end; begin = stop + 1) {
      const std::vector<std::string> declarators = split_arguments(code_.substr(begin, stop - begin));
      if (declarators.empty() || declarators[0].find('(') != std::string::npos) continue;
      const CudaParameter first = parameter_of(declarators[0]);
      for (const std::string& declarator : declarators)
        structure.members.push_back(&declarator == &declarators[0] ? first
                                                                   : parameter_of(first.type + " " + declarator));
    }
    if (!structure.name.empty()) structures_.push_back(std::move(structure));
  }
}

void CudaSource::find_kernels() {
  for (std::size_t place = find_word(code_, "__global__", 0); place != code_.npos;
       place = find_word(code_, "__global__", place + 1)) {
    std::size_t open = place;
    std::string name;
    for (;;) {
      open = code_.find('(', open);
      if (open == code_.npos) return;
      std::size_t end = open;
      while (end > 0 && is_blank(code_[end - 1])) --end;
      std::size_t begin = end;
      while (begin > 0 && is_word(code_[begin - 1])) --begin;
      name = code_.substr(begin, end - begin);
      if (name != "__launch_bounds__" && name != "__attribute__") break;
      open = behind_bracket(code_, open);
    }
    const std::size_t close = behind_bracket(code_, open), body = skip_blanks(code_, close);
    if (body == code_.size() || code_[body] != '{') continue;  // a declaration
    const std::size_t begin = statement_begin(code_, place);
    CudaKernel kernel{
        scope_of(place).value_or(""), name,          {}, parameters_of(code_.substr(open + 1, close - open - 2)), begin,
        behind_bracket(code_, body),  line_of(place)};
    if (const std::size_t word = find_word(code_, "template", begin); word < place) {
      const std::size_t angle = code_.find('<', word);
      const std::size_t last = behind_bracket(code_, angle);
      kernel.template_parameters = parameters_of(code_.substr(angle + 1, last - angle - 2));
    }
    for (CudaParameter& parameter : kernel.parameters)
      for (const CudaParameter& structure : structures_)
        if (!parameter.is_pointer() && find_word(parameter.type, structure.name, 0) != parameter.type.npos)
          parameter.members = structure.members;
    kernels_.push_back(std::move(kernel));
  }
}

void CudaSource::find_launches() {
  for (std::size_t place = code_.find("<<<"); place != code_.npos; place = code_.find("<<<", place + 3)) {
    CudaLaunch launch;
    launch.position = place;
    std::size_t end = place;
    while (end > 0 && is_blank(code_[end - 1])) --end;
    if (end > 0 && code_[end - 1] == '>') {
      std::size_t begin = end;
      int depth = 0;
      do {
        --begin;
        depth += code_[begin] == '>' ? 1 : code_[begin] == '<' ? -1 : 0;
      } while (begin > 0 && depth > 0);
      launch.template_arguments = split_arguments(code_.substr(begin + 1, end - begin - 2));
      end = begin;
    }
    std::size_t begin = end;
    while (begin > 0 && is_word(code_[begin - 1])) --begin;
    launch.kernel = code_.substr(begin, end - begin);
    const std::size_t close = code_.find(">>>", place);
    if (close == code_.npos) return;
    launch.configuration = split_arguments(code_.substr(place + 3, close - place - 3));
    const std::size_t open = skip_blanks(code_, close + 3);
    if (open < code_.size() && code_[open] == '(')
      launch.arguments = split_arguments(code_.substr(open + 1, behind_bracket(code_, open) - open - 2));
    launches_.push_back(std::move(launch));
  }
}

void CudaSource::find_definitions() {
  static const std::regex macro(R"(#[ \t]*define[ \t]+(\w+)[ \t]+([^\n]+))");
  static const std::regex variable(R"(\b(\w+)[ \t]*=(?!=))");
  static const std::regex shapes(R"(\bdim3[ \t]+(?:const[ \t]+)?([^;]*);)");
  static const std::regex shape(R"(\s*(\w+)\s*(?:=\s*(?:dim3\s*)?)?[\(\{]([^]*)[\)\}]\s*)");
  const std::string text = without_comments(text_);
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
  each(code_, variable, [&](const std::smatch& match, std::size_t at) {
    const std::size_t begin = at + static_cast<std::size_t>(match.length());
    define(at, match[1], begin, std::min(code_.find_first_of(";\n", begin), code_.size()), outside_of_functions(at));
  });
  each(code_, shapes, [&](const std::smatch& match, std::size_t at) {
    for (const std::string& declarator : split_arguments(match[1].str()))
      if (std::smatch one; std::regex_match(declarator, one, shape))
        definitions_.push_back({at, one[1], trimmed(one[2].str()), at, false});
  });
}

void CudaSource::find_scopes() {
  static const std::regex space(R"(\bnamespace((?:\s+\w+(?:\s*::\s*(?:inline\s+)?\w+)*)?)\s*$)");
  static const std::regex linkage(R"(\bextern\s*"\s*"\s*$)");
  std::vector<std::optional<std::string>> around = {""};
  scopes_[0] = "";
  for (std::size_t i = 0; i < code_.size(); ++i) {
    if (code_[i] == '{') {
      std::optional<std::string> scope = around.back();
      const std::size_t begin = i == 0 ? 0 : statement_begin(code_, i - 1);
      const std::string header = code_.substr(begin, i - begin);
      std::smatch match;
      if (scope && std::regex_search(header, match, space)) {
        const std::string name = std::regex_replace(match[1].str(), std::regex(R"(\s+|\binline\s)"), "");
        *scope += name.empty() ? "" : name + "::";
      } else if (!std::regex_search(header, linkage)) {
        scope.reset();
      }
      around.push_back(std::move(scope));
    } else if (code_[i] == '}' && around.size() > 1) {
      around.pop_back();
    } else {
      continue;
    }
    scopes_[i + 1] = around.back();
  }
}

std::optional<std::string> CudaSource::scope_of(std::size_t position) const {
  return std::prev(scopes_.upper_bound(position))->second;
}

bool CudaSource::outside_of_functions(std::size_t position) const { return scope_of(position).has_value(); }

std::optional<std::string> CudaSource::constant(std::string_view name) const {
  for (const Definition& definition : definitions_)
    if (definition.constant && definition.name == name) return definition.value;
  return std::nullopt;
}

void CudaSource::redefine(std::string_view name, const std::string& value) {
  for (Definition& definition : definitions_) {
    if (!definition.constant || definition.name != name || definition.value == value) continue;
    edits_.push_back({definition.begin, definition.begin + definition.value.size(), value});
    definition.value = value;
  }
}

std::string CudaSource::member_of(const std::string& structure, const std::vector<std::string>& arguments,
                                  const std::string& member) const {
  static const std::regex head(R"((?:\btemplate\s*<([^{}]*)>\s*)?\b(?:struct|class)\s+(\w+)[^;{}()]*\{)");
  for (auto match = std::sregex_iterator(code_.begin(), code_.end(), head); match != std::sregex_iterator(); ++match) {
    if ((*match)[2] != structure) continue;
    const std::size_t open = static_cast<std::size_t>(match->position() + match->length()) - 1;
    const std::string body = code_.substr(open, behind_bracket(code_, open) - open);
    const std::regex alias(fmt::format(R"(\btypedef\s+([^;{{}}]+?)\s+{0}\s*;|\b{0}\s*=\s*([^,;{{}}]+)[,;])", member));
    std::smatch found;
    if (!std::regex_search(body, found, alias)) continue;
    return with_arguments(found[found[1].matched ? 1 : 2], parameters_of((*match)[1].str()), arguments);
  }
  return "";
}

std::string CudaSource::without_aliases(std::string type) const {
  static const std::regex alias(R"(\btypedef\s+([^;{}]+?)\s+(\w+)\s*;|\busing\s+(\w+)\s*=\s*([^;{}]+);)");
  static const std::regex of_structure(R"((?:\btypename\s+)?(?:\b\w+\s*::\s*)*\b(\w+)\s*(?:<([^<>]*)>)?\s*::\s*(\w+))");
  std::vector<std::pair<std::string, std::string>> names;
  for (auto match = std::sregex_iterator(code_.begin(), code_.end(), alias); match != std::sregex_iterator(); ++match) {
    const bool is_typedef = (*match)[1].matched;
    names.emplace_back((*match)[is_typedef ? 2 : 3], (*match)[is_typedef ? 1 : 4]);
  }
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

std::optional<std::string> CudaSource::definition(std::string_view name, std::size_t before) const {
  const Definition* found = nullptr;
  for (const Definition& definition : definitions_) {
    if (definition.name != name || definition.position >= before) continue;
    if (!found || definition.position >= found->position) found = &definition;
  }
  if (!found) return std::nullopt;
  return found->value;
}

const CudaLaunch* CudaSource::launch_of(const CudaKernel& kernel) const {
  const auto launch = std::find_if(launches_.begin(), launches_.end(),
                                   [&](const CudaLaunch& l) { return l.kernel == kernel.name; });
  return launch == launches_.end() ? nullptr : &*launch;
}

void CudaSource::find_shared() {
  static const std::regex words(
      R"(\b(extern|static|__shared__|__align__\s*\([^)]*\)|alignas\s*\([^)]*\)|volatile)(?!\w))");
  for (std::size_t place = find_word(code_, "__shared__", 0); place != code_.npos;
       place = find_word(code_, "__shared__", place + 1)) {
    std::size_t begin = skip_blanks(code_, statement_begin(code_, place));
    std::size_t end = place;
    while (end < code_.size() && code_[end] != ';') end = code_[end] == '{' ? behind_bracket(code_, end) : end + 1;
    if (end == code_.size()) return;
    const std::string statement = code_.substr(begin, end - begin);
    const bool is_extern = find_word(statement, "extern", 0) != statement.npos;
    const std::vector<std::string> parts = split_arguments(std::regex_replace(statement, words, ""));
    std::string text;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      std::string declarator = parts[i];
      while (declarator.ends_with(']')) declarator = trimmed(declarator.substr(0, declarator.rfind('[')));
      const std::string extents = parts[i].substr(declarator.size());
      std::size_t name_begin = declarator.size();
      while (name_begin > 0 && is_word(declarator[name_begin - 1])) --name_begin;
      const std::string name = declarator.substr(name_begin), type = trimmed(declarator.substr(0, name_begin));
      if (is_extern) {
        text += outside_of_functions(begin)
                    ? fmt::format("static constexpr ::lapidary::DynamicShared<{}> {}{{}}", type, name)
                    : fmt::format("{}* const {} = ::lapidary::DynamicShared<{}>{{}}", type, name, type);
      } else {
        text += fmt::format("{}{} (&{}){} = ::lapidary::Shared<{}>{{\"{}\"}}", i ? ", " : "", i ? "" : type, name,
                            extents, sites_.size(), name);
        sites_.push_back(place);
      }
    }
    const auto lines = [](const std::string& of) { return std::count(of.begin(), of.end(), '\n'); };
    text.append(static_cast<std::size_t>(std::max(lines(statement) - lines(text), std::ptrdiff_t{0})), '\n');
    edits_.push_back({begin, end, std::move(text), false});
    place = end;
  }
}

// The statement of a macro keeps its line breaks escaped.
void CudaSource::find_inline_ptx(const std::string& text) {
  static const std::regex head(R"(\b(asm|__asm__|__asm)\s*(volatile|__volatile__)?\s*\()");
  const std::string plain = without_strings(text);
  for (auto m = std::sregex_iterator(plain.begin(), plain.end(), head); m != std::sregex_iterator(); ++m) {
    const auto begin = static_cast<std::size_t>(m->position());
    const std::size_t open = begin + static_cast<std::size_t>(m->length()) - 1, end = behind_bracket(plain, open);
    try {
      std::string code = translate_inline_ptx(std::string_view(text).substr(open + 1, end - open - 2));
      const char* const line_break = is_blank(code_[begin]) ? " \\\n" : "\n";
      for (auto i = std::count(text.begin() + m->position(), text.begin() + static_cast<std::ptrdiff_t>(end), '\n');
           i > 0; --i)
        code += line_break;
      edits_.push_back({begin, end, std::move(code), false});
    } catch (const InvalidArgument& error) {
      throw InvalidArgument(fmt::format("{}:{}: {}", path_, line_of(begin), error.what()));
    }
  }
}

// Function bodies at the level of namespaces.
void CudaSource::find_host_functions() {
  static const std::regex runtime(R"(<<<|\b(cuda[A-Z]|cublas|curand|CUDA_|CHECK))");
  static const std::regex type(R"(^\s*(?:template\s*<[^{]*>\s*)?(struct|class|union|enum|typedef)\b)");
  for (std::size_t i = 0, begin = 0; i < code_.size(); ++i) {
    if (code_[i] == ';' || code_[i] == '}') begin = i + 1;
    if (code_[i] != '{') continue;
    const std::string header = code_.substr(begin, i - begin);
    const std::size_t end = behind_bracket(code_, i);
    const bool function = header.find('(') != header.npos;
    const bool inside = find_word(header, "namespace", 0) != header.npos ||
                        (!function && find_word(header, "extern", 0) != header.npos);
    if (inside) {
      begin = i + 1;
      continue;
    }
    const std::string body = code_.substr(i, end - i);
    const bool device = find_word(header, "__global__", 0) != header.npos ||
                        find_word(header, "__device__", 0) != header.npos;
    if (function && !device && !std::regex_search(header, type) &&
        (find_word(header, "main", 0) != header.npos || std::regex_search(body, runtime))) {
      edits_.push_back(
          {i, end,
           "{" + std::string(static_cast<std::size_t>(std::count(body.begin(), body.end(), '\n')), '\n') + "}"});
    }
    i = end - 1;
    begin = end;
  }
}

void CudaSource::find_includes() {
  static const std::regex include(R"((^|\n)[ \t]*#[ \t]*include[ \t]*(["<])([^">\n]+)[">])");
  static const std::regex unsupported(R"(cooperative_groups.*|cuda/(barrier|pipeline))");
  static const std::regex host(R"((curand|cusparse|cusolver|cuda_profiler|nvToolsExt|thrust|cub/|nvml).*)");
  const std::string text = without_comments(text_);
  for (auto m = std::sregex_iterator(text.begin(), text.end(), include); m != std::sregex_iterator(); ++m) {
    const std::string name = (*m)[3];
    const std::size_t begin = static_cast<std::size_t>(m->position()) + (*m)[1].str().size();
    if (std::regex_match(name, unsupported))
      throw InvalidArgument(
          fmt::format("{}:{}: <{}> is not supported; cuda_runtime.h, cuda_fp16.h, cuda_bf16.h and mma.h are", path_,
                      line_of(begin), name));
    const std::filesystem::path beside = std::filesystem::path(path_).parent_path() / name;
    const bool missing = (*m)[2] == "\"" && !std::filesystem::exists(beside) && !name.starts_with("cuda");
    if ((*m)[2] == "\"" && !missing) {
      const std::string included = read_file(beside).value_or("");
      if (find_word(without_comments(included), "__global__", 0) != included.npos)
        included_kernels_.push_back(beside.string());
    }
    if (missing || std::regex_match(name, host))
      edits_.push_back({begin, static_cast<std::size_t>(m->position() + m->length()), ""});
  }
}

std::string CudaSource::rewritten(Target target) const {
  std::vector<Edit> edits = edits_;
  if (target == Target::gpu) std::erase_if(edits, [](const Edit& edit) { return !edit.for_gpu; });
  std::sort(edits.begin(), edits.end(), [](const Edit& a, const Edit& b) { return a.begin < b.begin; });
  std::string out;
  std::size_t done = 0;
  for (const Edit& edit : edits) {
    if (edit.begin < done) continue;
    out.append(text_, done, edit.begin - done).append(edit.text);
    done = edit.end;
  }
  return out.append(text_, done);
}

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

}  // namespace lapidary::cli
