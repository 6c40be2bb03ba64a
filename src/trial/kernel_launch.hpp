#pragma once
#include "core/launch_shape.hpp"
#include "core/problem.hpp"
#include "trial/kernel_call.hpp"
#include "trial/request.hpp"

namespace lapidary::trial {

/// The launch on a problem: what the user gave, or as it is written in the file.
/// @throws InvalidArgument if it is not known
LaunchShape shape_of(const CudaSource& source, const Call& call, const Request& request, const Problem& problem);

}  // namespace lapidary::trial
