#pragma once
#include "lens/raster_comparison.hpp"
#include "report/svg.hpp"

namespace lapidary::pages {

/// For each order the tiles of D by the wave that computes them, and the way through the first two; below, what the SMs
/// read, how much of it comes from DRAM, and how much would have to.
report::Svg raster_picture(const lens::RasterComparison& comparison);

}  // namespace lapidary::pages
