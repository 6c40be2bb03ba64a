#pragma once
#include "emulator/report.hpp"

namespace lapidary::cli {

/// Prints what was counted, by source line and in total.
void print_counters(const emulator::Report& report);

}  // namespace lapidary::cli
