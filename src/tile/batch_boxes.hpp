#pragma once
#include <cstdint>

#include "core/batch.hpp"
#include "core/math.hpp"
#include "core/problem.hpp"
#include "tile/quotient.hpp"
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

/// Tiles of A or B of a batch, of which the D of all products are blocks on the diagonal of one large matrix, by where
/// they are in that. @param run  how many of them, along M or N, a cluster has
template <class Tile, int run>
struct BatchTile : Tile {
  using T = typename Tile::T;
  struct Map {
    typename Tile::Map of;
    int extent;   ///< of a product along M or N, in whole clusters
    bool shared;  ///< by all products
    int part;     ///< of K, where each product is of a part of its own; otherwise 0
  };
  static MatrixMap<Map> map(const Problem& problem, Matrix matrix) {
    const int extent = in_whole_tiles(matrix == Matrix::A ? problem.M : problem.N, Tile::MN * run);
    return {{Tile::map_of(boxes_of_batch(Tile::tensor(problem, matrix), problem, matrix)), extent,
             is_shared(problem.batch, matrix), problem.split > 1 ? static_cast<int>(part_of_k(problem)) : 0},
            matrix};
  }

  /// Where in a matrix of a product a tile begins, which takes a division to say.
  struct Origin {
    int mn, k, matrix;
  };
  LAPIDARY_DEVICE static Origin origin(const Map& map, int mn) {
    const int product = quotient_of(mn, map.extent);
    return {mn - product * map.extent, product * map.part, map.shared ? 0 : product};
  }
  template <class Copy>
  LAPIDARY_DEVICE static void for_each_box(T* tile, const Map& map, const Origin& at, int k, int share, Copy&& copy) {
    Tile::for_each_box(tile, map.of, at.mn, at.k + k, share,
                       [&](T* to, const TensorMap& of, const Coordinates<2>& from) {
                         copy(to, of, Coordinates<3>{from.at[0], from.at[1], at.matrix});
                       });
  }
  LAPIDARY_DEVICE static void copy(T* tile, const Map& map, const Origin& at, int k, Mbarrier& full,
                                   CallSite where = std::source_location::current()) {
    static_assert(Tile::sharers == 1);
    for_each_box(tile, map, at, k, 0, [&](T* to, const TensorMap& of, const Coordinates<3>& from) {
      cp_async_bulk_tensor_load(to, of, from, full, CachePolicy::evict_normal, where);
    });
  }
};

}  // namespace lapidary::inline LAPIDARY_BUILD
