#pragma once
#include <cstdint>

#include "core/batch.hpp"
#include "core/math.hpp"
#include "core/problem.hpp"
#include "tile/tma_tile.hpp"

// Bulk copies of the matrices of a batch (core/problem.hpp): tensors of three modes.

namespace lapidary::inline LAPIDARY_BUILD {

/// Whether all products have the same A, say.
inline bool is_shared(const Batch& batch, Matrix matrix) { return batch.count == 1 || stride_of(batch, matrix) == 0; }

/// A length of a product's, as its tiles have it.
constexpr int in_whole_tiles(std::int64_t length, int tile) {
  return static_cast<int>(round_up<std::int64_t>(length, tile));
}

/// Boxes of one of a problem's matrices, of which the third coordinate is the number of the product.
inline TensorBox boxes_of_batch(TensorBox boxes, const Problem& problem, Matrix matrix) {
  const Batch& batch = problem.batch;
  const MatrixShape shape = shape_of(problem, matrix);
  const bool shared = is_shared(batch, matrix);
  boxes.rank = 3;
  boxes.size[2] = shared ? 1 : static_cast<std::uint64_t>(batch.count);
  // Of one alone the stride is never walked.
  boxes.stride[1] = shared ? boxes.stride[0]
                           : static_cast<std::uint64_t>(stride_of(batch, matrix)) *
                                 static_cast<std::uint64_t>(size_of(shape.type));
  boxes.box[2] = 1;
  return boxes;
}

}  // namespace lapidary::inline LAPIDARY_BUILD
