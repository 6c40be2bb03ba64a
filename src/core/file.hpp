#pragma once
#include <filesystem>
#include <optional>
#include <string>

namespace lapidary {

/// All bytes of a file; nothing if it cannot be read to its end, as of a missing file or a folder.
std::optional<std::string> read_file(const std::filesystem::path& path);

}  // namespace lapidary
