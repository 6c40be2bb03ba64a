#pragma once
#include "kernels/wgmma/turned_epilogue.hpp"
#include "kernels/wgmma/wgmma_batched.cuh"
#include "kernels/wgmma/wgmma_skinny.cuh"

namespace lapidary::inline LAPIDARY_BUILD::wgmma_turned {

constexpr RungInfo info = {
    .name = "wgmma_turned",
    .parent = "wgmma_batched",
    .idea = "wgmma's 64 rows lie along D's columns",
    .change =
        "The transposed product: columns of B are the rows of what wgmma multiplies, so that a tile has 64 to 256 columns "
        "in steps of 64, and any multiple of 8 rows up to 256, of 16 above; results are turned back on their way to "
        "shared memory, those of 16 bits by stmatrix",
    .why =
        "A tile of 64 rows has them whether D does or not: of three tiles of 128 for 288 rows a quarter hangs over, is "
        "multiplied and, with other columns of B, asked for; three of 96 have none that does",
    .counter = "wgmma instructions, and reads of L2: less by what hung over D",
    .cost =
        "A lane has neighbours of a column of D: C is read, and results of 32 bits go to shared memory, one by one; columns "
        "are as coarse as rows were",
    .exercise =
        "`lapidary raster --kernel wgmma_turned -m 288 -n 5112 -k 10960`, then `--kernel wgmma_waves --tile 128x128x64`: how "
        "much of what is computed lies in D?",
    .architecture = 90,
    .fallback = "mma_multistage",
};

template <KernelTraits t, class Staged>
struct Epilogue : wgmma_batched::Epilogue<t, Staged> {
  using Map = typename wgmma_batched::Epilogue<t, Staged>::Map;
  using Place = typename wgmma_batched::Epilogue<t, Staged>::Place;

  template <class Tile, class T, class R>
  LAPIDARY_DEVICE static void store(const Gemm<T, R>& g, const Place& place, int thread,
                                    typename Tile::Accumulators& rD, const Map& map, typename Staged::Storage& shared) {
    // A warpgroup has so many of the tile's columns, or all of them.
    constexpr int apart = Tile::Turned::WM % Tile::BN;
    const int first = warp_of_block() / 4 * apart;
    const RowCol<int> origin = {static_cast<int>(place.row), static_cast<int>(place.col) + first};
    Gemm<T, R> own = g;
    if (g.beta != 0) own.C += place.product * map.stride_c;
#pragma unroll
    for (int i = 0; i < Tile::Turned::down; ++i)
#pragma unroll
      for (int j = 0; j < Tile::Turned::across; ++j)
        scale_turned(own, {origin.row + j * Tile::Turned::Form::N, origin.col + i * 64}, thread, rD[i][j]);
    const auto at = [&](int row, int col) { return Coordinates{col, row, place.product}; };
    Staged::template stage<Tile>(origin, thread, rD, BulkStore{map.d, at}, shared);
  }
};

template <KernelTraits t>
struct Config : wgmma_overlapped::Config<t> {
  using Parent = wgmma_overlapped::Config<t>;
  static constexpr int warpgroups = wgmma_waves::warpgroups_of(t.tile.n),
                       threads = wgmma_waves::Roles<warpgroups>::threads;
  static_assert(warpgroups <= 3 && t.tile.m % (t.tile.m > 256 ? 16 : 8) == 0);
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
/// With all the stages that there is room for: B's columns are in whole spans, and A is along K.
constexpr KernelTraits with_room(const GemmKind& kind, const MenuTile& tile, int warpgroups) {
  constexpr int line = 128, barriers = 1024;  // as far as the next array's alignment
  const int slice = tile.cols * 64 * size_of(kind.result);
  const int staged = warpgroups * tile.slices * slice;
  const int room = static_cast<int>(LaunchLimits::shared_bytes_opt_in) - staged - barriers;
  return {.tile = {tile.BM, tile.BN, line / size_of(kind.type)},
          .kind = kind,
          .stages = room / ((tile.BM + tile.BN) * line),
          .cluster = {.down = tile.down, .across = tile.across},
          .slices = tile.slices,
          .cols = tile.cols};
}
constexpr KernelTraits of(const GemmKind& kind, const MenuTile& tile) {
  return with_room(kind, tile, wgmma_waves::warpgroups_of(tile.BN));
}
/// Few rows are in one row of tiles, of whose clusters all blocks have the same rows of A, or in two.
constexpr MenuTile column_major_b[] = {{96, 128, 2, 48, 1, 4},  {96, 64, 1, 96, 1, 4},    {72, 64, 1, 72},
                                       {80, 128, 1, 80, 4, 2},  {160, 128, 2, 80, 4, 2},  {144, 128, 2, 72, 2, 4},
                                       {200, 128, 2, 40, 1, 4}, {96, 128, 2, 48, 4, 1},   {144, 192, 1, 72, 2, 1},
                                       {272, 128, 2, 48, 1, 2}, {104, 128, 1, 104, 4, 1}, {96, 64, 1, 96, 2, 4},
                                       {72, 192, 1, 72, 2, 1}};
/// Results of 32 bits, which are sums of parts of K most often.
constexpr MenuTile wide[] = {{72, 128, 1, 32}, {144, 128, 1, 32, 2, 4}, {88, 192, 1, 24, 2, 1}};
/// Of a row-major B columns come in spans of 64 anyway.
constexpr MenuTile row_major_b[] = {{160, 256, 2, 16, 2, 1}, {120, 256, 2, 40, 2, 1}, {208, 128, 2, 16, 4, 2},
                                    {272, 128, 2, 48, 1, 2}, {176, 192, 1, 88, 2, 1}, {88, 192, 1, 88, 4, 1},
                                    {88, 128, 1, 88, 4, 1},  {96, 128, 2, 48, 2, 1},  {200, 128, 2, 40, 1, 2}};
constexpr auto all_traits = joined(menu_of(of, kinds_of_16_bits(row, column), column_major_b),
                                   menu_of(of, kinds_of_16_bits(row, row), row_major_b),
                                   menu_of(of, kinds_with_f32(row, row), wide));
constexpr auto build = [](auto t) {
  using C = Config<t.value>;
  return built_batch<C>(prepare<C>);
};
template <class Unit>
constexpr auto built_kernels = built_wgmma_list<Unit, all_traits>(build);

}  // namespace lapidary::inline LAPIDARY_BUILD::wgmma_turned
