#pragma once
#include "kernels/wgmma/wgmma_turned.cuh"

namespace lapidary::inline LAPIDARY_BUILD::wgmma_turned_pingpong {

constexpr RungInfo info = {
    .name = "wgmma_turned_pingpong",
    .parent = "wgmma_turned",
    .idea = "warpgroups take turned tiles in turns",
    .change =
        "Each of two warpgroups has whole tiles of its own, as in wgmma_pingpong: while one stores results the other one "
        "multiplies",
    .why =
        "Tensor cores wait until a tile's last results are in shared memory, also where a block has more tiles than one",
    .counter = "none: the same accesses in another order; of all cycles tensor cores work in more",
    .cost = "A warpgroup holds the sums of a whole tile, and a block that has a single tile has one warpgroup for it",
    .exercise =
        "`lapidary explain wgmma_turned_pingpong -m 1184 -n 1184 -k 1184 --gpu h200`: how many tiles has a block, and how "
        "many of its warpgroups have one?",
    .architecture = 90,
    .fallback = "mma_multistage",
};

template <KernelTraits t>
struct Config : wgmma_turned::Config<t> {
  using Parent = wgmma_turned::Config<t>;
  using Tile = wgmma_skinny::TransposedTile<typename Parent::A, typename Parent::B, 1>;
  using Roles = wgmma_pingpong::Roles;
  using Loop = wgmma_pingpong::Loop;
  using Epilogue = wgmma_turned::Epilogue<t, TurnedEpilogue<typename Parent::Result, 2, t.slices, t.cols>>;
  static constexpr int threads = Roles::threads;
};

template <class Config>
Prepared prepare(const Problem& problem, const Card& card) {
  return prepare_batch<Config>(info, wgmma_pingpong::pingpong_kernel<Config>, problem, card);
}

/// Two warpgroups stage results, whatever a tile's columns.
constexpr KernelTraits of(const GemmKind& kind, const MenuTile& tile) { return wgmma_turned::with_room(kind, tile, 2); }
constexpr Order row = Order::row_major, column = Order::column_major;
constexpr MenuTile row_major_b[] = {{104, 192, 1, 104, 2, 1}, {128, 128, 1, 128, 2, 1}};
constexpr MenuTile column_major_b[] = {{104, 128, 1, 104, 4, 1}, {88, 192, 1, 88, 2, 1},  {160, 128, 1, 80, 1, 2},
                                       {152, 128, 1, 152, 2, 1}, {176, 128, 1, 88, 1, 2}, {72, 128, 1, 72}};
constexpr auto all_traits = joined(menu_of(of, kinds_of_16_bits(row, row), row_major_b),
                                   menu_of(of, kinds_of_16_bits(row, column), column_major_b));
constexpr auto build = [](auto t) {
  using C = Config<t.value>;
  return built_batch<C>(prepare<C>);
};
template <class Unit>
constexpr auto built_kernels = built_wgmma_list<Unit, all_traits>(build);

}  // namespace lapidary::inline LAPIDARY_BUILD::wgmma_turned_pingpong
