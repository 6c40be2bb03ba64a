#pragma once
#include "kernels/wgmma/built_split.hpp"
#include "kernels/wgmma/wgmma_overlapped.cuh"
#include "layout/access.hpp"
#include "tile/vector.hpp"
#include "tile/wgmma_parts.hpp"

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
    .counter = "blocks: as many as multiprocessors have room for, not one a tile; steps a block: a part",
    .cost =
        "Sums of a split tile are written to shared memory and read there, and its blocks wait for the last one of them; "
        "where there are tiles enough nothing is split, and tiles so small read more bytes a product",
    .exercise = "`lapidary explain wgmma_split_k -m 64 -n 64 -k 16384`: how many blocks share K? And with `-n 2048`?",
    .architecture = 90,
    .fallback = "mma_multistage",
};

/// One tile of D a cluster, row by row.
struct TileOfCluster : wgmma_specialized::OneTile {
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
struct PartLoop : wgmma_specialized::MainLoop {
  LAPIDARY_HD static constexpr int first(int steps, int rank, int ranks) { return steps * rank / ranks; }
  template <class Block>
  LAPIDARY_DEVICE static Block part_of(Block block) {
    const int ranks = OfOneTile::ranks(), begin = first(block.steps, block.rank, ranks);
    block.steps = first(block.steps, block.rank + 1, ranks) - begin;
    return block;
  }
  template <class Block, class Position>
  LAPIDARY_DEVICE static void load(const Block& block, Position& p, const RowCol<int>& at, int) {
    MainLoop::load(part_of(block), p, at, first(block.steps, block.rank, OfOneTile::ranks()));
  }
  template <class Block, class Position, class Sums>
  LAPIDARY_DEVICE static void multiply(const Block& block, Position& p, Sums& rD, int warpgroup) {
    MainLoop::multiply(part_of(block), p, rD, warpgroup);
  }
};

/// Results as lanes hold them.
struct StoredInPairs {
  template <class Tile, class T, class R, int count>
  LAPIDARY_DEVICE static void store(const Gemm<T, R>& g, const RowCol<std::int64_t>& block, int thread,
                                    const float (&sums)[1][1][count]) {
    store_products<Tile>(g, block, thread, sums);
  }
};

/// Sums of all blocks of a cluster are added up before they are stored. A unit is what a warp has of 8 columns, 16
/// bytes a lane. Unit u belongs to the block of rank u mod ranks, a power of two, into whose shared memory the others
/// push what they have of it: next to each other, by rank.
template <class R, int warps, int groups, class Stored>
struct SummedEpilogue : DirectEpilogue<R> {
  static constexpr int units = warps * groups, places = units < OfOneTile::most ? OfOneTile::most : units;
  static_assert(is_power_of_two(units), "each block has as many, or one or none");
  struct Storage {
    SharedArray<float, places * 128> parts;  // (units of this block, ranks, lanes, 4)
  };
  LAPIDARY_HD static constexpr int at(int place, int lane) { return (place * 32 + lane) * 4; }
  static_assert(wavefronts(warp_access<float, 4>([](int lane) { return at(0, lane); }), true) == 4, "the minimum");

  template <class Tile, class T>
  LAPIDARY_DEVICE static void store(const Gemm<T, R>& g, const RowCol<std::int64_t>& block, int thread,
                                    typename Tile::Accumulators& rD, const typename DirectEpilogue<R>::Map&,
                                    Storage& shared) {
    const int ranks = OfOneTile::ranks(), rank = OfOneTile::rank(), lane = thread % 32, warp = thread / 32;
    if (ranks == 1) return Stored::template store<Tile>(g, block, thread, rD);
#pragma unroll
    for (int group = 0; group < groups; ++group) {
      const int unit = group * warps + warp, owner = unit & (ranks - 1);
      store_vector<4>(*mapa(&shared.parts[at(unit - owner + rank, lane)], static_cast<unsigned>(owner)),
                      &rD[0][0][4 * group]);
    }
    // Those who copy have exited or will: the barrier is one of those who multiply.
    OfOneTile::sync();
    for (int unit = warp * ranks + rank; unit < units; unit += warps * ranks) {
      float sums[1][1][4] = {};
#pragma unroll 4
      for (int other = 0; other < ranks; ++other) {
        const auto part = load_vector<4>(shared.parts[at(unit - rank + other, lane)]);
#pragma unroll
        for (int i = 0; i < 4; ++i) sums[0][0][i] += part.element[i];
      }
      const RowCol<int> from = Tile::result(0, 0, 0, unit / warps * 4);
      Stored::template store<Tile>(g, {block.row + from.row, block.col + from.col}, unit % warps * 32 + lane, sums);
    }
  }
};

template <KernelTraits t, int warpgroups>
struct Config : WgmmaConfig<t, warpgroups> {
  using Roles = OneWarpCopies<warpgroups>;
  using Loop = PartLoop;
  using Walk = TileOfCluster;
  using Epilogue = SummedEpilogue<ElementOf<t.kind.result>, 4 * warpgroups, t.tile.n / 8, StoredInPairs>;
  using Cluster = OfOneTile;
  using Steps = FromFirst;
  using Start = wgmma_overlapped::Overlapped;
  static constexpr int threads = Roles::threads;
  static constexpr KSplit split = split_of_sums();
};

constexpr KernelTraits of(TileShape tile, int stages, Type type, Type result, Order b = Order::column_major) {
  return {.tile = tile, .kind = {type, result, Order::row_major, b}, .stages = stages};
}
constexpr std::array all_traits = {
    of({64, 64, 128}, 6, Type::bf16, Type::bf16),
    of({64, 32, 128}, 9, Type::bf16, Type::bf16),
    of({64, 16, 128}, 10, Type::bf16, Type::bf16),
    of({128, 64, 64}, 8, Type::bf16, Type::bf16),
    of({128, 128, 64}, 5, Type::bf16, Type::bf16),
    of({64, 64, 128}, 6, Type::bf16, Type::f32),
    of({64, 64, 128}, 6, Type::f16, Type::f16),
    of({64, 32, 128}, 9, Type::f16, Type::f16),
    of({64, 16, 128}, 10, Type::f16, Type::f16),
    of({128, 64, 64}, 8, Type::f16, Type::f16),
    of({64, 64, 128}, 6, Type::f16, Type::f32),
    of({64, 64, 128}, 6, Type::bf16, Type::bf16, Order::row_major),
    of({64, 64, 128}, 6, Type::f16, Type::f16, Order::row_major),
    of({128, 128, 64}, 5, Type::bf16, Type::bf16, Order::row_major),
};
constexpr auto build = [](auto t) { return built_split<info, Config<t.value, t.value.tile.m / 64>>(); };
template <class Unit>
constexpr auto built_kernels = built_wgmma_list<Unit, all_traits>(build);

}  // namespace lapidary::inline LAPIDARY_BUILD::wgmma_split_k
