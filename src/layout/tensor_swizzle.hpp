#pragma once
#include <cstdint>

#include "core/build.hpp"
#include "layout/layout.hpp"
#include "layout/require.hpp"

namespace lapidary {

/// How the 16-byte chunks of a tile are permuted in shared memory by the Tensor Memory Accelerator and for wgmma, by
/// the bytes of a row that take part; in the order of CUtensorMapSwizzle.
enum class TensorSwizzle : std::uint8_t { none, bytes32, bytes64, bytes128 };

}  // namespace lapidary

namespace lapidary::inline LAPIDARY_BUILD {

/// The bytes of a row that the swizzle permutes; 0 for none.
LAPIDARY_HD constexpr int span_of(TensorSwizzle swizzle) {
  return swizzle == TensorSwizzle::none ? 0 : 16 << static_cast<int>(swizzle);
}

/// The same as a swizzle of byte addresses in shared memory: bits 7, 8 and 9 (7 and 8; 7) are XORed onto bits 4, 5 and
/// 6 (4 and 5; 4). It repeats after 8 * span_of() bytes, which tiles are aligned to.
LAPIDARY_HD constexpr Swizzle byte_swizzle(TensorSwizzle swizzle) {
  const int bits = static_cast<int>(swizzle);
  return bits == 0 ? Swizzle{} : Swizzle{bits, 4, 3};
}

/// The mode that permutes elements of `element_bytes` bytes as a layout's swizzle does.
LAPIDARY_HD constexpr TensorSwizzle tensor_swizzle(Swizzle swizzle, int element_bytes) {
  if (swizzle.bits == 0) return TensorSwizzle::none;
  require(swizzle.bits <= 3, "tensor swizzle: there are 0 to 3 bits", swizzle.bits, 3);
  int base = swizzle.base;
  for (int bytes = element_bytes; bytes > 1; bytes /= 2) ++base;
  require(base == 4, "tensor swizzle: chunks of 16 bytes are permuted, from bit 4 of the byte offset on", base, 4);
  require(swizzle.shift == 3, "tensor swizzle: the bits come from 3 bits higher", swizzle.shift, 3);
  return static_cast<TensorSwizzle>(swizzle.bits);
}

}  // namespace lapidary::inline LAPIDARY_BUILD
