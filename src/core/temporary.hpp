#pragma once
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "core/error.hpp"

namespace lapidary {

/// A name for mkdtemp() or mkstemps(), in the folder for temporary files, that ends in six X.
/// @throws InvalidArgument if there is no such folder
inline std::string temporary_name(const char* prefix) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  if (error) {
    const char* const told = std::getenv("TMPDIR");
    throw InvalidArgument(
        fmt::format("TMPDIR is {}; it must be a folder for temporary files", told ? told : "not set"));
  }
  return (folder / prefix).string() + std::string(6, 'X');
}

}  // namespace lapidary
