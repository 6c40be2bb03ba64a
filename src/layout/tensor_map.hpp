#pragma once
#include <cstdint>

#include "core/build.hpp"
#include "core/math.hpp"
#include "core/types.hpp"
#include "layout/layout.hpp"
#include "layout/require.hpp"
#include "layout/tensor_swizzle.hpp"

// What the Tensor Memory Accelerator of compute capability 9.0 and up is told of a tensor, and where it puts what it
// copies. Rules: CUDA Driver API, cuTensorMapEncodeTiled; PTX ISA, "Tensors".

namespace lapidary {

/// Element types, in the order of CUtensorMapDataType. 8-bit floats are u8.
enum class TensorType : std::uint8_t { u8, u16, u32, i32, u64, i64, f16, f32, f64, bf16, f32_ftz, tf32, tf32_ftz };

/// What a load gives for elements that are outside of the tensor.
enum class TensorFill : std::uint8_t { zero, nan };

/// How much L2 fetches from DRAM at least, in the order of CUtensorMapL2promotion.
enum class TensorPromotion : std::uint8_t { none, bytes64, bytes128, bytes256 };

/// A tensor in global memory and the box of it that one instruction copies. Mode 0 is the one whose elements are
/// contiguous; modes from the rank on are ignored.
struct TensorBox {
  static constexpr int max_rank = 5;

  const void* base = nullptr;
  std::uint64_t size[max_rank] = {};        ///< elements
  std::uint64_t stride[max_rank - 1] = {};  ///< bytes from an element to the next of mode 1, 2, ...
  int box[max_rank] = {};                   ///< elements of the tensor that the box spans
  /// Of the box's elements every so many-th is copied, along each mode but mode 0.
  std::uint8_t element_stride[max_rank] = {1, 1, 1, 1, 1};
  std::uint8_t rank = 0;
  TensorType type{};
  TensorSwizzle swizzle{};
  TensorFill fill{};
  TensorPromotion promotion = TensorPromotion::bytes128;
};

/// What a kernel is given, as a parameter `const __grid_constant__ TensorMap`: opaque, and of one machine. Made by
/// tensor_map() of device/encode_tensor_map.hpp.
struct alignas(64) TensorMap {
  std::uint64_t opaque[16] = {};
};

}  // namespace lapidary

namespace lapidary::inline LAPIDARY_BUILD {

LAPIDARY_HD constexpr int size_of(TensorType type) {
  switch (type) {
    case TensorType::u8: return 1;
    case TensorType::u16:
    case TensorType::f16:
    case TensorType::bf16: return 2;
    case TensorType::u64:
    case TensorType::i64:
    case TensorType::f64: return 8;
    default: return 4;
  }
}

/// What the elements of a matrix are as those of a tensor.
template <class T>
constexpr TensorType tensor_type = TensorType::u8;  // any type of 8 bits
template <>
inline constexpr TensorType tensor_type<f16> = TensorType::f16;
template <>
inline constexpr TensorType tensor_type<bf16> = TensorType::bf16;
template <>
inline constexpr TensorType tensor_type<float> = TensorType::f32;
/// As they are: loads of TensorType::tf32 round.
template <>
inline constexpr TensorType tensor_type<tf32> = TensorType::f32;

LAPIDARY_HD constexpr bool is_float(TensorType type) { return type >= TensorType::f16 && type <= TensorType::tf32_ftz; }

/// The mode that writes a box of rows as a layout (rows, elements of a row) has them: row-major without padding, and
/// swizzled, if at all, as one of the modes does.
LAPIDARY_HD constexpr TensorSwizzle tensor_swizzle(const Layout& layout, int element_bytes) {
  require(layout.rank() == 2 && layout.stride(1) == 1 && layout.stride(0) == layout.shape(1) &&
              layout.padding() == Padding{},
          "tensor map: the tile is row-major without padding, with a stride of its row", layout.stride(0),
          layout.shape(1));
  return tensor_swizzle(layout.swizzle(), element_bytes);
}

/// Elements of the box that are copied along a mode.
LAPIDARY_HD constexpr int copied(const TensorBox& tensor, int mode) {
  return mode == 0 ? tensor.box[0] : ceil_div(tensor.box[mode], static_cast<int>(tensor.element_stride[mode]));
}

LAPIDARY_HD constexpr int row_bytes(const TensorBox& tensor) { return tensor.box[0] * size_of(tensor.type); }

/// Bytes from one row of a box to the next in shared memory: rows that are shorter than what the swizzle permutes leave
/// gaps (seen on an H200; no document tells).
LAPIDARY_HD constexpr int row_pitch(const TensorBox& tensor) {
  const int row = row_bytes(tensor), span = span_of(tensor.swizzle);
  return row < span ? span : row;
}
LAPIDARY_HD constexpr int box_rows(const TensorBox& tensor) {
  int rows = 1;
  for (int mode = 1; mode < tensor.rank; ++mode) rows *= copied(tensor, mode);
  return rows;
}
/// Bytes of a box without its gaps; what a load adds to the transactions of its mbarrier, also where the box reaches
/// beyond the tensor.
LAPIDARY_HD constexpr int box_bytes(const TensorBox& tensor) { return box_rows(tensor) * row_bytes(tensor); }
/// Bytes of shared memory that it takes, gaps included.
LAPIDARY_HD constexpr int box_extent(const TensorBox& tensor) { return box_rows(tensor) * row_pitch(tensor); }

/// Checks all rules of cuTensorMapEncodeTiled for boxes that are not interleaved.
/// @throws InvalidArgument with the rule, the actual value and the nearest legal one
inline void require_legal(const TensorBox& tensor) {
  const auto within = [](auto value, long long least, long long most, const char* rule) {
    const auto actual = static_cast<long long>(value);
    require(actual >= least && actual <= most, rule, actual, actual < least ? least : most);
  };
  const auto multiple = [](auto value, long long of, const char* rule) {
    const auto actual = static_cast<long long>(value);
    require(actual % of == 0, rule, actual, actual < of ? of : actual / of * of);
  };
  within(tensor.rank, 1, TensorBox::max_rank, "tensor map: the rank is 1 to 5");
  within(static_cast<int>(tensor.type), 0, static_cast<int>(TensorType::tf32_ftz), "tensor map: there are 13 types");
  within(static_cast<int>(tensor.swizzle), 0, 3, "tensor map: there are 4 swizzles");
  const auto base = static_cast<long long>(reinterpret_cast<std::uintptr_t>(tensor.base));
  require(base != 0, "tensor map: the base address is not null", base, 16);
  require(base % 16 == 0, "tensor map: the base address modulo 16 is 0", base % 16, 0);
  for (int mode = 0; mode < tensor.rank; ++mode) {
    within(tensor.size[mode], 1, 1ll << 32, "tensor map: each mode of the tensor has 1 to 2^32 elements");
    within(tensor.box[mode], 1, 256, "tensor map: each mode of the box has 1 to 256 elements");
    within(tensor.element_stride[mode], 1, 8, "tensor map: element strides are 1 to 8");
    if (mode == 0) continue;
    within(tensor.stride[mode - 1], 16, (1ll << 40) - 16, "tensor map: strides are below 2^40 bytes");
    multiple(tensor.stride[mode - 1], 16, "tensor map: strides are multiples of 16 bytes");
  }
  multiple(row_bytes(tensor), 16, "tensor map: a row of the box is a multiple of 16 bytes");
  if (const int span = span_of(tensor.swizzle); span > 0)
    within(row_bytes(tensor), 16, span, "tensor map: a row of the box is no longer than what the swizzle permutes");
  require(tensor.fill == TensorFill::zero || is_float(tensor.type),
          "tensor map: only floating-point tensors are filled with NaN (1); others with zero (0)", 1, 0);
}

/// 16 bytes of a box, which a copy moves as one.
struct BoxChunk {
  int offset;                    ///< in shared memory, from the box's start, before the swizzle
  std::int64_t global;           ///< in the tensor, from its base, in bytes
  int inside_first, inside_end;  ///< which of the 16 bytes are inside of the tensor
};

/// How many bytes a box is away from the multiple of 16 bytes that every row of it must begin at, inside the tensor or
/// outside; a GPU of compute capability 9.0 takes a copy or prefetch of another one for an illegal instruction.
LAPIDARY_HD constexpr int misalignment_of(const TensorBox& tensor, const int* coordinates) {
  return (coordinates[0] % 16 * size_of(tensor.type) % 16 + 16) % 16;
}

/// Calls visit(chunk) for each chunk of the box at `coordinates`, one a mode, which count elements and may lie outside.
template <class Visit>
LAPIDARY_HD constexpr void for_each_chunk(const TensorBox& tensor, const int* coordinates, Visit&& visit) {
  const int element = size_of(tensor.type), row = row_bytes(tensor);
  const int rows = box_rows(tensor), pitch = row_pitch(tensor);
  const std::int64_t row_end = static_cast<std::int64_t>(tensor.size[0]) * element;
  for (int r = 0; r < rows; ++r) {
    std::int64_t global = static_cast<std::int64_t>(coordinates[0]) * element;
    bool inside = true;
    for (int mode = 1, rest = r; mode < tensor.rank; ++mode) {
      const int index = rest % copied(tensor, mode) * tensor.element_stride[mode];
      rest /= copied(tensor, mode);
      const std::int64_t at = static_cast<std::int64_t>(coordinates[mode]) + index;
      inside = inside && at >= 0 && at < static_cast<std::int64_t>(tensor.size[mode]);
      global += at * static_cast<std::int64_t>(tensor.stride[mode - 1]);
    }
    for (int c = 0; c < row; c += 16) {
      const std::int64_t from_row = static_cast<std::int64_t>(coordinates[0]) * element + c;
      const std::int64_t first = from_row < 0 ? -from_row : 0, end = row_end - from_row;
      BoxChunk chunk{r * pitch + c, global + c, 0, 0};
      if (inside && first < 16 && end > first) {
        chunk.inside_first = static_cast<int>(first);
        chunk.inside_end = static_cast<int>(end < 16 ? end : 16);
      }
      visit(chunk);
    }
  }
}

}  // namespace lapidary::inline LAPIDARY_BUILD
