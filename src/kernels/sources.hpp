#pragma once
#include <string_view>

namespace lapidary {

/// The text of a rung's source file as it was when this program was built, also of optional rungs that the program
/// lacks; empty if there is no such rung.
std::string_view rung_source(std::string_view name);

/// A hash of that file and of all that it includes, without comments and spacing, which records of its machine code
/// carry (script/compiled); empty if there is no such rung.
std::string_view rung_source_hash(std::string_view name);

}  // namespace lapidary
