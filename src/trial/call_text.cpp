#include "trial/call_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <map>

namespace lapidary::trial {

std::string in_literal(const std::string& text) {
  std::string written;
  for (const char c : text) {
    if (c == '"' || c == '\\') written += '\\';
    written += c;
  }
  return written;
}

std::string argument_of(const std::string& member, const std::string& role) {
  std::string name;
  for (const char c : member)
    if (c != '_') name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  static const std::map<std::string, char> dimensions = {
      {"height", 'r'}, {"rows", 'r'}, {"row", 'r'},     {"h", 'r'},      {"nrows", 'r'}, {"numrows", 'r'},
      {"width", 'c'},  {"cols", 'c'}, {"columns", 'c'}, {"w", 'c'},      {"ncols", 'c'}, {"numcols", 'c'},
      {"stride", 'l'}, {"ld", 'l'},   {"pitch", 'l'},   {"leading", 'l'}};
  const auto found = dimensions.find(name);
  if (found == dimensions.end()) return "";
  if (found->second == 'l') return std::string("ld") + static_cast<char>(std::tolower(role[0]));
  if (found->second == 'r') return role == "B" ? "K" : "M";
  return role == "A" ? "K" : "N";
}

std::string call_of(const CudaKernel& kernel, const std::vector<std::string>& roles) {
  const auto value = [](const CudaParameter& parameter, const std::string& member) {
    if (member.empty()) return std::string("{}");
    return parameter.is_pointer() ? fmt::format("::lapidary::AnyPointer{{arguments.{}}}", member)
                                  : fmt::format("::lapidary::AnyNumber{{static_cast<double>(arguments.{})}}", member);
  };
  std::vector<std::string> arguments;
  for (std::size_t i = 0; i < roles.size(); ++i) {
    const CudaParameter& parameter = kernel.parameters[i];
    if (parameter.members.empty()) {
      arguments.push_back(value(parameter, roles[i]));
      continue;
    }
    std::vector<std::string> members;
    for (const CudaParameter& member : parameter.members)
      members.push_back(value(member, member.is_pointer() ? roles[i] : argument_of(member.name, roles[i])));
    arguments.push_back(fmt::format("std::remove_cv_t<{}>{{{}}}", parameter.type, fmt::join(members, ", ")));
  }
  return fmt::format("({})", fmt::join(arguments, ", "));
}

std::string in_scope(const CudaKernel& kernel) {
  std::string statements;
  for (std::size_t end = kernel.scope.find("::"); end != kernel.scope.npos; end = kernel.scope.find("::", end + 2))
    statements += fmt::format("using namespace ::{}; ", kernel.scope.substr(0, end));
  return statements;
}

std::string without_macros() {
  std::string lines;
  for (const char* member : {"M", "N", "K", "lda", "ldb", "ldc", "ldd", "alpha", "beta", "A", "B", "C", "D"})
    lines += fmt::format("#undef {}\n", member);
  return lines;
}

}  // namespace lapidary::trial
