#pragma once
#include <string_view>

namespace lapidary {

/// The text of a rung's source file as this program was built from it; empty if there is no such rung.
std::string_view rung_source(std::string_view name);

}  // namespace lapidary
