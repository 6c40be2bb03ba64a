#pragma once
#include <string>
#include <vector>

#include "lens/coalescing_view.hpp"
#include "report/svg.hpp"

namespace lapidary::pages {

/// Which lanes touch which sectors, one access below the other: memory in rows of whole sectors, the cells that lanes
/// want with their numbers, and what is moved along with them. Rows that nobody touches are left out.
/// @param lane  the one that is marked
/// @throws InvalidArgument for a misaligned lane
report::Svg coalescing_picture(const std::string& title, const std::vector<lens::CoalescingView>& views, int lane);

}  // namespace lapidary::pages
