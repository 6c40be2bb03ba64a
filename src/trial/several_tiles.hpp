#pragma once
#include <cstdint>

#include "core/launch_shape.hpp"
#include "core/problem.hpp"
#include "trial/kernel_call.hpp"
#include "trial/request.hpp"

namespace lapidary::trial {

/// Multiply-adds, beyond which the emulated machine takes a minute for all that a kernel is tried with.
constexpr std::int64_t most_products = std::int64_t{1} << 26;

/// What a launch takes of D and K at a time: by how much M and N grow from one more block to the next, as far as the
/// grid tells, and what the kernel's loops along K go on by, or constants and template parameters that are named for
/// it. 0 where nothing tells. Sizes that are to be the same (Call::equal) grow together.
TileShape tile_of(const CudaSource& source, const Call& call, const Request& request);

/// A small problem, row-major, that is several tiles of a kernel each way, so that offsets of blocks and what is
/// between steps along K count: at least two blocks down and across D and three steps along K, as far as tile_of()
/// tells them. M, N and K differ, but for those that are to be the same. There are fewer tiles where it would take
/// long.
Problem several_tiles(const CudaSource& source, const Call& call, const Request& request);

}  // namespace lapidary::trial
