#pragma once
#include "lens/explanation.hpp"

namespace lapidary::lens {

/// Of a kernel, or of the one that choose() (kernels/registry.hpp) names in its place.
/// @throws InvalidArgument if no kernel takes the problem, or it cannot be run on the emulated machine
Explanation explain(const Question& question);

}  // namespace lapidary::lens
