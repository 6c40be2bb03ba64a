#pragma once
#include <type_traits>

#include "kernels/wgmma/built_split.hpp"
#include "kernels/wgmma/wgmma_overlapped.cuh"
#include "kernels/wgmma/wgmma_promoted.cuh"
#include "tile/cluster_sums.hpp"

namespace lapidary::inline LAPIDARY_BUILD::wgmma_split_k {

constexpr RungInfo info = {
    .name = "wgmma_split_k",
    .parent = "wgmma_overlapped",
    .idea = "a cluster computes one tile, each block a part of K",
    .change =
        "Up to 16 blocks, a cluster, have a part of K of the same tile each; they write their sums into each other's "
        "shared memory, and each adds up and stores its share of the results",
    .why =
        "Of a D of few tiles few multiprocessors walk all of K, and the others have nothing to do; sums that pass "
        "through shared memory need no workspace, and added up in order of rank they repeat bit by bit",
    .counter = "blocks: one a multiprocessor where K is long, not one a tile; steps a block: a part",
    .cost =
        "Sums of a split tile are written to shared memory and read there, and its blocks wait for the last one of them; "
        "where there are tiles enough nothing is split, and tiles so small read more bytes a product",
    .exercise = "`lapidary explain wgmma_split_k -m 64 -n 64 -k 16384`: how many blocks share K? And with `-n 2048`?",
    .architecture = 90,
    .fallback = "mma_multistage",
};

/// One tile of D a cluster, row by row.
struct TileOfCluster : OneTile {
  static TileOfCluster over(std::int64_t M, std::int64_t N, const TileShape& tile, const ClusterShape& cluster) {
    return {OneTile::over(M, N, tile, cluster)};
  }
  LAPIDARY_DEVICE RowCol<int> tile(int number) const { return OneTile::tile(number / OfOneTile::ranks()); }
};

/// A tile's steps from a block's first one on.
struct FromFirst : Forwards {
  LAPIDARY_HD static constexpr int at(int step, int, int first) { return first + step; }
};

/// The walk along a block's part of K. Each has a step at least: what prepares the launch sees to that.
template <class Whole>
struct PartOf : Whole {
  template <class Block>
  LAPIDARY_DEVICE static Block part_of(Block block) {
    const int ranks = OfOneTile::ranks(), begin = part_begin(block.steps, block.rank, ranks);
    block.steps = part_begin(block.steps, block.rank + 1, ranks) - begin;
    return block;
  }
  template <class Block, class Position>
  LAPIDARY_DEVICE static void load(const Block& block, Position& p, const RowCol<int>& at, int) {
    Whole::load(part_of(block), p, at, part_begin(block.steps, block.rank, OfOneTile::ranks()));
  }
  template <class Block, class Position, class Sums>
  LAPIDARY_DEVICE static void multiply(const Block& block, Position& p, Sums& rD, int warpgroup) {
    Whole::multiply(part_of(block), p, rD, warpgroup);
  }
};

/// Results as lanes hold them.
struct StoredInPairs {
  template <class Tile, class T, class R, class Sum, int down, int across, int count>
  LAPIDARY_DEVICE static void store(const Gemm<T, R>& g, const RowCol<std::int64_t>& block, int thread,
                                    const Sum (&sums)[down][across][count]) {
    store_products<Tile>(g, block, thread, sums);
  }
};

/// Sums of all blocks of a cluster are added up before they are stored, what a warp has of 8 columns at a time.
template <class R, class Sum, int warps, int groups, class Stored>
struct SummedEpilogue : DirectEpilogue<R> {
  using Sums = ClusterSums<Sum, warps, groups>;
  using Storage = typename Sums::Storage;

  template <class Tile, class T, int across, int count>
  LAPIDARY_DEVICE static void store(const Gemm<T, R>& g, const RowCol<std::int64_t>& block, int thread,
                                    Sum (&rD)[1][across][count], const typename DirectEpilogue<R>::Map&,
                                    Storage& shared) {
    static_assert(across * count == groups * 4);
    if (OfOneTile::ranks() == 1) return Stored::template store<Tile>(g, block, thread, rD);
    Sums::add_up(
        shared, thread, [&](int group) { return &rD[0][group * 4 / count][group * 4 % count]; },
        [&](int group, int of, const Sum* four) {
          const RowCol<int> from = Tile::result(0, 0, group * 4 / count, group * 4 % count);
          const Sum sums[1][1][4] = {{{four[0], four[1], four[2], four[3]}}};
          Stored::template store<Tile>(g, {block.row + from.row, block.col + from.col}, of, sums);
        });
  }
};

template <KernelTraits t, int warpgroups>
struct Config : WgmmaConfig<t, warpgroups> {
  static constexpr bool promotes = t.kind.type == Type::e4m3;
  using Parent = WgmmaConfig<t, warpgroups>;
  using Tile = WgmmaTile<typename Parent::A, typename Parent::B, warpgroups, promotes ? 2 : 1>;
  using Roles = OneWarpCopies<warpgroups>;
  using Loop = PartOf<std::conditional_t<promotes, wgmma_promoted::PromotingLoop, wgmma_specialized::MainLoop>>;
  using Walk = TileOfCluster;
  using Epilogue = SummedEpilogue<ElementOf<t.kind.result>, SumOf<ElementOf<t.kind.type>>, 4 * warpgroups, t.tile.n / 8,
                                  StoredInPairs>;
  using Cluster = OfOneTile;
  using Steps = FromFirst;
  using Start = wgmma_overlapped::Overlapped;
  static constexpr int threads = Roles::threads;
  static constexpr KSplit split = {};
};

constexpr Order row = Order::row_major, column = Order::column_major;
constexpr auto only(Type type, Type result, Order b = column) { return std::array{GemmKind(type, result, row, b)}; }
constexpr auto s8 = only(Type::s8, Type::s32), s8_f32 = only(Type::s8, Type::f32);
constexpr auto tf32 = only(Type::tf32, Type::f32), e4m3 = only(Type::e4m3, Type::f32);
constexpr auto all_traits = joined(
    of_kinds({64, 64, 128}, 6, kinds_of_16_bits(row, column), kinds_of_16_bits(row, row),
             kinds_of_16_bits(column, column), kinds_with_f32(row, column), kinds_with_f32(row, row),
             kinds_with_f32(column, row), kinds_with_f32(column, column)),
    of_kinds({64, 32, 128}, 9, kinds_of_16_bits(row, column), kinds_of_16_bits(column, column)),
    of_kinds({64, 16, 128}, 10, kinds_of_16_bits(row, column), kinds_of_16_bits(column, column)),
    of_kinds({64, 16, 64}, 12, kinds_of_16_bits(column, row)),
    of_kinds({64, 32, 64}, 12, kinds_of_16_bits(column, row)),
    of_kinds({128, 64, 64}, 8, kinds_of_16_bits(row, column), kinds_with_f32(row, column)),
    of_kinds({128, 128, 64}, 5, only(Type::bf16, Type::bf16), only(Type::bf16, Type::bf16, row),
             kinds_with_f32(row, column), kinds_with_f32(column, row), kinds_with_f32(column, column)),
    of_kinds({64, 64, 64}, 6, tf32), of_kinds({128, 64, 32}, 8, tf32), of_kinds({128, 128, 32}, 5, tf32),
    of_kinds({64, 64, 256}, 6, s8, s8_f32), of_kinds({64, 64, 128}, 12, e4m3),
    of_kinds({128, 64, 128}, 8, s8, s8_f32, e4m3), of_kinds({128, 128, 128}, 5, s8, s8_f32, e4m3));
constexpr auto build = [](auto t) { return built_split<info, Config<t.value, t.value.tile.m / 64>>(); };
template <class Unit>
constexpr auto built_kernels = built_wgmma_list<Unit, all_traits>(build);

}  // namespace lapidary::inline LAPIDARY_BUILD::wgmma_split_k
