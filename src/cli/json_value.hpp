#pragma once
#include <nlohmann/json.hpp>

// Compiled once, in json.cpp, instead of in every file of a command.
extern template class nlohmann::basic_json<nlohmann::ordered_map>;

namespace lapidary::cli {

/// Keys keep the order in which they were added. docs/json.md tells what each of them means.
using Json = nlohmann::ordered_json;

}  // namespace lapidary::cli
