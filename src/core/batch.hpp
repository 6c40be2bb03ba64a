#pragma once
#include <cstdint>

#include "core/problem.hpp"

namespace lapidary {

/// Elements from one of a batch's matrices to the next.
std::int64_t stride_of(const Batch& batch, Matrix matrix);

/// How much of K each part has of a problem whose K is split, but for the last one, which has the rest: whole lines of
/// 128 bytes, so that all begin as the first one does. All of a K that is not split.
std::int64_t part_of_k(const Problem& problem);

/// Whether a problem's K is split in parts that have something of it each, its products are of these, and K is so short
/// that also where it ends in whole parts is counted in 31 bits.
bool is_split(const Problem& problem);

/// So many products, whose matrices follow one another in whole lines, of a resolved problem.
Batch one_after_another(const Problem& problem, std::int64_t count);

}  // namespace lapidary
