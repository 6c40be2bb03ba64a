#pragma once
#include "core/problem.hpp"
#include "trial/kernel_call.hpp"
#include "trial/request.hpp"

namespace lapidary::trial {

/// A small problem, row-major, that is several tiles of a kernel each way, so that offsets of blocks and what is
/// between steps along K count: at least two blocks down and across D, as far as the grid tells, and three steps along
/// K, as far as the kernel's loops do, or constants and template parameters that are named for it. M, N and K differ,
/// but for a kernel of one size. There are fewer tiles where it would take long.
Problem several_tiles(const CudaSource& source, const Call& call, const Request& request);

}  // namespace lapidary::trial
