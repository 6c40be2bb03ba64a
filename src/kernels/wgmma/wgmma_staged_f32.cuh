#pragma once
#include <type_traits>

#include "kernels/wgmma/wgmma_energy.cuh"
#include "ptx/shared_pointer.hpp"

namespace lapidary::inline LAPIDARY_BUILD::wgmma_staged_f32 {

constexpr RungInfo info = {
    .name = "wgmma_staged_f32",
    .parent = "wgmma_energy",
    .idea = "results of 32 bits leave in bulk, too",
    .change =
        "Each lane stores pairs of neighbours to shared memory, in slices whose rows are an odd number of 8 columns, and "
        "TMA stores these to D; tiles are of 256 x 200 here, too",
    .why =
        "Stored from registers, 32-bit results of a tile keep its tensor cores waiting for twice the bytes, and the "
        "addresses leave no registers for 256 x 200; what stores a slice in bulk is one thread with one address",
    .counter = "global_store goes to zero: results leave by bulk copies; shared_store: in pairs, without conflicts",
    .cost = "Rows of D in multiples of 16 bytes; of 256 columns, which no odd number of 8 divides, 24 are stored twice",
    .exercise =
        "`lapidary explain wgmma_staged_f32`: how many wavefronts does a store to shared memory take, and how many would "
        "it with slices of 64 columns?",
    .architecture = 90,
    .fallback = "mma_multistage",
};

/// A warpgroup's results of 32 bits go through shared memory, in `slices` at a time of 64 rows by `cols` columns. Where
/// they do not divide a tile's columns, the last slice begins within the one before, and both store the same.
template <class R, int warpgroups, int slices, int cols>
struct PairedEpilogue {
  static constexpr bool finishes = false;
  using Slice = PairedSlice<R, cols>;
  static constexpr int rows = Slice::rows, slice = Slice::size;
  struct Storage {
    SharedArray<R, warpgroups * slices * slice, 128> staging;  // (warpgroups, slices, rows, cols)
  };
  using Map = TensorMap;

  static std::string refusal(const Problem& problem) { return refusal_by_bulk_stores(problem, sizeof(R)); }
  static MatrixMap<Map> map(const Problem& problem) {
    return {map_of(problem, [](const TensorBox& d) { return d; }), Matrix::D};
  }
  /// Of boxes as `as` makes them of those of one D: of f32, whatever the 32 bits are, as stores copy them.
  template <class As>
  static Map map_of(const Problem& problem, const As& as) {
    return tensor_map(as(boxes_of_d<float>(problem, rows, cols, Slice::layout)));
  }

  /// Scales and stores the results of a warpgroup, whose block's begin at `block` of D.
  template <class Tile, class T>
  LAPIDARY_DEVICE static void store(const Gemm<T, R>& g, const RowCol<std::int64_t>& block, int thread,
                                    typename Tile::Accumulators& rD, const Map& map, Storage& shared) {
    const RowCol<int> origin = origin_of<Tile>(block);
    if constexpr (std::is_same_v<R, float>) scale_warpgroup(g, origin, rD);
    stage<Tile>(origin, thread, rD, BulkStore{map}, shared, [](int, int) {});
  }
  template <class Tile>
  LAPIDARY_DEVICE static RowCol<int> origin_of(const RowCol<std::int64_t>& block) {
    return AsHalves::template origin_of<Tile>(block);
  }
  /// Stores them after what before(i, s) does to slice s of their row i, each slice by store(row, col, slice), which
  /// one thread calls. Barriers 1 and up are used.
  template <class Tile, class Store, class Before>
  LAPIDARY_DEVICE static void stage(const RowCol<int>& origin, int thread, typename Tile::Accumulators& rD,
                                    const Store& store, Storage& shared, Before&& before) {
    constexpr int width = Tile::BN, across = ceil_div(width, cols);
    static_assert(std::is_same_v<typename Tile::Sum, R>);
    const int warpgroup = warp_of_block() / 4;
    const auto barrier = 1 + static_cast<unsigned>(warpgroup);
    R* const staging = to_shared(&shared.staging[warpgroup * slices * slice]);
    const bool issuer = thread % 128 < 32 && elect_sync();
#pragma unroll
    for (int i = 0; i < Tile::down; ++i)
#pragma unroll
      for (int s = 0; s < across; ++s) {
        const int number = i * across + s, begin = s < across - 1 ? s * cols : width - cols;
        R* const to = staging + number % slices * slice;
        before(i, s);
        // The slice's last store has read it: that of the tile before, or of `slices` slices ago.
        if (issuer && number == 0) cp_async_bulk_wait_group_read<0>();
        if (issuer && number >= slices) cp_async_bulk_wait_group_read<slices - 1>();
        if (number == 0 || number >= slices) barrier_sync(barrier, 128);
        Slice::write(to, thread, rD[i], begin);
        fence_proxy_async();
        barrier_sync(barrier, 128);
        if (issuer) {
          store(origin.row + i * rows, origin.col + begin, to);
          cp_async_bulk_commit_group();
        }
      }
  }
  /// Shared memory stays until the stores have read it.
  LAPIDARY_DEVICE static void finish() { AsHalves::finish(); }

 private:
  using AsHalves = wgmma_staged::StagedEpilogue<bf16, warpgroups, 1, 64>;
};
template <int cols>
constexpr int pair_wavefronts = wavefronts(warp_access<float, 2>([](int lane) {
  return PairedSlice<float, cols>::at(lane, 0, 0);
}));

template <KernelTraits t>
struct Config : wgmma_energy::Config<t> {
  using Epilogue = PairedEpilogue<typename wgmma_energy::Config<t>::Result, 2, t.slices, t.cols>;
  static_assert(pair_wavefronts<t.cols> == 2, "the minimum");
};

/// Rows of a stage have 128 bytes, whatever the type.
constexpr KernelTraits of(Type type, Order a, Order b, int BM, int BN, int stages, int slices, int cols) {
  const Type result = type == Type::s8 ? Type::s32 : Type::f32;
  return {.tile = {BM, BN, 128 / size_of(type)},
          .kind = {type, result, a, b},
          .stages = stages,
          .cluster = {2, 1},
          .slices = slices,
          .cols = cols};
}
constexpr Order row = Order::row_major, column = Order::column_major;
constexpr KernelTraits narrow(Type type, Order a = row, Order b = column) { return of(type, a, b, 128, 256, 4, 1, 56); }
constexpr KernelTraits wide(Type type) { return of(type, row, column, 256, 200, 3, 2, 40); }
constexpr std::array all_traits = {
    wide(Type::bf16),
    narrow(Type::bf16),
    wide(Type::f16),
    narrow(Type::f16),
    narrow(Type::bf16, row, row),
    narrow(Type::bf16, column, row),
    narrow(Type::bf16, column, column),
    narrow(Type::f16, row, row),
    narrow(Type::f16, column, row),
    narrow(Type::f16, column, column),
    wide(Type::e4m3),
    narrow(Type::e4m3),
    wide(Type::tf32),
    narrow(Type::tf32),
    of(Type::s8, row, column, 256, 192, 3, 2, 40),
    narrow(Type::s8),
#if LAPIDARY_ALL_KERNELS
    // 200 columns that are neighbours take the room of 256, and leave that of one slice.
    of(Type::bf16, row, row, 256, 200, 3, 1, 40),
    of(Type::f16, row, row, 256, 200, 3, 1, 40),
#endif
};
constexpr auto build = [](auto t) { return built_wgmma<info, Config<t.value>>(); };
template <class Unit>
constexpr auto built_kernels = built_wgmma_list<Unit, all_traits>(build);

}  // namespace lapidary::inline LAPIDARY_BUILD::wgmma_staged_f32
