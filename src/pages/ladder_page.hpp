#pragma once
#include "model/gpu.hpp"
#include "report/svg.hpp"
#include "report/table.hpp"

namespace lapidary::pages {

/// The ladder as bars: what was measured and predicted of each rung's fastest tile at lens::page_size, and the peer.
report::Svg ladder_picture(const model::Gpu& gpu);

/// The same as a table: idea, tile, rates and limiter.
report::Table ladder_table(const model::Gpu& gpu);

}  // namespace lapidary::pages
