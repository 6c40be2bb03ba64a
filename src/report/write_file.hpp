#pragma once
#include <filesystem>
#include <string_view>

namespace lapidary::report {

/// Writes a file in place of what is there. @throws InvalidArgument naming the file and what the system says of it
void write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace lapidary::report
