#pragma once
#include <algorithm>
#include <array>

#include "kernels/wgmma/group_refusals.hpp"
#include "kernels/wgmma/wgmma_batched.cuh"
#include "tile/row_groups.hpp"

namespace lapidary::inline LAPIDARY_BUILD::wgmma_grouped {

constexpr RungInfo info = {
    .name = "wgmma_grouped",
    .parent = "wgmma_batched",
    .idea = "products whose M are in device memory, in one launch",
    .change =
        "Groups of rows of one A have a B each. Every block reads where they end, counts their tiles in shared memory "
        "and finds its own there; of a group's last tile threads store the rows that are the group's",
    .why =
        "Which rows go to which expert is known on the device alone, and with a launch for each the host waits for it. "
        "64 experts that share 4096 rows as they come are one launch, which a graph replays",
    .counter = "blocks: one a multiprocessor, whatever the groups are; global_store: of groups' last rows alone",
    .cost = "A group's last tile is computed whole; blocks begin with reading the ends",
    .exercise =
        "`lapidary run wgmma_grouped -m 512 -n 256 -k 128 --groups 9 --count`, then with 2: what becomes of global_store?",
    .architecture = 90,
    .fallback = "mma_multistage",
};

/// Tiles of B, of the B of each group.
template <class Tile>
struct OfGroup : BatchTile<Tile, 1> {
  static auto map(const Problem& problem, Matrix matrix) {
    return BatchTile<Tile, 1>::map(with_b_of_groups(problem), matrix);
  }
};

/// The walk along K of a tile that begins at any row of A.
struct Loop : wgmma_specialized::MainLoop {
  template <class Config, class Position>
  LAPIDARY_DEVICE static void load(const WgmmaBlock<Config>& block, Position& p, const GroupTile& at) {
    using A = typename Config::A;
    using B = typename Config::B;
    const typename B::Origin of_b = {.mn = at.col, .k = 0, .matrix = block.mapB.shared ? 0 : at.group};
    for_each_stage(block, p, 0, A::bytes + B::bytes, [&](int k, Mbarrier& full) {
      A::copy(&block.shared.a[p.stage * A::size], block.mapA, at.row, k, full);
      B::copy(&block.shared.b[p.stage * B::size], block.mapB, of_b, k, full);
    });
  }
};

/// A warpgroup's results are stored in bulk if all its rows are of one group, and otherwise as lanes hold them.
template <KernelTraits t, class R = ElementOf<t.kind.result>>
struct Epilogue : wgmma_staged::StagedEpilogue<R, t.tile.m / 64, t.slices, t.cols> {
  using Staged = wgmma_staged::StagedEpilogue<R, t.tile.m / 64, t.slices, t.cols>;
  struct Storage : Staged::Storage {
    RowGroups<room_for_groups(t), t.tile.m, t.tile.n, 16> groups;
  };

  template <class Tile, class T>
  LAPIDARY_DEVICE static void store(const Gemm<T, R>& g, const GroupTile& at, int thread,
                                    typename Tile::Accumulators& rD, const TensorMap& map, Storage& shared) {
    const RowCol<int> origin = Staged::template origin_of<Tile>({at.row, at.col});
    Gemm<T, R> own = g;
    own.M = at.end;
    // Either way by the same sums: a row's results do not depend on how many there are below it.
    scale_warpgroup(own, origin, rD);
    own.alpha = 1, own.beta = 0;
    if (at.end - origin.row >= Tile::WM)
      Staged::template stage<Tile>(origin, thread, rD, BulkStore{map}, shared, [](int, int) {});
    else
      store_products<Tile, true>(own, {at.row, at.col}, thread, rD);
  }
};

template <KernelTraits t>
struct Config : wgmma_waves::Config<t> {
  using Parent = wgmma_waves::Config<t>;
  using B = OfGroup<typename Parent::B>;
  using Tile = WgmmaTile<typename Parent::A, B, Parent::warpgroups>;
  using Loop = wgmma_grouped::Loop;
  using Epilogue = wgmma_grouped::Epilogue<t>;
  using Walk = TilesOfGroups;
};

template <class Config, class T = typename Config::Element, class R = typename Config::Result>
__global__ void __launch_bounds__(Config::threads, 1)
    grouped_kernel(const __grid_constant__ typename Config::A::Map mapA,
                   const __grid_constant__ typename Config::B::Map mapB, const __grid_constant__ TensorMap mapD,
                   const Gemm<T, R> g, const TilesOfGroups walk) {
  using Tile = typename Config::Tile;
  const auto block = begin_block<Config>(mapA, mapB, g);
  auto& groups = block.shared.groups;
  const int count = walk.groups > 0 ? walk.groups : 1, cols = walk.tiles.cols, blocks = static_cast<int>(gridDim.x);
  groups.count(walk.ends, count, static_cast<int>(g.M));
  RingPosition<Config::stages> p;
  const auto for_each_tile = [&](const auto& visit) {
    GroupTile at{};
    for (int i = static_cast<int>(blockIdx.x); i < groups.tiles[count - 1] * cols; i += blocks)
      visit(at = groups.tile(i, at.group, count, cols));
  };
  const auto produce = [&] { for_each_tile([&](const GroupTile& at) { Config::Loop::load(block, p, at); }); };
  const auto consume = [&](int warpgroup) {
    for_each_tile([&](const GroupTile& at) {
      typename Tile::Accumulators rD;  // (WM, BN)
      Config::Loop::multiply(block, p, rD, warpgroup);
      Config::Epilogue::template store<Tile>(g, at, static_cast<int>(threadIdx.x), rD, mapD, block.shared);
    });
    Config::Epilogue::finish();
  };
  Config::Roles::run(produce, consume);
}

template <class Config>
Prepared prepare(const Problem& problem, const Card& card) {
  auto walk = walk_of<Config>(problem.M, problem.N, Config::traits.tile);
  walk.groups = problem.groups;
  const std::int64_t tiles = most_rows_of_tiles(problem, Config::traits.tile.m) * walk.tiles.cols;
  const LaunchShape shape = shape_of<Config>(info, std::min<std::int64_t>(card.multiprocessors, tiles), Alone::blocks);
  return prepared_parts<Config>(shape, grouped_kernel<Config>, problem, walk);
}

/// Tiles for long groups, and for groups of few rows. As many stages as leave room for many groups, or else four.
constexpr KernelTraits of(Type type, Order b, int BM, int BN) {
  KernelTraits t = wgmma_waves::of({type, type, Order::row_major, b}, BM, BN, 2, 64);
  while (t.stages > 4 && room_for_groups(t) < 1024) --t.stages;
  return t;
}
template <class... Types>
constexpr auto traits(Types... types) {
  constexpr Order row = Order::row_major, column = Order::column_major;
  return std::array{of(types, column, 128, 128)..., of(types, row, 128, 128)...,   of(types, column, 128, 256)...,
                    of(types, row, 128, 256)...,    of(types, column, 64, 128)..., of(types, row, 64, 128)...};
}
constexpr auto all_traits = traits(Type::bf16, Type::f16);
constexpr auto build = [](auto t) {
  using C = Config<t.value>;
  BuiltKernel kernel = built_parts<C>(prepare<C>);
  kernel.refusal = [](const Problem& problem) {
    const std::string why = refusal_of<C>(problem);
    return why.empty() ? refusal_of_groups(problem, C::traits.tile, room_for_groups(C::traits)) : why;
  };
  kernel.groups = true;
  return kernel;
};
template <class Unit>
constexpr auto built_kernels = built_wgmma_list<Unit, all_traits>(build);

}  // namespace lapidary::inline LAPIDARY_BUILD::wgmma_grouped
