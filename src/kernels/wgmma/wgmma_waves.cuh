#pragma once
#include <algorithm>
#include <type_traits>

#include "kernels/wgmma/wgmma_overlapped.cuh"
#include "kernels/wgmma/wgmma_promoted.cuh"
#include "kernels/wgmma/wgmma_staged_f32.cuh"

namespace lapidary::inline LAPIDARY_BUILD::wgmma_waves {

constexpr RungInfo info = {
    .name = "wgmma_waves",
    .parent = "wgmma_overlapped",
    .idea = "a menu of tiles, for rounds that come out full",
    .change =
        "Tiles of 64, 128 and 192 rows, for which one, two and three warpgroups multiply, and of widths that are no "
        "powers of two; blocks are alone, not in clusters",
    .why =
        "One tile more than there are multiprocessors costs a whole round: 1664 x 1664 is 169 tiles of 128 x 128, two "
        "rounds that are 64 % full, or 130 of 128 x 168, a single one that is 98 % full; of sizes from 1152 on, in steps "
        "of 64, some tile of the menu for bf16 and f16 with a column-major B fills 86 % at least",
    .counter = "blocks that have a tile in the last round: most of 132, for most sizes",
    .cost =
        "A kernel for each tile, of which somebody must choose; a small one has more bytes for each product, and nobody "
        "shares them with a neighbour; three warpgroups leave each other 160 registers, for at most 100 results",
    .exercise =
        "`lapidary raster --kernel wgmma_waves --tile 128x168x64 -m 1664 -n 1664 -k 1664`, then `--tile 128x128x64`: how "
        "many waves, and how many blocks at a time?",
    .architecture = 90,
    .fallback = "mma_multistage",
};

/// For tiles of so many rows: one for each 64, and of 256 two, as four would begin with 96 registers a thread.
constexpr int warpgroups_of(int rows) { return rows == 256 ? 2 : rows / 64; }
/// One needs no registers of the producer's; three have 128 a thread when they start, and 160 then.
template <int warpgroups>
struct Roles : wgmma_specialized::Specialized<warpgroups> {
  static constexpr unsigned consumer = warpgroups == 3 ? 160 : 240, producer = warpgroups == 3 ? 32 : 24;

  template <class Produce, class Consume>
  LAPIDARY_DEVICE static void run(const Produce& produce, const Consume& consume) {
    const int warp = warp_of_block();
    if (warp < 4 * warpgroups) {
      if constexpr (warpgroups > 1) setmaxnreg_inc<consumer>();
      consume(warp / 4);
    } else {
      if constexpr (warpgroups > 1) setmaxnreg_dec<producer>();
      if (warp == 4 * warpgroups && elect_sync()) produce();
    }
  }
};

/// Results of 32 bits are staged in pairs, and sums of FP8 promoted.
template <KernelTraits t>
struct Config : wgmma_overlapped::Config<t> {
  using Parent = wgmma_overlapped::Config<t>;
  using Result = typename Parent::Result;
  static constexpr int warpgroups = warpgroups_of(t.tile.m);
  static_assert(warpgroups <= 3);
  static constexpr bool promotes = t.kind.type == Type::e4m3, pairs = sizeof(Result) == 4;
  using Tile = WgmmaTile<typename Parent::A, typename Parent::B, warpgroups, promotes ? 2 : 1>;
  using Roles = wgmma_waves::Roles<warpgroups>;
  using Loop = std::conditional_t<promotes, wgmma_promoted::PromotingLoop, typename Parent::Loop>;
  using Epilogue =
      std::conditional_t<pairs, wgmma_staged_f32::PairedEpilogue<Result, warpgroups, t.slices, t.cols>,
                         wgmma_staged::StagedEpilogue<Result, warpgroups, t.slices, t.cols, t.tile.n % t.cols>>;
  using Cluster = Alone;
  static constexpr int threads = Roles::threads;
  static_assert(!pairs || wgmma_staged_f32::pair_wavefronts<(pairs ? t.cols : 56)> == 2, "the minimum");
  static_assert(pairs || wgmma_staged::stmatrix_wavefronts<(pairs ? 64 : t.cols)> == 4, "the minimum");
};

/// A tile of BM x BN, whose results are staged in `slices` at a time of `cols` columns, with all the stages that there
/// is room for. Columns that are neighbours, where B is row-major, take the room of the next multiple of 64.
constexpr KernelTraits of(const GemmKind& kind, int BM, int BN, int slices, int cols) {
  constexpr int line = 128, barriers = 1024;  // as far as the next array's alignment
  KernelTraits t = {.tile = {BM, BN, line / size_of(kind.type)}, .kind = kind, .slices = slices, .cols = cols};
  const int stage = (BM + (kind.b == Order::row_major ? round_up(BN, 64) : BN)) * line;
  const int staged = round_up(BM * slices * cols * size_of(kind.result), 1024);
  t.stages = (static_cast<int>(LaunchLimits::shared_bytes_opt_in) - staged - barriers) / stage;
  return t;
}
/// Widths for every size, below, what they fill; tiles of 64 rows for small ones, and for up to 64 rows and weights of
/// which each multiprocessor then reads about as much.
constexpr auto column_major(Type type) {
  const auto tile = [=](int BM, int BN, int slices, int cols) {
    return of({type, type, Order::row_major, Order::column_major}, BM, BN, slices, cols);
  };
  return std::array{tile(128, 176, 2, 32), tile(128, 88, 1, 88),  tile(128, 112, 2, 32),  tile(128, 128, 2, 64),
                    tile(128, 168, 2, 56), tile(128, 192, 2, 32), tile(128, 200, 1, 200), tile(128, 224, 2, 32),
                    tile(192, 96, 3, 32),  tile(64, 64, 1, 64),   tile(64, 128, 2, 64),   tile(64, 48, 3, 16),
                    tile(64, 80, 2, 32),   tile(64, 112, 2, 32)};
}
constexpr auto in_orders(Type type, Order a, Order b) {
  const auto tile = [=](int BM, int BN, int slices, int cols) { return of({type, type, a, b}, BM, BN, slices, cols); };
  return std::array{tile(128, 128, 2, 64), tile(128, 192, 2, 32), tile(64, 64, 1, 64), tile(64, 128, 2, 64)};
}
/// Results of 32 bits, between wgmma_split_k's tiles and wgmma_staged_f32's.
template <class... Types>
constexpr auto wide_results(Order a, Order b, int BM, int BN, int cols, Types... types) {
  return std::array{of({types, types == Type::s8 ? Type::s32 : Type::f32, a, b}, BM, BN, 1, cols)...};
}
constexpr Order row = Order::row_major, column = Order::column_major;
constexpr auto wide = joined(
    wide_results(row, column, 128, 112, 56, Type::bf16, Type::f16, Type::tf32, Type::s8, Type::e4m3),
    wide_results(row, column, 128, 168, 56, Type::bf16, Type::f16, Type::tf32),
    wide_results(row, column, 128, 160, 40, Type::s8, Type::e4m3),  // s8 has columns in sixteens
    wide_results(row, column, 128, 224, 56, Type::bf16, Type::f16, Type::tf32, Type::s8));
constexpr auto wide_of(Order a, Order b) { return wide_results(a, b, 64, 128, 72, Type::bf16, Type::f16); }
/// The share of all rounds of 132 multiprocessors that size x size results take, by the tile of which that is the most.
constexpr double best_share(int size) {
  double best = 0;
  for (const KernelTraits& t : column_major(Type::bf16)) {
    const int rounds = ceil_div(ceil_div(size, t.tile.m) * ceil_div(size, t.tile.n), 132);
    best = std::max(best, 1.0 * size * size / (132.0 * rounds * t.tile.m * t.tile.n));
  }
  return best;
}
constexpr double least_share = [] {
  double least = 1;
  for (int size = 1152; size <= 4096; size += 64) least = std::min(least, best_share(size));
  return least;
}();
static_assert(least_share > 0.86);

constexpr auto all_traits = joined(column_major(Type::bf16), wide, column_major(Type::f16),
                                   in_orders(Type::bf16, row, row), in_orders(Type::f16, row, row),
                                   in_orders(Type::bf16, column, row), in_orders(Type::f16, column, row),
                                   in_orders(Type::bf16, column, column), in_orders(Type::f16, column, column),
                                   wide_of(row, row), wide_of(column, row), wide_of(column, column));
constexpr auto build = [](auto t) {
  using C = Config<t.value>;
  constexpr auto stage = (C::A::size + C::B::size) * sizeof(typename C::Element);
  static_assert(sizeof(WgmmaStorage<C>) + stage > LaunchLimits::shared_bytes_opt_in, "no room for one more");
  return built_wgmma<info, C>();
};
template <class Unit>
constexpr auto built_kernels = built_wgmma_list<Unit, all_traits>(build);

}  // namespace lapidary::inline LAPIDARY_BUILD::wgmma_waves
