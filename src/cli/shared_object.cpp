#include "cli/shared_object.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>

#include "core/data_file.hpp"
#include "core/error.hpp"

namespace lapidary::cli {

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

Finished run_command(const std::string& command) {
  Finished finished{-1, {}};
  FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  if (!pipe) return finished;
  std::array<char, 4096> buffer;
  while (const std::size_t bytes = std::fread(buffer.data(), 1, buffer.size(), pipe))
    finished.output.append(buffer.data(), bytes);
  finished.status = pclose(pipe);
  return finished;
}

std::filesystem::path stand_in_headers() {
  namespace fs = std::filesystem;
  const fs::path root = data_file(""), inside = fs::path("src") / "trial" / "cuda",
                 installed = fs::path("include") / "lapidary" / inside;
  // Beside the program's own data, which are at <prefix>/share/lapidary or deeper.
  for (const fs::path& folder : {root / inside, root / ".." / ".." / installed, root / ".." / ".." / ".." / installed})
    if (fs::exists(folder / "cuda_runtime.h")) return folder;
  throw InvalidArgument(fmt::format("{} is not there; set LAPIDARY_ROOT to the sources of lapidary",
                                    (root / inside / "cuda_runtime.h").string()));
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

WorkFolder::WorkFolder(const std::string& keep) : keep_(!keep.empty()) {
  if (keep_) {
    std::error_code error;
    std::filesystem::create_directories(keep, error);
    if (error) throw InvalidArgument(fmt::format("cannot create {}: {}", keep, error.message()));
    path_ = std::filesystem::absolute(keep);
  } else {
    std::string pattern = (std::filesystem::temp_directory_path() / "lapidary-try.").string() + std::string(6, 'X');
    if (!mkdtemp(pattern.data())) throw InvalidArgument(fmt::format("cannot create {}", pattern));
    path_ = pattern;
  }
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;
  if (!keep_) std::filesystem::remove_all(path_, ignored);
}

SharedObject::SharedObject(const std::string& file) : handle_(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (!handle_) throw InvalidArgument(fmt::format("the compiled kernel cannot be loaded: {}", dlerror()));
}

SharedObject::~SharedObject() {
  if (handle_) dlclose(handle_);
}

SharedObject& SharedObject::operator=(SharedObject&& other) noexcept {
  std::swap(handle_, other.handle_);
  return *this;
}

void* SharedObject::symbol(const char* name) const { return dlsym(handle_, name); }

}  // namespace lapidary::cli
