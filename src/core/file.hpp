#pragma once
#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>
#include <optional>
#include <string>

namespace lapidary {

/// All bytes of a file; nothing if it cannot be read, as of a missing file or a folder.
inline std::optional<std::string> read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) return std::nullopt;
  try {
    return std::string{std::istreambuf_iterator<char>(file), {}};
  } catch (const std::ios_base::failure&) {
    // A folder opens as a file does, and says no more than this when it is read.
    return std::nullopt;
  }
}

}  // namespace lapidary
