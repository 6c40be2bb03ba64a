#pragma once
#include "core/launch_shape.hpp"
#include "core/problem.hpp"
#include "trial/kernel_call.hpp"
#include "trial/request.hpp"

namespace lapidary::trial {

/// The launch on a problem: what the user gave, or as it is written in the file.
/// @throws InvalidArgument if it is not known
LaunchShape shape_of(const CudaSource& source, const Call& call, const Request& request, const Problem& problem);

/// That the CUDA runtime takes a launch with so much shared memory, in variables and dynamic.
/// @throws InvalidArgument
void check_shared_memory(const CudaSource& source, const Call& call, const Request& request, const LaunchShape& shape,
                         unsigned static_bytes);

}  // namespace lapidary::trial
