#pragma once
#include <array>

#include "kernels/wgmma/batch_refusals.hpp"
#include "kernels/wgmma/wgmma_waves.cuh"
#include "tile/batch_boxes.hpp"

namespace lapidary::inline LAPIDARY_BUILD::wgmma_batched {

constexpr RungInfo info = {
    .name = "wgmma_batched",
    .parent = "wgmma_waves",
    .idea = "a batch of products in one launch",
    .change =
        "The D of a batch are blocks on the diagonal of one large matrix, and the walk goes through their tiles alone; the "
        "number of a product is the third coordinate of its boxes",
    .why =
        "A product of 256 x 256 has 4 tiles of 128 x 128 for 132 multiprocessors, and a launch of its own; 64 of them in "
        "one launch have 256, and one last round that is not full",
    .counter = "blocks: as many as there are multiprocessors, where each launch had a few",
    .cost = "Tiles hang over the edges of every product; matrices begin at multiples of 16 bytes from each other",
    .exercise =
        "`lapidary explain wgmma_batched -m 256 -n 256 -k 256`: how many of 132 multiprocessors have a tile of a single product?",
    .architecture = 90,
    .fallback = "mma_multistage",
};

/// Of so many products the tiles of D, product after product, where D of each is a block on the diagonal of one large
/// matrix: A of all are below each other, and B side by side, each of them rounded up to whole tiles.
template <class Tiles>
struct OnDiagonal : Tiles {
  int products = 1;

  template <class... Sizes>
  static OnDiagonal over(const Sizes&... sizes) {
    return {Tiles::over(sizes...)};
  }
  LAPIDARY_HD constexpr int tiles() const { return products * Tiles::tiles(); }
  LAPIDARY_HD constexpr RowCol<int> tile(int number) const {
    const int product = number / Tiles::tiles();
    const auto [row, col] = Tiles::tile(number % Tiles::tiles());
    return {product * this->rows + row, product * this->cols + col};
  }
};

/// Tiles of A or B of a batch, by where they are in that matrix.
template <class Tile>
struct OfBatch : Tile {
  using T = typename Tile::T;
  static_assert(Tile::rest == 0 && Tile::sharers == 1);
  struct Map {
    typename Tile::Map of;
    int extent;   ///< of a product along M or N, in whole tiles
    bool shared;  ///< by all products
  };
  static MatrixMap<Map> map(const Problem& problem, Matrix matrix) {
    const TensorSwizzle swizzle = tensor_swizzle(Tile::layout.swizzle(), sizeof(T));
    const TensorBox boxes = boxes_of<T>(problem, matrix, Tile::box, Tile::span, swizzle);
    const int extent = in_whole_tiles(matrix == Matrix::A ? problem.M : problem.N, Tile::MN);
    return {{{tensor_map(boxes_of_batch(boxes, problem, matrix))}, extent, is_shared(problem.batch, matrix)}, matrix};
  }

  LAPIDARY_DEVICE static void copy(T* tile, const Map& map, int mn, int k, Mbarrier& full,
                                   CallSite where = std::source_location::current()) {
    copy_of(mn / map.extent, tile, map, mn % map.extent, k, full, where);
  }
  LAPIDARY_DEVICE static void copy_of(int product, T* tile, const Map& map, int mn, int k, Mbarrier& full,
                                      CallSite where = std::source_location::current()) {
    Tile::for_each_box(tile, map.of, mn, k, 0, [&](T* to, const TensorMap& of, auto from) {
      const Coordinates<3> at = {from.at[0], from.at[1], map.shared ? 0 : product};
      cp_async_bulk_tensor_load(to, of, at, full, CachePolicy::evict_normal, where);
    });
  }
};

/// Results are staged, and stored to D of their product.
template <KernelTraits t, class R = ElementOf<t.kind.result>>
struct Epilogue : wgmma_staged::StagedEpilogue<R, t.tile.m / 64, t.slices, t.cols> {
  using Staged = wgmma_staged::StagedEpilogue<R, t.tile.m / 64, t.slices, t.cols>;
  struct Map {
    TensorMap d;
    int rows, cols;  ///< of a product, in whole tiles
    std::int64_t stride_c;
  };
  static MatrixMap<Map> map(const Problem& problem) {
    const TensorBox boxes = boxes_of<R>(problem, Matrix::D, Staged::rows, t.cols,
                                        tensor_swizzle(Staged::Slice::layout, sizeof(R)), TensorPromotion::bytes128);
    const int rows = in_whole_tiles(problem.M, t.tile.m), cols = in_whole_tiles(problem.N, t.tile.n);
    return {{tensor_map(boxes_of_batch(boxes, problem, Matrix::D)), rows, cols, problem.batch.stride_c}, Matrix::D};
  }

  template <class Tile, class T>
  LAPIDARY_DEVICE static void store(const Gemm<T, R>& g, const RowCol<std::int64_t>& block, int thread,
                                    typename Tile::Accumulators& rD, const Map& map, typename Staged::Storage& shared) {
    const int product = static_cast<int>(block.row) / map.rows;
    const RowCol<int> origin = Staged::template origin_of<Tile>(
        {block.row - product * map.rows, block.col - product * map.cols});
    Gemm<T, R> own = g;
    if (g.beta != 0) own.C += product * map.stride_c;
    scale_warpgroup(own, origin, rD);
    const auto store = [&](int row, int col, const R* from) {
      cp_async_bulk_tensor_store(map.d, Coordinates{col, row, product}, from);
    };
    Staged::template stage<Tile>(origin, thread, rD, store, shared, [](int, int) {});
  }
};

template <KernelTraits t>
struct Config : wgmma_waves::Config<t> {
  using A = OfBatch<typename wgmma_waves::Config<t>::A>;
  using B = OfBatch<typename wgmma_waves::Config<t>::B>;
  using Tile = WgmmaTile<A, B, wgmma_waves::Config<t>::warpgroups>;
  using Epilogue = wgmma_batched::Epilogue<t>;
  using Walk = wgmma_persistent::TileAfterTile<OnDiagonal<GroupedTiles<16>>>;
};

template <class Config>
Prepared prepare(const Problem& problem, const Card& card) {
  auto walk = walk_of<Config>(problem.M, problem.N, Config::traits.tile);
  walk.products = static_cast<int>(problem.batch.count);
  return prepared_parts<Config>(info, wgmma_kernel<Config>, problem, walk,
                                walk.template grid<Alone>(card.multiprocessors), Alone::blocks);
}

constexpr KernelTraits of(const GemmKind& kind, int BM, int BN) {
  return wgmma_waves::of(kind, BM, BN, BN > 64 ? 2 : 1, 64);
}
/// Wide tiles have the fewest bytes for each product; small ones are for products that are small, and few.
template <class... Kinds>
constexpr auto traits(const Kinds&... kinds) {
  return std::array{of(kinds, 128, 128)..., of(kinds, 128, 192)..., of(kinds, 128, 256)..., of(kinds, 64, 64)...};
}
constexpr auto all_traits = traits(wgmma_kinds[0], wgmma_kinds[1], wgmma_kinds[2], wgmma_kinds[3], wgmma_kinds[4],
                                   GemmKind(Type::f16));
constexpr auto build = [](auto t) {
  using C = Config<t.value>;
  BuiltKernel kernel = built_parts<C>(prepare<C>);
  kernel.refusal = [](const Problem& problem) {
    const std::string why = refusal_of<C>(problem);
    return why.empty() ? refusal_of_batch(problem, C::traits.tile) : why;
  };
  kernel.batches = true;
  return kernel;
};
template <class Unit>
constexpr auto built_kernels = built_wgmma_list<Unit, all_traits>(build);

}  // namespace lapidary::inline LAPIDARY_BUILD::wgmma_batched
