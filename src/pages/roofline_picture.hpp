#pragma once
#include "lens/ladder_roofline.hpp"
#include "report/svg.hpp"

namespace lapidary::pages {

/// Attainable rate over FLOP for each byte, both logarithmic: the ceilings of f32, of L1 and shared memory, of L2 and
/// of DRAM; of each rung the default kernel, where it meets the roof of the memory that allows it the least and,
/// filled, what was measured; on the roofs of the other memories, small, where they would stop it.
report::Svg roofline_picture(const lens::Roofline& roofline);

}  // namespace lapidary::pages
