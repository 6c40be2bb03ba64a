#pragma once
#include <cstdint>

#include "core/problem.hpp"
#include "device/stream.hpp"

namespace lapidary {

/// M x N sums of f32 in device memory, row-major; or of each part of K so many, which are added up in the order of the
/// parts.
struct PartialSums {
  const float* first;
  std::int64_t ld;  ///< elements from one row to the next
  int parts = 1;
  std::int64_t stride = 0;  ///< elements from one part's to the next
};

/// Whether finish() can make so many results: of at most 2^31 - 1 tiles of 32 x 128, or of parts of 8 x 128.
bool can_finish(std::int64_t rows, std::int64_t cols, int parts = 1);

/// Makes results of sums: of a problem with row-major results all that follows A * B,
///
///   t = alpha * sum + beta * C + bias,  D = clamp(scale * activation(t) + residual),
///
/// in f32, rounded once. What kernels do not do themselves is done so in a second launch.
/// @param problem  valid and resolved, of one product; A and B and what is said of them do not count
/// @param sums  they may be D, if that is of f32 and they are of one part
/// @param operands  as in validate(problem, operands); A and B do not count
/// @throws InvalidArgument unless can_finish(), or if the stream does not run the build; DeviceError if the launch
/// fails
void finish(Build build, const Stream& stream, const Problem& problem, const PartialSums& sums,
            const Operands& operands);

}  // namespace lapidary
