#pragma once
#include <filesystem>
#include <string_view>

namespace lapidary {

/// A file of the project that the program reads at run time, such as "data/gpus.csv" or "results/h200/ladder.json",
/// by its path below the project's root. The root is, in this order: the folder that the environment variable
/// LAPIDARY_ROOT names; share/lapidary beside the program's bin/, where it is installed; the sources it was built from.
/// The file need not exist.
std::filesystem::path data_file(std::string_view path);

}  // namespace lapidary
