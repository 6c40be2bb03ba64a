#pragma once
#include <optional>

#include "lens/explanation.hpp"

namespace lapidary::lens {

/// Blocks of a launch on a multiprocessor. Registers and barriers go by the record of the machine code; without one
/// they are no limit.
model::Occupancy occupancy_of(const model::Gpu& gpu, const LaunchShape& launch,
                              const std::optional<model::CompiledKernel>& compiled);

/// How long the launch takes at least. Of `e` it reads the question, the observation and the work.
LeastTime least_time(const Explanation& e);

/// Fills in what the card makes of the kernel: occupancy, the shares of the caches, traffic, what warps execute, time
/// and energy, or why there is no time. Of `e` it reads the question, the observation and the record of machine code.
void predict(Explanation& e);

}  // namespace lapidary::lens
