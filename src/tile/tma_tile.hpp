#pragma once
#include <cstdint>

#include "core/gemm.hpp"
#include "core/math.hpp"
#include "device/launch.hpp"
#include "layout/matrix_descriptor.hpp"
#include "layout/tensor_map.hpp"
#include "ptx/cp_async_bulk.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// MN rows of A or columns of B by BK in shared memory, as the Tensor Memory Accelerator writes them and wgmma reads
/// them: in rows of 128 bytes, swizzled, along whichever mode the matrix has its neighbours.
///
///     K-major     BK / span slabs of MN rows along k      boxes of rows, at most 256
///     MN-major    MN / span slabs of BK rows along mn     a box a slab, narrower ones for the rest of MN
///
/// Where `blocks` of a cluster share the tile, each copies its share of every slab's boxes.
template <class T_, Major major_, int MN_, int BK_, int blocks = 1>
struct TmaTile {
  using T = T_;
  static constexpr Major major = major_;
  static constexpr bool k_major = major == Major::k;
  static constexpr int MN = MN_, BK = BK_, bytes = MN * BK * static_cast<int>(sizeof(T));  // that are copied
  static constexpr int span = 128 / static_cast<int>(sizeof(T));
  static constexpr int slab = k_major ? MN : BK, length = k_major ? BK : MN;  // rows of a slab, and of all slabs
  static constexpr int slabs = ceil_div(length, span), rest = length % span;  // elements of the last one's rows, if any
  static constexpr int size = slabs * slab * span;
  /// Rows of a box, in whole patterns of the swizzle: as many as there can be where each block has one or more.
  static constexpr int box = [] {
    int rows = slab / blocks < 256 ? slab / blocks / 8 * 8 : 256;
    while (slab % rows != 0) rows -= 8;
    return rows;
  }();
  static constexpr int boxes = slab / box;
  static_assert(boxes <= 3 * blocks, "few boxes have all rows");
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
  /// Of A or B of a resolved problem.
  static MatrixMap<Map> map(const Problem& problem, Matrix matrix) {
    const auto size = [](std::int64_t extent) { return static_cast<std::uint64_t>(extent); };
    const MatrixShape shape = shape_of(problem, matrix);
    TensorBox tensor = {.base = unknown_address(),
                        .size = {size(shape.length()), size(shape.lines())},
                        .stride = {size(shape.ld) * sizeof(T)},
                        .box = {span, box},
                        .rank = 2,
                        .type = tensor_type<T>,
                        .swizzle = tensor_swizzle(layout.swizzle(), sizeof(T)),
                        .promotion = TensorPromotion::bytes256};
    Map map{};
    map.of[0] = tensor_map(tensor);
    if constexpr (rest != 0) {
      tensor.box[0] = rest;
      map.of[1] = tensor_map(tensor);
    }
    return {map, matrix};
  }

  /// Calls load(to, coordinates, slab) for each box of block `rank`'s share of the tile at (mn, k).
  template <class Load>
  LAPIDARY_DEVICE static void for_each_box(T* tile, int mn, int k, int rank, Load&& load) {
    const int first = rank * boxes / blocks, count = (rank + 1) * boxes / blocks - first;
#pragma unroll
    for (int s = 0; s < slabs; ++s)
#pragma unroll
      for (int i = 0; i < ceil_div(boxes, blocks); ++i) {
        if (boxes % blocks != 0 && i == count) break;
        const int row = (first + i) * box;
        T* const to = tile + (s * slab + row) * span;
        if constexpr (k_major)
          load(to, Coordinates{k + s * span, mn + row}, s);
        else
          load(to, Coordinates{mn + s * span, k + row}, s);
      }
  }

  /// Copies the tile at (mn, k), or of a tile that is shared this block's share, number `rank`, to the blocks of the
  /// cluster whose bits are in `mask`. In each of them the bytes are taken off those that `full` waits for.
  LAPIDARY_DEVICE static void copy(T* tile, const Map& maps, int mn, int k, Mbarrier& full, int rank = 0,
                                   [[maybe_unused]] std::uint16_t mask = 1, CallSite where = CallSite::current()) {
    for_each_box(tile, mn, k, rank, [&](T* to, Coordinates<2> from, int s) {
      const TensorMap& map = maps.of[rest != 0 && s == slabs - 1 ? 1 : 0];
      if constexpr (blocks == 1)
        cp_async_bulk_tensor_load(to, map, from, full, CachePolicy::evict_normal, where);
      else
        cp_async_bulk_tensor_multicast(to, map, from, full, mask, CachePolicy::evict_normal, where);
    });
  }
};

}  // namespace lapidary::inline LAPIDARY_BUILD
