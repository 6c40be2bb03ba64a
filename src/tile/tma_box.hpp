#pragma once
#include <cstdint>

#include "core/problem.hpp"
#include "device/launch.hpp"
#include "layout/layout.hpp"
#include "layout/tensor_map.hpp"
#include "ptx/cp_async_bulk.hpp"
#include "tile/tma_tile.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// A tile of LINES of a matrix, rows or columns as memory has them, by LENGTH neighbours of each, in shared memory as
/// the Tensor Memory Accelerator writes it in one box, for threads to read: line after line, and where lines have 16
/// bytes times a power of two, `swizzle_bits`, permuted among that many 16-byte chunks of theirs.
template <class T, int LINES, int LENGTH, int swizzle_bits = 0>
struct TmaBox {
  static constexpr int size = LINES * LENGTH, bytes = size * static_cast<int>(sizeof(T));
  static constexpr int chunk_log2 = sizeof(T) == 1 ? 4 : sizeof(T) == 2 ? 3 : 2;  // elements of 16 bytes
  static constexpr Layout layout = row_major(LINES, LENGTH).swizzled(swizzle_bits, chunk_log2, 3);
  static_assert(LINES <= 256 && LENGTH <= 256 && LENGTH * sizeof(T) % 16 == 0, "one box");

  /// How to copy tiles of A or B of a resolved problem.
  static MatrixMap<TensorMap> map(const Problem& problem, Matrix matrix) {
    return {tensor_map(boxes_of<T>(problem, matrix, LINES, LENGTH, tensor_swizzle(layout, sizeof(T)))), matrix};
  }

  /// Copies the tile that begins at `at` of line `line`; its bytes are taken off those that `full` waits for.
  LAPIDARY_DEVICE static void copy(T* tile, const TensorMap& map, int line, int at, Mbarrier& full,
                                   CallSite where = std::source_location::current()) {
    cp_async_bulk_tensor_load(tile, map, Coordinates{at, line}, full, CachePolicy::evict_normal, where);
  }
};

}  // namespace lapidary::inline LAPIDARY_BUILD
