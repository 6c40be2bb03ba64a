#pragma once
#include <iterator>
#include <span>

#include "kernels/simt/shared_tiles.cuh"

namespace lapidary::inline LAPIDARY_BUILD {

/// The kernels of the rung that the debugger steps through.
std::span<const BuiltKernel> stepped_kernels() { return shared_tiles::built_kernels<void>; }

}  // namespace lapidary::inline LAPIDARY_BUILD
