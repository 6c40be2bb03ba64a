#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "layout/tensor_map.hpp"

// Where a box of a tensor goes, row by row, for pages; the copy engine goes by for_each_chunk().

namespace lapidary::inline LAPIDARY_BUILD {

/// A row of a box: where it comes from, and where each of its chunks goes.
struct BoxRow {
  std::int64_t global = 0;               ///< its first byte in the tensor, which may lie outside
  int inside_first = 0, inside_end = 0;  ///< bytes of the row that are in the tensor; none if both are 0
  std::vector<int> offsets;              ///< in shared memory, of each chunk of 16 bytes
};

/// @param coordinates  of the box's first element, one a mode
inline std::vector<BoxRow> box_report(const TensorBox& tensor, const int* coordinates) {
  const Swizzle swizzle = byte_swizzle(tensor.swizzle);
  const int pitch = row_pitch(tensor);
  std::vector<BoxRow> rows(static_cast<std::size_t>(box_rows(tensor)));
  for_each_chunk(tensor, coordinates, [&](const BoxChunk& chunk) {
    BoxRow& to = rows[static_cast<std::size_t>(chunk.offset / pitch)];
    const int column = chunk.offset % pitch;
    if (column == 0) to.global = chunk.global;
    if (chunk.inside_end > chunk.inside_first) {
      if (to.inside_end == 0) to.inside_first = column + chunk.inside_first;
      to.inside_end = column + chunk.inside_end;
    }
    to.offsets.push_back(swizzle(chunk.offset));
  });
  return rows;
}

}  // namespace lapidary::inline LAPIDARY_BUILD
