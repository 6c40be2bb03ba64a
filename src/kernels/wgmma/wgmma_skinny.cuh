#pragma once
#include <algorithm>

#include "kernels/streamed.hpp"
#include "kernels/wgmma/wgmma_split_k.cuh"

namespace lapidary::inline LAPIDARY_BUILD::wgmma_skinny {

constexpr RungInfo info = {
    .name = "wgmma_skinny",
    .parent = "wgmma_split_k",
    .idea = "the long side of D along wgmma's rows, the short one across",
    .change =
        "The matrix along D's long side leaves L2 first, and most tiles have 64 lines of it, so that two or three blocks "
        "share a multiprocessor: rows of A where D has few columns; columns of B where it has few rows, of which the "
        "transpose is computed: wgmma takes 64 columns of B as its rows, and 8, 16, 32 or 64 rows of A as its columns",
    .why =
        "16 rows of A fill a quarter of wgmma's 64; columns it has as few as 8. A narrow tile leaves more of a stage to "
        "the matrix that streams, whose bytes are all that takes time; each is read once, and not kept for the other",
    .counter = "FLOP of tensor cores: of 16 rows or columns, not of 64; bytes from DRAM: of what streams, once",
    .cost =
        "Of a transpose lanes hold neighbours of a column of D, and trade them for neighbours of a row; for more rows or "
        "columns than a tile has the stream is read again, and more than 64 are not taken",
    .exercise =
        "`lapidary explain wgmma_skinny -m 64 -n 4096 -k 4096`: how often does B leave L2 for tiles of 16 rows, and how "
        "often DRAM?",
    .architecture = 90,
    .fallback = "mma_multistage",
};

/// Products of the transpose, as those of D are told: of A's rows and B's columns.
template <class A_, class B_, int warpgroups>
struct TransposedTile : WgmmaTile<B_, A_, warpgroups> {
  using Turned = WgmmaTile<B_, A_, warpgroups>;
  using A = A_;
  using B = B_;
  static constexpr int BM = A::MN, BN = B::MN;

  LAPIDARY_HD static constexpr RowCol<int> result(int thread, int i, int j, int index) {
    const RowCol<int> at = Turned::result(thread, i, j, index);
    return {at.col, at.row};
  }
  LAPIDARY_DEVICE static void multiply(typename Turned::Accumulators& rD, const typename A::T* sA,
                                       const typename A::T* sB, int warpgroup, bool accumulate) {
    Turned::multiply(rD, sB, sA, warpgroup, accumulate);
  }
};

/// To shared memory, of what is read once.
template <class Operand>
LAPIDARY_DEVICE void stream(typename Operand::T* to_, const typename Operand::Map& maps, int along_mn, int k,
                            Mbarrier& full, CallSite where) {
  Operand::for_each_box(to_, maps, along_mn, k, 0,
                        [&](typename Operand::T* to, const TensorMap& map, Coordinates<2> from) {
                          cp_async_bulk_tensor_load(to, map, from, full, CachePolicy::evict_first, where);
                        });
}
/// Blocks that work on one tile, of which B leaves L2 before A does.
struct StreamsB : OfOneTile {
  template <class B>
  LAPIDARY_DEVICE static void copy_b(typename B::T* to, const typename B::Map& maps, int col, int k, Mbarrier& full,
                                     int, CallSite where = std::source_location::current()) {
    stream<B>(to, maps, col, k, full, where);
  }
};
/// ... of which A leaves L2 before B does.
struct StreamsA : OfOneTile {
  template <class A>
  LAPIDARY_DEVICE static void copy_a(typename A::T* to, const typename A::Map& maps, int row, int k, Mbarrier& full,
                                     int, CallSite where = std::source_location::current()) {
    stream<A>(to, maps, row, k, full, where);
  }
};

/// A lane has two neighbours of a column of D and two 8 columns on. Four lanes that hold neighbouring columns trade, so
/// that each has four neighbours of a row.
struct TradedForRows {
  /// Which results of a thread's group these are: `index` is that of the first one before.
  template <class Tile>
  LAPIDARY_HD static constexpr RowCol<int> place(int thread, int index) {
    return Tile::result(thread & ~12, 0, 0, index + thread / 4 % 4);
  }

  template <class Tile, class T, class R, int count>
  LAPIDARY_DEVICE static void store(const Gemm<T, R>& g, const RowCol<std::int64_t>& block, int thread,
                                    const float (&sums)[1][1][count]) {
    const bool fours = g.N % 4 == 0 && in_fours(g.D, g.ldd) && (g.beta == 0 || in_fours(g.C, g.ldc));
#pragma unroll
    for (int index = 0; index < count; index += 4) {
      float row[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) row[i] = sums[0][0][index + i];
      transpose_across_quads(row, thread);
      const RowCol<int> at = place<Tile>(thread, index);
      if (fours)
        store_results<true, 4>(g, block.row + at.row, block.col + at.col, row);
      else
        store_results<false, 4>(g, block.row + at.row, block.col + at.col, row);
    }
  }
  template <class R>
  LAPIDARY_DEVICE static bool in_fours(const R* matrix, std::int64_t ld) {
    return reinterpret_cast<std::uintptr_t>(matrix) % (4 * sizeof(R)) == 0 && ld % 4 == 0;
  }
};

template <KernelTraits t, int warpgroups>
struct Config : wgmma_split_k::Config<t, warpgroups> {
  using Parent = wgmma_split_k::Config<t, warpgroups>;
  static constexpr bool turned = !streams_a(t.tile);
  using Tile = std::conditional_t<turned, TransposedTile<typename Parent::A, typename Parent::B, warpgroups>,
                                  typename Parent::Tile>;
  using Epilogue =
      wgmma_split_k::SummedEpilogue<typename Parent::Result, float, 4 * warpgroups, (turned ? t.tile.m : t.tile.n) / 8,
                                    std::conditional_t<turned, TradedForRows, wgmma_split_k::StoredInPairs>>;
  using Cluster = std::conditional_t<turned, StreamsB, StreamsA>;
  static_assert(!turned || sectors(warp_access<typename Parent::Result, 4>([](int lane) {
                             const RowCol<int> at = TradedForRows::place<Tile>(lane, 0);
                             return at.row * 256 + at.col;
                           })) == (sizeof(typename Parent::Result) == 2 ? 8 : 16),
                "whole ones: 16 columns of 8 rows");
  static constexpr int kept_rows = Parent::A::size / t.tile.k, kept_cols = Parent::B::size / t.tile.k;  // whole spans
  static constexpr KSplit split = split_of_streams(
      {turned ? kept_rows : kept_cols, turned ? kept_cols : kept_rows, t.tile.k}, t.stages, size_of(t.kind.type));
};

template <class Config>
std::string refusal_of_sizes(const Problem& problem) {
  const std::string of_stream = refusal_of_stream(Config::traits.tile, problem);
  return of_stream.empty() ? refusal_of<Config>(problem) : of_stream;
}
constexpr Order row = Order::row_major, column = Order::column_major;
constexpr auto rc = kinds_of_16_bits(row, column), rr = kinds_of_16_bits(row, row),
               cc = kinds_of_16_bits(column, column);
constexpr auto all_traits = joined(  // those in more stages come last: they have a multiprocessor to themselves
    of_kinds({16, 64, 64}, 6, rc, rr), of_kinds({8, 64, 64}, 7, rc), of_kinds({32, 64, 64}, 5, rc),
    of_kinds({64, 64, 64}, 6, rc, rr), of_kinds({16, 64, 128}, 5, rc), of_kinds({16, 128, 64}, 12, rc),
    of_kinds({64, 128, 64}, 8, rc), of_kinds({64, 16, 64}, 6, rc, cc), of_kinds({64, 32, 64}, 5, rc, cc, rr),
    of_kinds({16, 64, 64}, 12, rc, rr), of_kinds({16, 64, 64}, 20, rr), of_kinds({8, 64, 64}, 14, rc),
    of_kinds({32, 64, 64}, 17, rc));
constexpr auto build = [](auto t) {
  constexpr TileShape tile = t.value.tile;
  using Chosen = Config<t.value, std::max(tile.m, tile.n) / 64>;
  BuiltKernel kernel = built_split<info, Chosen>();
  kernel.refusal = refusal_of_sizes<Chosen>;
  return kernel;
};
template <class Unit>
constexpr auto built_kernels = built_wgmma_list<Unit, all_traits>(build);
}  // namespace lapidary::inline LAPIDARY_BUILD::wgmma_skinny
