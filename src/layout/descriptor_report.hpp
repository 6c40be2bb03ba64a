#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "layout/matrix_descriptor.hpp"

// What an instruction reads by a matrix descriptor, for pages; the emulated machine goes by address_of().

namespace lapidary::inline LAPIDARY_BUILD {

/// 8 rows (columns, where they are MN-major) of 16 bytes.
struct CoreMatrix {
  int mn, k;  ///< its first element
  std::array<std::uint32_t, 8> rows;
};

/// Those of one instruction, which reads 32 bytes of k, with MN rows or columns; along k first.
inline std::vector<CoreMatrix> descriptor_report(const MatrixDescriptor& descriptor, Major major, int element_bytes,
                                                 int MN) {
  const int chunk = 16 / element_bytes, K = 32 / element_bytes;
  const int mn_step = major == Major::k ? 8 : chunk, k_step = major == Major::k ? chunk : 8;
  std::vector<CoreMatrix> all;
  for (int mn = 0; mn < MN; mn += mn_step) {
    for (int k = 0; k < K; k += k_step) {
      CoreMatrix core{mn, k, {}};
      for (int row = 0; row < 8; ++row)
        core.rows[static_cast<std::size_t>(row)] = major == Major::k
                                                       ? address_of(descriptor, major, element_bytes, mn + row, k)
                                                       : address_of(descriptor, major, element_bytes, mn, k + row);
      all.push_back(core);
    }
  }
  return all;
}

}  // namespace lapidary::inline LAPIDARY_BUILD
