#include "trial/declarations.hpp"

#include <algorithm>
#include <utility>

#include "trial/tokens.hpp"

namespace lapidary::trial {
namespace {

/// "const float* __restrict__ A" as a type and a name.
CudaParameter parameter_of(std::string text) {
  if (const std::size_t value = text.find('='); value != text.npos) text.resize(value);
  text = trimmed(text);
  const bool array = text.ends_with(']');
  text = without_extents(text);
  std::size_t begin = text.size();
  while (begin > 0 && is_word(text[begin - 1])) --begin;
  return {trimmed(text.substr(0, begin)) + (array ? "*" : ""), text.substr(begin)};
}

/// The type that stands before a function's name, if it is one of the language's other than void.
std::string returned_in(const std::string& declared) {
  if (find_word(declared, "void", 0) != declared.npos) return "";
  for (const char* word : {"bool", "char", "short", "int", "unsigned", "long", "size_t", "float", "double", "auto"})
    if (find_word(declared, word, 0) != declared.npos) return word;
  return "";
}

/// The structures of the file: the name of each and its members.
std::vector<CudaParameter> find_structures(const std::string& code) {
  std::vector<CudaParameter> structures;
  for (std::size_t place = find_word(code, "struct", 0); place != code.npos;
       place = find_word(code, "struct", place + 1)) {
    std::size_t open = skip_blanks(code, place + std::string_view("struct").size());
    std::string name = word_at(code, open);
    open = skip_blanks(code, open + name.size());
    if (open == code.size() || code[open] != '{') continue;
    const std::size_t end = behind_bracket(code, open);
    if (find_word(code.substr(statement_begin(code, place), place - statement_begin(code, place)), "typedef", 0) !=
        code.npos)
      name = word_at(code, skip_blanks(code, end));
    CudaParameter structure{"", name};
    for (std::size_t begin = open + 1, stop; (stop = code.find(';', begin)) < end; begin = stop + 1) {
      const std::vector<std::string> declarators = split_arguments(code.substr(begin, stop - begin));
      if (declarators.empty() || declarators[0].find('(') != std::string::npos) continue;
      const CudaParameter first = parameter_of(declarators[0]);
      for (const std::string& declarator : declarators)
        structure.members.push_back(&declarator == &declarators[0] ? first
                                                                   : parameter_of(first.type + " " + declarator));
    }
    if (!structure.name.empty()) structures.push_back(std::move(structure));
  }
  return structures;
}

}  // namespace

const CudaParameter* CudaParameter::elements() const {
  if (is_pointer()) return this;
  const auto pointer = [](const CudaParameter& member) { return member.is_pointer(); };
  if (std::count_if(members.begin(), members.end(), pointer) != 1) return nullptr;
  return &*std::find_if(members.begin(), members.end(), pointer);
}

std::vector<CudaParameter> parameters_of(std::string_view text) {
  std::vector<CudaParameter> parameters;
  for (const std::string& part : split_arguments(text)) parameters.push_back(parameter_of(part));
  return parameters;
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

std::vector<CudaKernel> find_kernels(const CudaText& text) {
  const std::string& code = text.code();
  const std::vector<CudaParameter> structures = find_structures(code);
  std::vector<CudaKernel> kernels;
  for (std::size_t place = find_word(code, "__global__", 0); place != code.npos;
       place = find_word(code, "__global__", place + 1)) {
    std::size_t open = place;
    std::string name, launch_bounds;
    for (;;) {
      open = code.find('(', open);
      if (open == code.npos) return kernels;
      std::size_t end = open;
      while (end > 0 && is_blank(code[end - 1])) --end;
      std::size_t begin = end;
      while (begin > 0 && is_word(code[begin - 1])) --begin;
      name = code.substr(begin, end - begin);
      if (name != "__launch_bounds__" && name != "__attribute__") break;
      const std::size_t end_of_arguments = behind_bracket(code, open);
      if (name == "__launch_bounds__")
        launch_bounds = split_arguments(code.substr(open + 1, end_of_arguments - open - 2)).front();
      open = end_of_arguments;
    }
    const std::size_t close = behind_bracket(code, open), body = skip_blanks(code, close);
    if (body == code.size() || code[body] != '{') continue;  // a declaration
    const std::size_t begin = statement_begin(code, place);
    CudaKernel kernel{text.scope_of(place).value_or(""),
                      name,
                      {},
                      parameters_of(code.substr(open + 1, close - open - 2)),
                      begin,
                      behind_bracket(code, body),
                      text.line_of(place),
                      returned_in(code.substr(place, code.rfind(name, open) - place)),
                      launch_bounds};
    const std::size_t angle = code.find('<', find_word(code, "template", begin));
    if (angle < place) {
      const std::size_t last = behind_bracket(code, angle);
      kernel.template_parameters = parameters_of(code.substr(angle + 1, last - angle - 2));
    }
    for (CudaParameter& parameter : kernel.parameters)
      for (const CudaParameter& structure : structures)
        if (!parameter.is_pointer() && find_word(parameter.type, structure.name, 0) != parameter.type.npos)
          parameter.members = structure.members;
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

std::vector<CudaLaunch> find_launches(const CudaText& text) {
  const std::string& code = text.code();
  std::vector<CudaLaunch> launches;
  for (std::size_t place = code.find("<<<"); place != code.npos; place = code.find("<<<", place + 3)) {
    CudaLaunch launch;
    launch.position = place;
    std::size_t end = place;
    while (end > 0 && is_blank(code[end - 1])) --end;
    if (end > 0 && code[end - 1] == '>') {
      std::size_t begin = end;
      int depth = 0;
      do {
        --begin;
        depth += code[begin] == '>' ? 1 : code[begin] == '<' ? -1 : 0;
      } while (begin > 0 && depth > 0);
      launch.template_arguments = split_arguments(code.substr(begin + 1, end - begin - 2));
      end = begin;
    }
    std::size_t begin = end;
    while (begin > 0 && is_word(code[begin - 1])) --begin;
    launch.kernel = code.substr(begin, end - begin);
    const std::size_t close = code.find(">>>", place);
    if (close == code.npos) return launches;
    launch.configuration = split_arguments(code.substr(place + 3, close - place - 3));
    const std::size_t open = skip_blanks(code, close + 3);
    if (open < code.size() && code[open] == '(')
      launch.arguments = split_arguments(code.substr(open + 1, behind_bracket(code, open) - open - 2));
    launches.push_back(std::move(launch));
  }
  return launches;
}

}  // namespace lapidary::trial
