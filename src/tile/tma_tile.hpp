#pragma once
#include <cstdint>

#include "core/gemm.hpp"
#include "core/math.hpp"
#include "device/launch.hpp"
#include "layout/matrix_descriptor.hpp"
#include "layout/tensor_map.hpp"
#include "ptx/cp_async_bulk.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// Bytes between the beginnings of lines that a tensor map can tell are less than this: CUDA Driver API,
/// cuTensorMapEncodeTiled.
constexpr std::int64_t most_map_pitch = std::int64_t{1} << 40;

/// Bytes from one line of a matrix to the next, as its tensor map is told: of one line alone, whose leading dimension
/// is never walked, a number that is legal.
inline std::uint64_t map_pitch(const MatrixShape& shape) {
  const int size = size_of(shape.type);
  return static_cast<std::uint64_t>(shape.lines() > 1 ? shape.ld * size
                                                      : round_up<std::int64_t>(shape.length() * size, 16));
}

/// Boxes of `lines` lines of a matrix of a resolved problem, by `length` neighbours of each. L2 fetches what they touch
/// in lines of 128 bytes: with 256 it is busy for longer where lines of the matrix begin anywhere (docs/tried.md).
template <class T>
TensorBox boxes_of(const Problem& problem, Matrix matrix, int lines, int length, TensorSwizzle swizzle) {
  const MatrixShape shape = shape_of(problem, matrix);
  return {.base = unknown_address(),
          .size = {static_cast<std::uint64_t>(shape.length()), static_cast<std::uint64_t>(shape.lines())},
          .stride = {map_pitch(shape)},
          .box = {length, lines},
          .rank = 2,
          .type = tensor_type<T>,
          .swizzle = swizzle,
          .promotion = TensorPromotion::bytes128};
}

/// MN rows of A or columns of B by BK in shared memory, as the Tensor Memory Accelerator writes them and wgmma reads
/// them: in rows of 128 bytes, swizzled, along whichever mode the matrix has its neighbours.
///
///     K-major     BK / span slabs of MN rows along k      boxes of rows, at most 256
///     MN-major    MN / span slabs of BK rows along mn     a box a slab, narrower ones for the rest of MN
///
/// Where `sharers`, blocks of a cluster, need the tile, each copies its share of every slab's boxes to all of them.
template <class T_, Major major_, int MN_, int BK_, int sharers_ = 1>
struct TmaTile {
  using T = T_;
  static constexpr int sharers = sharers_;
  static constexpr Major major = major_;
  static constexpr bool k_major = major == Major::k;
  static constexpr int MN = MN_, BK = BK_, bytes = MN * BK * static_cast<int>(sizeof(T));  // that are copied
  static constexpr int span = 128 / static_cast<int>(sizeof(T));
  static constexpr int slab = k_major ? MN : BK, length = k_major ? BK : MN;  // rows of a slab, and of all slabs
  static constexpr int slabs = ceil_div(length, span), rest = length % span;  // elements of the last one's rows, if any
  static constexpr int size = slabs * slab * span;
  /// Rows of a box, in whole patterns of the swizzle: as many as there can be where each block has one or more.
  static constexpr int box = [] {
    int rows = slab / sharers < 256 ? slab / sharers / 8 * 8 : 256;
    while (slab % rows != 0) rows -= 8;
    return rows;
  }();
  static constexpr int boxes = slab / box;
  static_assert(boxes <= 3 * sharers, "few boxes have all rows");
  static_assert(rest == 0 || !k_major, "a product reads whole spans along k");

  static constexpr int base = sizeof(T) == 1 ? 4 : sizeof(T) == 2 ? 3 : 2;  // elements of 16 bytes are 2 to this power
  static constexpr Layout layout = (k_major ? Layout({MN, slabs, span}, {span, slab* span, 1})
                                            : Layout({slabs, span, BK}, {slab * span, 1, span}))
                                       .swizzled(3, base, 3);

  /// What tells wgmma of it.
  LAPIDARY_HD static constexpr MatrixTile matrix() { return MatrixTile(layout, major, sizeof(T)); }

  /// What a kernel is given of a matrix: how to copy boxes of whole spans, and those of the rest.
  struct Map {
    TensorMap of[rest == 0 ? 1 : 2];
  };
  /// Boxes of whole spans of A or B of a resolved problem.
  static TensorBox tensor(const Problem& problem, Matrix matrix) {
    return boxes_of<T>(problem, matrix, box, span, tensor_swizzle(layout.swizzle(), sizeof(T)));
  }
  static Map map_of(TensorBox tensor) {
    Map map{};
    map.of[0] = tensor_map(tensor);
    if constexpr (rest != 0) {
      tensor.box[0] = rest;
      map.of[1] = tensor_map(tensor);
    }
    return map;
  }
  /// What a launch of a resolved problem gives a kernel of A or B: how to copy it, and of which matrix that is, whose
  /// address is filled in.
  static MatrixMap<Map> map(const Problem& problem, Matrix matrix) { return {map_of(tensor(problem, matrix)), matrix}; }

  /// What a tile's copies begin from, at mn along M or N, whatever k is.
  LAPIDARY_HD static constexpr int origin(const Map&, int mn) { return mn; }

  /// Calls copy(to, map, coordinates) for each box of a block's share, number `share`, of the tile at (mn, k).
  template <class Copy>
  LAPIDARY_DEVICE static void for_each_box(T* tile, const Map& maps, int mn, int k, int share, Copy&& copy) {
    const int first = share * boxes / sharers, count = (share + 1) * boxes / sharers - first;
#pragma unroll
    for (int s = 0; s < slabs; ++s)
#pragma unroll
      for (int i = 0; i < ceil_div(boxes, sharers); ++i) {
        if (boxes % sharers != 0 && i == count) break;
        const int row = (first + i) * box;
        T* const to = tile + (s * slab + row) * span;
        const TensorMap& map = maps.of[rest != 0 && s == slabs - 1 ? 1 : 0];
        if constexpr (k_major)
          copy(to, map, Coordinates{k + s * span, mn + row});
        else
          copy(to, map, Coordinates{mn + s * span, k + row});
      }
  }

  /// Copies the tile at (mn, k), which no other block needs; its bytes are taken off those that `full` waits for.
  LAPIDARY_DEVICE static void copy(T* tile, const Map& maps, int mn, int k, Mbarrier& full,
                                   CallSite where = std::source_location::current()) {
    static_assert(sharers == 1);
    for_each_box(tile, maps, mn, k, 0, [&](T* to, const TensorMap& map, Coordinates<2> from) {
      cp_async_bulk_tensor_load(to, map, from, full, CachePolicy::evict_normal, where);
    });
  }
};

/// In which boxes D, of R, is stored from shared memory.
template <class R>
TensorBox boxes_of_d(const Problem& problem, int rows, int cols, const Layout& box) {
  return boxes_of<R>(problem, Matrix::D, rows, cols, tensor_swizzle(box, sizeof(R)));
}

}  // namespace lapidary::inline LAPIDARY_BUILD
