#pragma once
#include <algorithm>
#include <cstdint>
#include <string>

#include "core/batch.hpp"
#include "core/math.hpp"
#include "core/problem.hpp"
#include "tile/batch_boxes.hpp"
#include "tile/tma_tile.hpp"

// Which batches are not taken whose matrices are copied in bulk: the rule, the value and what is legal.

namespace lapidary::inline LAPIDARY_BUILD {

/// What keeps bulk copies from going from a matrix to the next one; empty if nothing does.
inline std::string refusal_by_stride(const Problem& problem, Matrix matrix) {
  if (is_shared(problem.batch, matrix)) return {};
  const int size = size_of(shape_of(problem, matrix).type);
  const std::int64_t stride = stride_of(problem.batch, matrix);
  const std::string begins = std::string(name_of(matrix)) + " begins every " + std::to_string(stride) + " elements; ";
  if (stride * size % 16 != 0)
    return begins + "matrices that are copied in bulk begin at multiples of 16 bytes, " + std::to_string(16 / size) +
           " elements";
  if (stride * size >= most_map_pitch)
    return begins + "matrices that are copied in bulk begin less than 2^40 bytes apart, " +
           std::to_string(most_map_pitch / size) + " elements";
  return {};
}

/// Why a launch does not take a batch, of which D of each product is in tiles of a size, in whole clusters of them;
/// empty if it does.
inline std::string refusal_of_batch(const Problem& problem, const TileShape& tile, const ClusterShape& cluster) {
  for (const Matrix matrix : {Matrix::A, Matrix::B, Matrix::D})
    if (std::string why = refusal_by_stride(problem, matrix); !why.empty()) return why;
  // Rows, columns and tiles of all products are counted in 31 bits, with room for the step to a block's next tile.
  constexpr std::int64_t most = (std::int64_t{1} << 30) - 1;
  const std::int64_t rows = round_up<std::int64_t>(problem.M, tile.m * cluster.down),
                     cols = round_up<std::int64_t>(problem.N, tile.n * cluster.across),
                     longest = std::max({std::int64_t{1}, rows, cols, rows / tile.m * (cols / tile.n)}),
                     taken = std::max<std::int64_t>(1, most / longest);
  if (problem.batch.count <= taken) return {};
  return "there are " + std::to_string(problem.batch.count) + " products in the batch; of this size a launch takes " +
         std::to_string(taken);
}

}  // namespace lapidary::inline LAPIDARY_BUILD
