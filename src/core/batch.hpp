#pragma once
#include <cstdint>

#include "core/problem.hpp"

namespace lapidary {

/// Elements from one of a batch's matrices to the next.
std::int64_t stride_of(const Batch& batch, Matrix matrix);

/// So many products, whose matrices follow one another in whole lines, of a resolved problem.
Batch one_after_another(const Problem& problem, std::int64_t count);

}  // namespace lapidary
