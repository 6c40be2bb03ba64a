#pragma once
#include <type_traits>

#include "core/cluster_places.hpp"
#include "kernels/wgmma/wgmma_waves.cuh"

namespace lapidary::inline LAPIDARY_BUILD::wgmma_shared {

constexpr RungInfo info = {
    .name = "wgmma_shared",
    .parent = "wgmma_overlapped",
    .idea = "clusters of up to eight blocks share both operands",
    .change =
        "Clusters of any shape, and tiles of 64 to 256 rows: where two, four or eight blocks of a cluster have the same rows "
        "of A each copies its share of them, too, and receives the others",
    .why =
        "Of rows of 128 bytes that begin at multiples of 16 all blocks together never received more than 60 in a "
        "nanosecond, of those at multiples of 128 over 120 (docs/tried.md). Of a product of 1080 x 1080 x 1080 in 16 "
        "bits the 108 tiles of 128 x 96 wait for 224 rows a step each; in clusters of 2 x 4 they copy 80",
    .counter = "reads of L2: of A and of B a block's share alone",
    .cost =
        "Clusters hang over the edges of D as a whole, and blocks beyond them wait for the others; those of four or eight "
        "have room on 120 of 132 multiprocessors. "
        "Where lines begin at multiples of 128 bytes they gain more than 1 % for one cube in three of those that were timed",
    .exercise =
        "`lapidary gemm -m 1432 -n 1432 -k 1432 --type \"f16 RC\" --gpu h200`, then with 1408 three times: what is chosen "
        "where lines of A and B are whole?",
    .architecture = 90,
    .fallback = "mma_multistage",
};

/// No more clusters than run at the same time: one more would begin when all others end.
template <class Tiles>
struct InClusters : Tiles {
  template <class... Sizes>
  static InClusters over(const Sizes&... sizes) {
    return {Tiles::over(sizes...)};
  }
  template <class Cluster>
  int grid(int multiprocessors) const {
    return Tiles::template grid<Cluster>(multiprocessors_for({Cluster::down, Cluster::across}, multiprocessors));
  }
};

template <KernelTraits t>
struct Config : wgmma_waves::Config<t> {
  using Cluster = std::conditional_t<t.cluster == ClusterShape{}, Alone, wgmma_cluster::ClusterGrid<t.cluster>>;
  using Walk = InClusters<wgmma_persistent::TileByTile>;
};

constexpr KernelTraits of(const GemmKind& kind, const MenuTile& tile) {
  KernelTraits t = wgmma_waves::of(kind, tile.BM, tile.BN, tile.slices, tile.cols);
  t.cluster = {.down = tile.down, .across = tile.across};
  return t;
}
constexpr Order row = Order::row_major, column = Order::column_major;
/// Clusters of eight where lines begin anywhere, of which 15 have room; pairs where lines are whole, which all
/// multiprocessors take; clusters of 1 x 4 and 1 x 8 for few rows of A, which all blocks ask for, and of 4 x 1 for few
/// columns of B. Widths that leave few places empty in the last round, most of them multiples of 16, whose slices of 32
/// columns and of 16 are whole sectors.
constexpr MenuTile column_major_b[] = {
    {128, 128, 2, 64, 2, 2}, {128, 144, 2, 32, 4, 2}, {64, 80, 2, 32, 4, 2},   {128, 96, 3, 32, 2, 4},
    {128, 112, 2, 32, 2, 4}, {64, 64, 1, 64, 2, 2},   {64, 128, 2, 64, 2, 2},  {64, 112, 2, 32, 4, 1},
    {64, 144, 2, 32, 4, 1},  {192, 192, 2, 32, 2, 1}, {64, 96, 3, 32, 2, 4},   {192, 128, 2, 64, 1, 2},
    {192, 88, 1, 88, 1, 4},  {192, 160, 2, 32, 2, 4}, {192, 96, 3, 32, 1, 2},  {128, 144, 2, 32, 2, 1},
    {128, 144, 2, 32, 2, 4}, {128, 160, 2, 32, 4, 2}, {128, 160, 2, 32, 1, 2}, {128, 80, 2, 32, 2, 4},
    {64, 96, 3, 32, 4, 1},   {64, 128, 2, 64, 4, 1},  {64, 160, 2, 32, 2, 4},  {128, 208, 2, 32, 2, 4},
    {192, 176, 2, 32, 1, 2}, {256, 160, 1, 32, 1, 2}, {128, 64, 1, 64, 1, 4},  {64, 80, 2, 32, 1, 8},
    {64, 96, 3, 32, 1, 4},   {128, 80, 2, 32, 1, 2},  {128, 128, 2, 64, 1, 4}, {64, 32, 1, 32, 4, 1},
    {64, 64, 1, 64, 4, 1},   {128, 32, 1, 32, 4, 1},  {128, 64, 1, 64, 4, 1},  {192, 32, 1, 32, 4, 1}};
constexpr MenuTile row_major[] = {
    {128, 192, 2, 32, 2, 2}, {128, 96, 3, 32, 2, 4},  {128, 112, 2, 32, 2, 4}, {128, 128, 2, 64, 4, 2},
    {128, 144, 2, 32, 4, 2}, {128, 200, 2, 40, 4, 2}, {64, 64, 1, 64, 2, 2},   {128, 256, 2, 64, 2, 2},
    {64, 144, 2, 32, 4, 1},  {192, 192, 2, 32, 2, 1}, {64, 96, 3, 32, 2, 4},   {192, 160, 2, 32, 2, 4},
    {128, 128, 2, 64, 2, 2}, {64, 128, 2, 64, 2, 2},  {64, 128, 2, 64, 4, 1},  {128, 160, 2, 32, 4, 2},
    {128, 80, 2, 32, 4, 2},  {128, 64, 1, 64, 1, 4},  {64, 32, 1, 32, 4, 1},   {64, 64, 1, 64, 4, 1}};
constexpr MenuTile column_major_a[] = {{64, 64, 1, 64, 2, 2},   {64, 128, 2, 64, 2, 2},  {128, 96, 3, 32, 2, 4},
                                       {128, 144, 2, 32, 4, 2}, {128, 168, 2, 56, 4, 2}, {128, 256, 2, 64, 2, 2},
                                       {64, 96, 3, 32, 2, 4},   {128, 128, 2, 64, 2, 2}, {192, 160, 2, 32, 2, 4},
                                       {64, 128, 2, 64, 4, 1},  {128, 112, 2, 32, 2, 4}, {64, 144, 2, 32, 4, 1},
                                       {192, 192, 2, 32, 2, 1}, {64, 80, 2, 32, 4, 2},   {192, 96, 3, 32, 1, 2},
                                       {64, 32, 1, 32, 4, 1},   {64, 64, 1, 64, 4, 1},   {128, 64, 1, 64, 4, 1}};
/// Results of 32 bits, of which those of all orders come first.
constexpr MenuTile wide[] = {{128, 192, 1, 72, 2, 2},
                             {64, 64, 1, 40, 2, 2},
                             {128, 128, 1, 72, 2, 2},
                             {64, 96, 1, 56, 2, 4},
                             {128, 96, 1, 56, 2, 4}};
constexpr MenuTile wide_in_pairs[] = {{128, 128, 2, 24, 2, 1}, {192, 96, 2, 24, 1, 2}};
constexpr MenuTile wide_in_eights[] = {{128, 112, 1, 56, 2, 4}, {128, 160, 1, 40, 2, 4}};
/// Of gradients of weights, column-major A by row-major B, there are many results and few products.
constexpr MenuTile wide_gradients[] = {{128, 160, 1, 40, 2, 1}};
constexpr auto all_traits = joined(
    menu_of(of, kinds_of_16_bits(row, column), column_major_b), menu_of(of, kinds_of_16_bits(row, row), row_major),
    menu_of(of, joined(kinds_of_16_bits(column, row), kinds_of_16_bits(column, column)), column_major_a),
    menu_of(of,
            joined(kinds_with_f32(row, column), kinds_with_f32(row, row), kinds_with_f32(column, row),
                   kinds_with_f32(column, column)),
            wide),
    menu_of(of, joined(kinds_with_f32(row, column), kinds_with_f32(column, row)), wide_in_pairs),
    menu_of(of, joined(kinds_with_f32(row, row), kinds_with_f32(column, column), kinds_with_f32(column, row)),
            wide_in_eights),
    menu_of(of, kinds_with_f32(column, row), wide_gradients));
constexpr auto build = [](auto t) { return built_wgmma<info, Config<t.value>>(); };
template <class Unit>
constexpr auto built_kernels = built_wgmma_list<Unit, all_traits>(build);

}  // namespace lapidary::inline LAPIDARY_BUILD::wgmma_shared
