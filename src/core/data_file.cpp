#include "core/data_file.hpp"

#include <cstdlib>
#include <system_error>

namespace lapidary {
namespace {

std::filesystem::path find_root() {
  if (const char* const root = std::getenv("LAPIDARY_ROOT"); root && *root) return root;
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path installed = program.parent_path().parent_path() / "share" / "lapidary";
  if (!error && std::filesystem::exists(installed, error)) return installed;
  return LAPIDARY_SOURCE_ROOT;
}

}  // namespace

std::filesystem::path data_file(std::string_view path) {
  static const std::filesystem::path root = find_root();
  return root / path;
}

}  // namespace lapidary
