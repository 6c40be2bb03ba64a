#pragma once
#include "lens/raster.hpp"
#include "report/svg.hpp"

namespace lapidary::lens {

/// For each order the tiles of D by the wave that computes them, and the way through the first two; below, what the SMs
/// read, how much of it comes from DRAM, and how much would have to.
report::Svg raster_picture(const RasterComparison& comparison);

}  // namespace lapidary::lens
