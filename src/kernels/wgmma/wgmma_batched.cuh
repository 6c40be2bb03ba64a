#pragma once
#include "kernels/wgmma/built_batch.hpp"
#include "kernels/wgmma/wgmma_pingpong.cuh"
#include "tile/batch_boxes.hpp"
#include "tile/quotient.hpp"

namespace lapidary::inline LAPIDARY_BUILD::wgmma_batched {

constexpr RungInfo info = {
    .name = "wgmma_batched",
    .parent = "wgmma_pingpong",
    .idea = "a batch of products in one launch",
    .change =
        "The D of a batch are blocks on the diagonal of one large matrix, and the walk goes through their tiles alone; the "
        "number of a product is the third coordinate of its boxes, or says where in K its part of one product begins",
    .why =
        "A product of 256 x 256 has 4 tiles of 128 x 128 for 132 multiprocessors, and a launch of its own; 64 of them in "
        "one launch have 256, and one last round that is not full. Parts of a long K are such a batch: the 12 tiles of "
        "392 x 264 x 26432 have work for as many multiprocessors as are wanted",
    .counter = "blocks: as many as there are multiprocessors, where each launch had a few",
    .cost =
        "Tiles hang over the edges of every product; matrices begin at multiples of 16 bytes from each other; sums of "
        "parts go to memory, and a second launch adds them up",
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
    const int product = quotient_of(number, Tiles::tiles());
    const auto [row, col] = Tiles::tile(number - product * Tiles::tiles());
    return {product * this->rows + row, product * this->cols + col};
  }
};

/// Whether two warpgroups take tiles in turns; of wider ones, and of those with results of 32 bits, each has half the
/// rows.
constexpr bool in_turns(const TileShape& tile, const GemmKind& kind) {
  return tile.m * tile.n <= 128 * 192 && size_of(kind.result) == 2;
}
template <KernelTraits t>
using Parent = std::conditional_t<in_turns(t.tile, t.kind), wgmma_pingpong::Config<t>, wgmma_shared::Config<t>>;

/// Results are staged, and stored to D of their product.
template <KernelTraits t, class Staged = typename Parent<t>::Epilogue>
struct Epilogue : Staged {
  struct Map {
    typename Staged::Map d;
    int rows, cols;  ///< of a product, in whole clusters
    std::int64_t stride_c;
  };
  static MatrixMap<Map> map(const Problem& problem) {
    const auto of_all = [&](const TensorBox& d) { return boxes_of_batch(d, problem, Matrix::D); };
    return {{Staged::map_of(problem, of_all), in_whole_tiles(problem.M, t.tile.m * t.cluster.down),
             in_whole_tiles(problem.N, t.tile.n * t.cluster.across), problem.batch.stride_c},
            Matrix::D};
  }

  /// A tile by where it is in its product.
  struct Place : RowCol<std::int64_t> {
    int product;
  };
  LAPIDARY_DEVICE static Place place(const RowCol<std::int64_t>& origin, const Map& map) {
    int product = quotient_of(static_cast<int>(origin.row), map.rows);
    compute_here(product);
    return {{origin.row - product * map.rows, origin.col - product * map.cols}, product};
  }

  template <class Tile, class T, class R>
  LAPIDARY_DEVICE static void store(const Gemm<T, R>& g, const Place& place, int thread,
                                    typename Tile::Accumulators& rD, const Map& map, typename Staged::Storage& shared) {
    const RowCol<int> origin = Staged::template origin_of<Tile>(place);
    Gemm<T, R> own = g;
    if (g.beta != 0) own.C += place.product * map.stride_c;
    scale_warpgroup(own, origin, rD);
    const auto at = [&](int row, int col) { return Coordinates{col, row, place.product}; };
    Staged::template stage<Tile>(origin, thread, rD, BulkStore{map.d, at}, shared, [](int, int) {});
  }
};

template <KernelTraits t>
struct Config : Parent<t> {
  using A = BatchTile<typename Parent<t>::A, t.cluster.down>;
  using B = BatchTile<typename Parent<t>::B, t.cluster.across>;
  using Tile = WgmmaTile<A, B, Parent<t>::Tile::BM / Parent<t>::Tile::WM>;
  using Epilogue = wgmma_batched::Epilogue<t>;
  using Walk = wgmma_shared::InClusters<wgmma_persistent::TileAfterTile<OnDiagonal<GroupedTiles<16>>>>;
};

template <class Config>
constexpr auto kernel_of() {
  if constexpr (in_turns(Config::traits.tile, Config::traits.kind))
    return wgmma_pingpong::pingpong_kernel<Config>;
  else
    return wgmma_kernel<Config>;
}
template <class Config>
Prepared prepare(const Problem& problem, const Card& card) {
  return prepare_batch<Config>(info, kernel_of<Config>(), problem, card);
}

constexpr KernelTraits of(const GemmKind& kind, const MenuTile& tile) {
  return in_turns({tile.BM, tile.BN, 64}, kind) ? wgmma_pingpong::of(kind, tile) : wgmma_shared::of(kind, tile);
}
constexpr Order row = Order::row_major, column = Order::column_major;
/// Wide tiles in pairs have the fewest bytes for each product; small ones are for products that are small, and few.
constexpr MenuTile column_major_b[] = {{128, 128, 2, 64},       {128, 256, 2, 64, 2, 1}, {128, 192, 2, 64, 2, 1},
                                       {128, 128, 2, 64, 2, 1}, {128, 144, 2, 32, 1, 2}, {64, 176, 2, 32},
                                       {64, 128, 2, 64, 2, 1},  {64, 96, 2, 32, 2, 2},   {64, 64, 1, 64, 2, 2},
                                       {64, 64, 1, 64}};
constexpr MenuTile other_orders[] = {
    {128, 128, 2, 64}, {128, 256, 2, 64, 2, 1}, {128, 192, 2, 64, 2, 1}, {64, 128, 2, 64, 2, 1}, {64, 64, 1, 64}};
/// Results of 32 bits, which are sums of parts of K most often: of these tiles there are as many as parts are made, and
/// where B is along N blocks of a cluster copy for each other.
constexpr MenuTile wide[] = {{128, 192, 1, 40}, {64, 128, 1, 72}};
constexpr MenuTile wide_column_major_b[] = {
    {128, 256, 1, 56, 2, 1}, {128, 96, 1, 56}, {64, 96, 1, 56}, {64, 176, 1, 88}};
constexpr MenuTile wide_row_major_b[] = {{128, 192, 1, 40, 2, 1}, {128, 192, 1, 40, 2, 2}, {128, 128, 1, 56, 2, 4}};
constexpr MenuTile wide_of_columns_by_rows[] = {{128, 128, 1, 56}, {128, 128, 1, 56, 4, 2}};
constexpr auto all_traits = joined(
    menu_of(of, kinds_of_16_bits(row, column), column_major_b), menu_of(of, kinds_of_other_orders, other_orders),
    menu_of(of,
            joined(kinds_with_f32(row, column), kinds_with_f32(row, row), kinds_with_f32(column, row),
                   kinds_with_f32(column, column)),
            wide),
    menu_of(of, kinds_with_f32(row, column), wide_column_major_b),
    menu_of(of, joined(kinds_with_f32(row, row), kinds_with_f32(column, row)), wide_row_major_b),
    menu_of(of, kinds_with_f32(column, row), wide_of_columns_by_rows));
constexpr auto build = [](auto t) {
  using C = Config<t.value>;
  return built_batch<C>(prepare<C>);
};
template <class Unit>
constexpr auto built_kernels = built_wgmma_list<Unit, all_traits>(build);

}  // namespace lapidary::inline LAPIDARY_BUILD::wgmma_batched
