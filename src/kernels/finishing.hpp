#pragma once
#include <cstdint>

#include "core/problem.hpp"
#include "device/stream.hpp"

namespace lapidary {

/// Whether finish() can make so many results: of at most 2^31 - 1 tiles of 32 x 128.
bool can_finish(std::int64_t rows, std::int64_t cols);

/// Makes results of sums: of a problem with row-major results all that follows A * B,
///
///   t = alpha * sum + beta * C + bias,  D = clamp(scale * activation(t) + residual),
///
/// in f32, rounded once. What kernels do not do themselves is done so in a second launch.
/// @param problem  valid and resolved, of one product; A and B and what is said of them do not count
/// @param sums  M x N in device memory, row-major, one row every `ld` elements; they may be D, if that is of f32
/// @param operands  as in validate(problem, operands); A and B do not count
/// @throws InvalidArgument unless can_finish(), or if the stream does not run the build; DeviceError if the launch
/// fails
void finish(Build build, const Stream& stream, const Problem& problem, const float* sums, std::int64_t ld,
            const Operands& operands);

}  // namespace lapidary
