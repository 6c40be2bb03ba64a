#include "report/write_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "core/error.hpp"

namespace lapidary::report {

void write_file(const std::filesystem::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw InvalidArgument(fmt::format("cannot write {}: {}", path.string(), std::strerror(errno)));
}

}  // namespace lapidary::report
