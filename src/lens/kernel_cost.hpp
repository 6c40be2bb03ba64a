#pragma once
#include <string>

namespace lapidary::lens {

/// The table of library/kernel_cost.hpp, as the records of this program's kernels have it.
/// @throws InvalidArgument if a kernel whose warps multiply has no record of its machine code (script/compiled)
std::string kernel_cost_table();

}  // namespace lapidary::lens
