#pragma once
#include "kernels/wgmma/wgmma_batched.cuh"
#include "kernels/wgmma/wgmma_skinny.cuh"
#include "tile/turned_slice.hpp"

namespace lapidary::inline LAPIDARY_BUILD::wgmma_turned {

constexpr RungInfo info = {
    .name = "wgmma_turned",
    .parent = "wgmma_batched",
    .idea = "wgmma's 64 rows lie along D's columns",
    .change =
        "The transposed product: columns of B are the rows of what wgmma multiplies, so that a tile has 64, 128 or 192 "
        "columns, and any multiple of 8 rows up to 256; results are turned back on their way to shared memory",
    .why =
        "A tile of 64 rows has them whether D does or not: of three tiles of 128 for 288 rows a quarter hangs over, is "
        "multiplied and, with other columns of B, asked for; three of 96 have none that does",
    .counter = "wgmma instructions, and reads of L2: less by what hung over D",
    .cost =
        "A lane has neighbours of a column of D: C is read, and results go to shared memory, one by one; columns are as "
        "coarse as rows were",
    .exercise =
        "`lapidary raster --kernel wgmma_turned -m 288 -n 5112 -k 10960`, then `--kernel wgmma_waves --tile 128x128x64`: how "
        "much of what is computed lies in D?",
    .architecture = 90,
    .fallback = "mma_multistage",
};

/// A warpgroup's results, 64 columns of D, go through shared memory in `slices` at a time of `rows` rows. Where they do
/// not divide a tile's rows, the last slice begins within the one before, and both store the same.
template <class R, int warpgroups, int slices, int rows>
struct TurnedEpilogue {
  static constexpr bool finishes = false;
  using Slice = TurnedSlice<R, rows>;
  struct Storage {
    SharedArray<R, warpgroups * slices * Slice::size, 1024> staging;  // (warpgroups, slices, boxes, rows, span)
  };
  using Map = TensorMap;
  static std::string refusal(const Problem& problem) { return refusal_by_bulk_stores(problem, sizeof(R)); }
  /// Of boxes as `as` makes them of those of one D.
  template <class As>
  static Map map_of(const Problem& problem, const As& as) {
    return tensor_map(as(boxes_of_d<R>(problem, rows, Slice::span, Slice::layout)));
  }

  /// Stores those of a warpgroup, which begin at `origin`, each box by store(row, col, box), which one thread calls.
  /// Barriers 1 and up are used.
  template <class Tile, class Store>
  LAPIDARY_DEVICE static void stage(const RowCol<int>& origin, int thread, const typename Tile::Accumulators& rD,
                                    const Store& store, Storage& shared) {
    constexpr int down = ceil_div(Tile::BM, rows);
    static_assert(rows <= Tile::BM && slices <= down);
    const int warpgroup = warp_of_block() / 4;
    const auto barrier = 1 + static_cast<unsigned>(warpgroup);
    R* const staging = to_shared(&shared.staging[warpgroup * slices * Slice::size]);
    const bool issuer = thread % 128 < 32 && elect_sync();
#pragma unroll
    for (int s = 0; s < down; ++s) {
      const int begin = s < down - 1 ? s * rows : Tile::BM - rows;
      R* const to = staging + s % slices * Slice::size;
      // The slice's last store has read it: that of the tile before, or of `slices` slices ago.
      if (issuer && s == 0) wait_for_all_but<0>();
      if (issuer && s >= slices) wait_for_all_but<slices - 1>();
      if (s == 0 || s >= slices) barrier_sync(barrier, 128);
      Slice::write(to, thread, rD[0][0], begin);
      fence_proxy_async();
      barrier_sync(barrier, 128);
      if (!issuer) continue;
#pragma unroll
      for (int box = 0; box < Slice::boxes; ++box)
        store(origin.row + begin, origin.col + box * Slice::span, to + box * rows * Slice::span);
      cp_async_bulk_commit_group();
    }
  }
  /// Shared memory stays until the stores have read it.
  LAPIDARY_DEVICE static void finish() {
    if (warp_of_block() % 4 == 0 && elect_sync()) wait_for_all_but<0>();
  }

 private:
  /// Until no more than so many of a thread's stores, the last ones, have yet to read shared memory.
  template <int last>
  LAPIDARY_DEVICE static void wait_for_all_but() {
    cp_async_bulk_wait_group_read<last>();
  }
};

template <KernelTraits t, class Staged>
struct Epilogue : wgmma_batched::Epilogue<t, Staged> {
  using Map = typename wgmma_batched::Epilogue<t, Staged>::Map;

  template <class Tile, class T, class R>
  LAPIDARY_DEVICE static void store(const Gemm<T, R>& g, const RowCol<std::int64_t>& block, int thread,
                                    typename Tile::Accumulators& rD, const Map& map, typename Staged::Storage& shared) {
    const int product = static_cast<int>(block.row) / map.rows;
    const RowCol<int> origin = {static_cast<int>(block.row) - product * map.rows,
                                static_cast<int>(block.col) - product * map.cols + warp_of_block() / 4 * 64};
    Gemm<T, R> own = g;
    if (g.beta != 0) own.C += product * map.stride_c;
    scale_turned(own, origin, thread, rD[0][0]);
    const auto at = [&](int row, int col) { return Coordinates{col, row, product}; };
    Staged::template stage<Tile>(origin, thread, rD, BulkStore{map.d, at}, shared);
  }
};

template <KernelTraits t>
struct Config : wgmma_overlapped::Config<t> {
  using Parent = wgmma_overlapped::Config<t>;
  static constexpr int warpgroups = t.tile.n / 64, threads = wgmma_waves::Roles<warpgroups>::threads;
  using A = BatchTile<typename Parent::A, t.cluster.down>;
  using B = BatchTile<typename Parent::B, t.cluster.across>;
  using Tile = wgmma_skinny::TransposedTile<A, B, warpgroups>;
  using Roles = wgmma_waves::Roles<warpgroups>;
  using Epilogue = wgmma_turned::Epilogue<t, TurnedEpilogue<typename Parent::Result, warpgroups, t.slices, t.cols>>;
  using Cluster = std::conditional_t<t.cluster == ClusterShape{}, Alone, wgmma_cluster::ClusterGrid<t.cluster>>;
  using Walk = wgmma_shared::InClusters<wgmma_persistent::TileAfterTile<wgmma_batched::OnDiagonal<GroupedTiles<16>>>>;
};

template <class Config>
Prepared prepare(const Problem& problem, const Card& card) {
  return prepare_batch<Config>(info, wgmma_kernel<Config>, problem, card);
}

constexpr Order row = Order::row_major, column = Order::column_major;
/// Shared memory has as much as for the transposed tile: B's columns are in whole spans, and A is along K.
constexpr KernelTraits of(const GemmKind& kind, const MenuTile& tile) {
  KernelTraits t = wgmma_waves::of({kind.type, kind.result, row, column}, tile.BN, tile.BM, tile.slices, tile.cols);
  t.tile = {tile.BM, tile.BN, t.tile.k};
  t.kind = kind;
  t.cluster = {.down = tile.down, .across = tile.across};
  return t;
}
/// Few rows are in one row of tiles, of whose clusters all blocks have the same rows of A, or in two.
constexpr MenuTile column_major_b[] = {{96, 128, 2, 48, 1, 4},  {96, 64, 1, 96, 1, 4},  {72, 64, 1, 72},
                                       {144, 128, 2, 72, 2, 4}, {80, 128, 1, 80, 4, 2}, {160, 128, 2, 80, 4, 2},
                                       {200, 128, 2, 40, 1, 4}, {96, 128, 2, 48, 4, 1}};
/// Results of 32 bits, which are sums of parts of K most often.
constexpr MenuTile wide[] = {{72, 128, 1, 32}, {144, 128, 1, 32, 2, 4}, {88, 192, 1, 24, 2, 1}};
constexpr auto all_traits = joined(menu_of(of, kinds_of_16_bits(row, column), column_major_b),
                                   menu_of(of, kinds_with_f32(row, row), wide));
constexpr auto build = [](auto t) {
  using C = Config<t.value>;
  return built_batch<C>(prepare<C>);
};
template <class Unit>
constexpr auto built_kernels = built_wgmma_list<Unit, all_traits>(build);

}  // namespace lapidary::inline LAPIDARY_BUILD::wgmma_turned
