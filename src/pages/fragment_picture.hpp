#pragma once
#include "lens/fragment_map.hpp"
#include "report/svg.hpp"

namespace lapidary::pages {

/// Who holds what: operands as in a matrix product, A to the left of D and B above it, and the lines of shared memory
/// that wgmma reads; or the matrices that are moved, with the lanes that give the addresses of their rows.
/// @param thread  the one that is marked
report::Svg fragment_picture(const lens::Fragment& fragment, int thread);

}  // namespace lapidary::pages
