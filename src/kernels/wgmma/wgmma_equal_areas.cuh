#pragma once
#include "kernels/wgmma/wgmma_deferred.cuh"
#include "tile/equal_areas.hpp"

namespace lapidary::inline LAPIDARY_BUILD::wgmma_equal_areas {

constexpr RungInfo info = {
    .name = "wgmma_equal_areas",
    .parent = "wgmma_deferred",
    .idea = "D is cut so that every block has as much of it",
    .change =
        "Tiles are 256, 248 or 240 columns wide, and as many as multiprocessors compute in the rounds that the parent "
        "takes; every other group of strips is walked from the right",
    .why =
        "At 4096 x 4096, the 256 tiles of the parent's clusters are 3.9 rounds of 66, the last of which has places "
        "to spare; of 264 narrower ones it has none",
    .counter = "none; columns of the cluster that has most: 1,008 at 4096 x 4096 in place of 1,024",
    .cost =
        "A loop along K for each width, an order that depends on how many multiprocessors there are, some columns of D "
        "that are stored twice. On an H200 it brings nothing at 4096 x 4096, and at 8192 x 8192 0.3 to 0.6 % in bursts "
        "and 0.9 to 1.5 % sustained, where 256 x 200 of wgmma_energy brings more",
    .exercise = "`lapidary bench wgmma_deferred wgmma_equal_areas --size 3840 --size 4096`: which gains more, and why?",
    .architecture = 90,
    .fallback = "mma_multistage",
};

/// Two blocks, one below the other.
struct Pair : wgmma_cluster::ClusterGrid<ClusterShape{.down = 2, .across = 1}> {
  LAPIDARY_HD static constexpr WideTile tile(const WideTile& at, int rank) {
    return {at.row * down + rank, at.col, at.width};
  }
};

/// B in shared memory, as TmaTile has it of 256 columns: copied by a pair in two boxes of 128 or 120.
template <class T>
struct Columns : TmaTile<T, Major::k, 256, 64, 2> {
  using Wide = TmaTile<T, Major::k, 256, 64, 2>;
  using Narrow = TmaTile<T, Major::k, 240, 64, 2>;
  static_assert(Wide::box == 128 && Narrow::box == 120);
  struct Map {
    TensorMap wide, narrow;
  };
  static MatrixMap<Map> map(const Problem& problem, Matrix matrix) {
    return {{Wide::map(problem, matrix).map.of[0], Narrow::map(problem, matrix).map.of[0]}, matrix};
  }
  /// This block's box of columns `col` to `col + width - 1`, to both.
  LAPIDARY_DEVICE static void copy(T* to, const Map& map, int col, int width, int k, Mbarrier& full, int rank) {
    const bool wide = width == 256 || (width == 248 && rank == 0);
    const int begin = rank == 0 ? 0 : width - (wide ? Wide::box : Narrow::box);
    cp_async_bulk_tensor_multicast(to + begin * Wide::BK, wide ? map.wide : map.narrow, Coordinates{k, col + begin},
                                   full, Pair::below(rank));
  }
};

/// The loop of each width, chosen outside of it.
template <class A>
struct WideLoop : wgmma_deferred::DeferringLoop {
  template <int width>
  using TileOf = WgmmaTile<A, TmaTile<typename A::T, Major::k, width, 64>, 2>;

  template <class Call>
  LAPIDARY_DEVICE static void visit(const WideTile& at, Call&& call) {
    const RowCol<int> origin = {at.row * A::MN, at.col};
    if (at.width == 256)
      call(std::type_identity<TileOf<256>>(), origin);
    else if (at.width == 248)
      call(std::type_identity<TileOf<248>>(), origin);
    else
      call(std::type_identity<TileOf<240>>(), origin);
  }
  template <class Config, class Position>
  LAPIDARY_DEVICE static void load(const WgmmaBlock<Config>& block, Position& p, const WideTile& at, int round) {
    constexpr int column = 64 * sizeof(typename A::T);  // bytes of a stage
    for_each_stage(block, p, round, A::bytes + at.width * column, [&](int k, Mbarrier& full) {
      Pair::copy_a<A>(&block.shared.a[p.stage * A::size], block.mapA, at.row * A::MN, k, full, block.rank);
      Config::B::copy(&block.shared.b[p.stage * Config::B::size], block.mapB, at.col, at.width, k, full, block.rank);
    });
  }
};

/// Held as in the parent, in slices of 64 columns, but for the last one, which begins where 64 are left: it has some of
/// the columns of the one before once more.
template <class R, int slices, int cols>
struct WideEpilogue : wgmma_deferred::DeferredEpilogue<R, slices, cols> {
  using Deferred = wgmma_deferred::DeferredEpilogue<R, slices, cols>;
  template <class>
  struct Held {
    static constexpr int across = 256 / cols;
    RowCol<int> origin = {-1, 0};
    int last = 0;  // where the last slice begins
    std::uint32_t pairs[across][cols / 16][4];

    LAPIDARY_DEVICE int col(int s) const { return origin.col + (s < across - 1 ? s * cols : last); }
  };
  template <class Tile, class T, class Held>
  LAPIDARY_DEVICE static void hold(const Gemm<T, R>& g, const RowCol<int>& origin, typename Tile::Accumulators& rD,
                                   Held& held) {
    constexpr int last = Tile::BN - cols;
    scale_warpgroup(g, origin, rD);
#pragma unroll
    for (int s = 0; s < held.across; ++s)
      Deferred::round(&rD[0][0][(s < held.across - 1 ? s * cols : last) / 2], held.pairs[s]);
    held.origin = origin;
    held.last = last;
  }
};

template <KernelTraits t>
struct Config : wgmma_deferred::Config<t> {
  using B = Columns<ElementOf<t.kind.type>>;
  using Cluster = Pair;
  using Walk = wgmma_persistent::TileAfterTile<EqualAreas>;
  using Loop = WideLoop<typename wgmma_deferred::Config<t>::A>;
  using Widths = Loop;
  using Epilogue = WideEpilogue<ElementOf<t.kind.result>, t.slices, t.cols>;
};

template <class Config>
typename Config::Walk areas(std::int64_t M, std::int64_t N, int multiprocessors) {
  return Config::Walk::over(M, N, Config::traits.tile, multiprocessors / Pair::blocks);
}
/// TileOrder::tiles
template <class Config, class... Sizes>
std::int64_t tiles(Sizes... sizes) {
  return std::int64_t{areas<Config>(sizes...).tiles()} * Pair::blocks;
}
template <class Config>
Prepared prepare(const Problem& problem, const Card& card) {
  return prepare_deferred<info, Config>(problem, card, areas<Config>(problem.M, problem.N, card.multiprocessors));
}
/// Without an order that can be told of M and N alone.
constexpr auto build = [](auto t) {
  using C = Config<t.value>;
  return BuiltKernel{.traits = C::traits,
                     .refusal = refusal_of<C>,
                     .prepare = prepare<C>,
                     .order = {.there_and_back = C::Steps::there_and_back, .tiles = tiles<C>}};
};
constexpr std::array all_traits = {wgmma_deferred::of(Type::bf16, Order::column_major),
                                   wgmma_deferred::of(Type::f16, Order::column_major)};
template <class Unit>
constexpr auto built_kernels = built_wgmma_list<Unit, all_traits>(build);

}  // namespace lapidary::inline LAPIDARY_BUILD::wgmma_equal_areas
