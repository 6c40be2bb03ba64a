#pragma once
#include <cstdint>

#include "core/build.hpp"
#include "layout/layout.hpp"
#include "layout/require.hpp"
#include "layout/tensor_swizzle.hpp"

// How wgmma is told of a matrix in shared memory (PTX ISA, "Asynchronous Warpgroup Level Matrix Shared Memory Layout"
// and "Matrix Descriptor Format"). `mn` is the row of A, or the column of B; k runs along the other mode of both.
//
// Linear byte offset of element (mn, k) of e bytes, to whose address in shared memory the swizzle is then applied. A
// row of the swizzle is its span of S bytes, P = S / e elements:
//
//   K-major, no swizzle    (mn / 8) stride + (k e / 16) leading + (mn % 8) 16 + k e % 16
//   K-major, S             (mn / 8) stride                      + (mn % 8) S  + k e        within a row: k e < S
//   MN-major, no swizzle   (mn / 8) stride + (k / 8) leading    + (k % 8) 16  + (mn % 8) e
//   MN-major, S            (mn / P) leading + (k / 8) stride    + (k % 8) S   + (mn % P) e
//
// 8 rows of 16 bytes that belong together are a core matrix.

namespace lapidary {

/// The mode along which neighbours in memory are. Elements of other sizes than 16 bits are K-major.
enum class Major : std::uint8_t { k, mn };

/// A matrix descriptor; quantities count bytes. See require_legal() for what they may be.
struct MatrixDescriptor {
  std::uint32_t start = 0;  ///< address in shared memory, of the first element that the instruction reads
  int leading = 16;         ///< leading dimension byte offset; of no meaning where the swizzle is K-major
  int stride = 0;           ///< stride dimension byte offset
  int base_offset = 0;      ///< where a swizzle's first row is that does not begin at a multiple of 8 S
  TensorSwizzle swizzle{};

  bool operator==(const MatrixDescriptor&) const = default;
};

}  // namespace lapidary

namespace lapidary::inline LAPIDARY_BUILD {

/// Checks what the 64 bits of a descriptor can hold.
/// @throws InvalidArgument with the rule, the actual value and the nearest legal one
LAPIDARY_HD constexpr void require_legal(const MatrixDescriptor& descriptor) {
  constexpr int limit = 1 << 18;
  const auto field = [](long long value, const char* multiple, const char* below) {
    require(value >= 0 && value < limit, below, value, value < 0 ? 0 : limit - 16);
    require(value % 16 == 0, multiple, value, value / 16 * 16);
  };
  field(descriptor.start, "matrix descriptor: the start address is a multiple of 16 bytes",
        "matrix descriptor: the start address is below 2^18");
  field(descriptor.leading, "matrix descriptor: the leading offset is a multiple of 16 bytes",
        "matrix descriptor: the leading offset is 0 to 2^18 - 16");
  field(descriptor.stride, "matrix descriptor: the stride offset is a multiple of 16 bytes",
        "matrix descriptor: the stride offset is 0 to 2^18 - 16");
  require(descriptor.base_offset >= 0 && descriptor.base_offset < 8, "matrix descriptor: the base offset is 0 to 7",
          descriptor.base_offset, descriptor.base_offset < 0 ? 0 : 7);
}

/// The 64 bits: address and offsets without their lower 4 bits, 14 bits each, from bits 0, 16 and 32 on; the base
/// offset from bit 49 on; 0, 3, 2 and 1 for swizzles of 0, 32, 64 and 128 bytes in bits 62 and 63.
LAPIDARY_HD constexpr std::uint64_t encode(const MatrixDescriptor& descriptor) {
  require_legal(descriptor);
  const auto bits = [](auto value, int at) { return static_cast<std::uint64_t>(value) << at; };
  return bits(descriptor.start / 16, 0) | bits(descriptor.leading / 16, 16) | bits(descriptor.stride / 16, 32) |
         bits(descriptor.base_offset, 49) | bits((4 - static_cast<int>(descriptor.swizzle)) % 4, 62);
}

/// The reverse. Bits that belong to no field do not count.
LAPIDARY_HD constexpr MatrixDescriptor decode_matrix_descriptor(std::uint64_t bits) {
  const auto field = [&](int at, int width) { return static_cast<int>(bits >> at & ((1u << width) - 1)); };
  return {.start = static_cast<std::uint32_t>(field(0, 14)) * 16,
          .leading = field(16, 14) * 16,
          .stride = field(32, 14) * 16,
          .base_offset = field(49, 3),
          .swizzle = static_cast<TensorSwizzle>((4 - field(62, 2)) % 4)};
}

/// The address in shared memory of element (mn, k), which may be counted from any one that the descriptor starts at.
/// The base offset is taken to be 0.
LAPIDARY_HD constexpr std::uint32_t address_of(const MatrixDescriptor& descriptor, Major major, int element_bytes,
                                               int mn, int k) {
  const int S = span_of(descriptor.swizzle);
  int offset = 0;
  if (major == Major::k && S == 0) {
    const int bytes = k * element_bytes;
    offset = mn / 8 * descriptor.stride + bytes / 16 * descriptor.leading + mn % 8 * 16 + bytes % 16;
  } else if (major == Major::k) {
    offset = mn / 8 * descriptor.stride + mn % 8 * S + k * element_bytes;
  } else if (S == 0) {
    offset = mn / 8 * descriptor.stride + k / 8 * descriptor.leading + k % 8 * 16 + mn % 8 * element_bytes;
  } else {
    const int P = S / element_bytes;
    offset = mn / P * descriptor.leading + k / 8 * descriptor.stride + k % 8 * S + mn % P * element_bytes;
  }
  return static_cast<std::uint32_t>(byte_swizzle(descriptor.swizzle)(static_cast<int>(descriptor.start) + offset));
}

/// What keeps an instruction that reads `k_bytes` bytes of K from reading a tile as it was swizzled when written:
/// nullptr if nothing does. A pattern of 8 rows begins at a multiple of its size, the instruction within its first row,
/// and a K-major one reads no further than to the row's end.
constexpr const char* misalignment_of(const MatrixDescriptor& descriptor, Major major, int k_bytes = 32) {
  const auto S = static_cast<std::uint32_t>(span_of(descriptor.swizzle));
  if (descriptor.base_offset != 0) return "a base offset other than 0 is not modelled: align the tile to its swizzle";
  if (S == 0) return nullptr;
  const std::uint32_t in_pattern = descriptor.start % (8 * S);
  if (in_pattern >= S) return "the matrix does not start in the first of the swizzle's 8 rows";
  if (major == Major::k && in_pattern + static_cast<std::uint32_t>(k_bytes) > S)
    return "the matrix goes on beyond the end of the swizzle's rows";
  return nullptr;
}

/// A tile in shared memory as wgmma's operand: the layout that writes it gives the descriptors that read it. The
/// layout's modes are mn and k, or either of them split in two, tiles before what is in a tile, as the table above has
/// it:
///
///     K-major    mn: 8 rows     k: a row of the swizzle, without one 16 bytes      (mn / 8, mn % 8, k / P, k % P)
///     MN-major   mn: a row of the swizzle, without one 8 elements     k: 8         (mn / P, mn % P, k / 8, k % 8)
///
/// With three modes it is the rows that are split: k of a K-major tile, mn of the other.
///
///     row_major(128, 64).swizzled(3, 3, 3)                        K-major, 128 x 64 of 16 bits, S = 128
///     Layout({128, 2, 64}, {64, 8192, 1}).swizzled(3, 3, 3)       the same with K = 128, in two boxes of the TMA
///     Layout({4, 64, 64}, {4096, 1, 64}).swizzled(3, 3, 3)        MN-major, mn = 256, k = 64, in four boxes
///     Layout({16, 8, 2, 8}, {64, 8, 1024, 1})                     K-major, 128 x 16 of 16 bits, no swizzle
///
/// @throws InvalidArgument if wgmma cannot read the layout
class MatrixTile {
 public:
  LAPIDARY_HD constexpr MatrixTile(const Layout& layout, Major major, int element_bytes)
      : element_bytes_(element_bytes), swizzle_(tensor_swizzle(layout.swizzle(), element_bytes)), major_(major) {
    require(element_bytes == 1 || element_bytes == 2 || element_bytes == 4, "wgmma: elements have 1, 2 or 4 bytes",
            element_bytes,
            element_bytes < 1    ? 1
            : element_bytes == 3 ? 2
                                 : 4);
    require(major == Major::k || element_bytes == 2, "wgmma: MN-major elements have 2 bytes", element_bytes, 2);
    require(layout.padding() == Padding{}, "wgmma: tiles have no padding; elements are added", layout.padding().add, 0);
    const int S = span_of(swizzle_), row = (S == 0 ? 16 : S) / element_bytes;
    inner_[0] = major == Major::k ? 8 : row;
    inner_[1] = major == Major::k ? row : 8;
    split(layout);
    const int along = major == Major::k ? 1 : 0;
    require(stride_[along][1] == 1, "wgmma: the elements of a row are neighbours, a stride apart of", stride_[along][1],
            1);
    require(stride_[1 - along][1] == row, "wgmma: rows follow each other, a stride apart of", stride_[1 - along][1],
            row);
    at_zero_ = encode(descriptor(0));
  }

  /// Of the matrix from element (mn, k) on; `start` is the tile's address in shared memory. mn and k are multiples of
  /// what one instruction multiplies: 64 of A and the N of B, and 32 bytes.
  LAPIDARY_HD constexpr MatrixDescriptor descriptor(std::uint32_t start, int mn = 0, int k = 0) const {
    const int by_mn = stride_[0][0] * element_bytes_, by_k = stride_[1][0] * element_bytes_;
    const int S = span_of(swizzle_);
    MatrixDescriptor result{.start = start + static_cast<std::uint32_t>(offset(mn, k)), .swizzle = swizzle_};
    if (S != 0 && major_ == Major::mn) {
      result.leading = by_mn;
      result.stride = by_k;
    } else {
      result.stride = by_mn;
      if (S == 0) result.leading = by_k;
    }
    return result;
  }

  /// The same as bits, without checks of the start, which would be branches between the products of a kernel: a
  /// constant and a 16th of the address. Above its 18 bits an address in shared memory has the block's rank in its
  /// cluster, which would be added to the leading offset.
  LAPIDARY_HD constexpr std::uint64_t encoded(std::uint32_t start, int mn = 0, int k = 0) const {
    return at_zero_ + ((start & 0x3ffff) + static_cast<std::uint32_t>(offset(mn, k))) / 16;
  }

  /// Bytes from the tile's beginning to element (mn, k), before the swizzle; adding them to a descriptor's start, or a
  /// 16th of them to its 64 bits, makes it the one of the matrix from there on.
  LAPIDARY_HD constexpr int offset(int mn, int k) const {
    return (mn / inner_[0] * stride_[0][0] + mn % inner_[0] * stride_[0][1] + k / inner_[1] * stride_[1][0] +
            k % inner_[1] * stride_[1][1]) *
           element_bytes_;
  }

  LAPIDARY_HD constexpr Major major() const { return major_; }

 private:
  // Strides of both halves of both modes.
  LAPIDARY_HD constexpr void split(const Layout& layout) {
    const int rank = layout.rank();
    require(rank >= 2, "wgmma: a tile's layout has the modes mn and k, which may be split", rank, 2);
    const bool halves[2] = {rank == 4 || (rank == 3 && major_ == Major::mn),
                            rank == 4 || (rank == 3 && major_ == Major::k)};
    for (int mode = 0, m = 0; mode < 2; ++mode) {
      if (halves[mode]) {
        require(layout.shape(m + 1) == inner_[mode],
                "wgmma: where a mode is split, its inner half is a core matrix or a row of the swizzle, elements",
                layout.shape(m + 1), inner_[mode]);
        stride_[mode][0] = layout.stride(m);
        stride_[mode][1] = layout.stride(m + 1);
        m += 2;
      } else {
        const int extent = layout.shape(m);
        require(extent % 8 == 0, "wgmma: modes are multiples of 8 elements", extent, extent < 8 ? 8 : extent / 8 * 8);
        stride_[mode][0] = layout.stride(m) * inner_[mode];
        stride_[mode][1] = layout.stride(m);
        // Whole rows follow each other as others do only where there is just one.
        const bool along_row = (mode == 1) == (major_ == Major::k);
        require(!along_row || extent <= inner_[mode],
                "wgmma: a mode that is longer than a row of the swizzle is split into rows, elements", extent,
                inner_[mode]);
        ++m;
      }
    }
  }

  int element_bytes_;
  TensorSwizzle swizzle_;
  Major major_;
  int inner_[2] = {};          ///< of mn and k: elements of the inner half
  int stride_[2][2] = {};      ///< of mn and k: of outer and inner half, in elements
  std::uint64_t at_zero_ = 0;  ///< the descriptor of a tile at address 0
};

}  // namespace lapidary::inline LAPIDARY_BUILD
