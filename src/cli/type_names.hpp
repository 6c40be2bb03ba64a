#pragma once
#include <string>
#include <string_view>

#include "cli/arguments.hpp"

namespace lapidary::cli {

/// The name by which this program knows an element type that goes by several: f32 for fp32 and float, f16 for fp16 and
/// half, bf16 for bfloat16, f64 for fp64 and double, s8 for int8, u8 for uint8, and e4m3 for fp8, which is said on
/// standard error. Other text is returned as it is.
std::string_view known_type_name(std::string_view name);

/// The same for each word of a text in which blanks, dots and slashes part words: "mma m16n8k16 half/float".
std::string known_type_names(std::string_view text);

/// The same for an option, which holds the known name then: option.transform(known_type()).
Check known_type();

}  // namespace lapidary::cli
