#pragma once
#include <string>

#include "model/occupancy.hpp"
#include "report/svg.hpp"

namespace lapidary::pages {

/// Warps that a multiprocessor holds over registers a thread, over shared memory a block and over threads a block, one
/// varied at a time, with the block that `occupancy` is of marked.
report::Svg occupancy_picture(const std::string& title, const model::Gpu& gpu, const model::Occupancy& occupancy);

}  // namespace lapidary::pages
