#pragma once
#include "model/occupancy.hpp"
#include "report/table.hpp"

namespace lapidary::pages {

/// A row for each limit: how many blocks of a kernel it allows on a multiprocessor, and by which sum; or the rule that
/// a block which is too large breaks.
report::Table limits_table(const model::Gpu& gpu, const model::Occupancy& occupancy);

}  // namespace lapidary::pages
