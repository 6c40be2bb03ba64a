#pragma once
#include "kernels/wgmma/wgmma_persistent.cuh"
#include "layout/access.hpp"
#include "layout/fragment.hpp"
#include "ptx/barrier.hpp"
#include "ptx/cp_async_bulk.hpp"
#include "ptx/fence.hpp"
#include "ptx/warp.hpp"
#include "tile/bulk_store.hpp"
#include "tile/row_epilogue.hpp"
#include "tile/staged_slice.hpp"

namespace lapidary::inline LAPIDARY_BUILD::wgmma_staged {

constexpr RungInfo info = {
    .name = "wgmma_staged",
    .parent = "wgmma_persistent",
    .idea = "results leave through shared memory, in bulk",
    .change =
        "stmatrix writes a warpgroup's results to shared memory, in slices of 64 columns, and TMA stores these to D",
    .why =
        "A lane has two neighbours of a row, and a warp's store reaches 8 rows by 16 bytes each; bulk stores write whole "
        "lines, while the warpgroup goes on to its next tile",
    .counter = "global_store goes to zero: results leave by bulk copies; shared_store: by stmatrix, without conflicts",
    .cost = "32 KiB of shared memory for two slices of each warpgroup; rows of D in multiples of 16 bytes",
    .exercise =
        "`lapidary explain wgmma_staged`: how many sectors a request do stores to D take here, and in its parent?",
    .architecture = 90,
    .fallback = "mma_multistage",
};

/// A warpgroup's results go through shared memory, in `slices` at a time of 64 rows by `cols` columns, and at the end
/// of a tile's rows by `rest`.
template <class R, int warpgroups, int slices, int cols, int rest = 0>
struct StagedEpilogue {
  static constexpr bool finishes = false;
  using Slice = StagedSlice<R, cols>;
  static constexpr int rows = Slice::rows, slice = Slice::size;
  static_assert(rest < cols);
  struct Storage {
    SharedArray<R, warpgroups * slices * slice, 1024> staging;  // (warpgroups, slices, rows, cols)
  };
  using Map = std::conditional_t<rest == 0, TensorMap, MapsOfD>;
  static std::string refusal(const Problem& problem) { return refusal_by_bulk_stores(problem, sizeof(R)); }
  static MatrixMap<Map> map(const Problem& problem) {
    return {map_of(problem, [](const TensorBox& d) { return d; }), Matrix::D};
  }
  /// Of boxes as `as` makes them of those of one D.
  template <class As>
  static Map map_of(const Problem& problem, const As& as) {
    const TensorMap of_slices = tensor_map(as(boxes_of_d<R>(problem, rows, cols, Slice::layout)));
    if constexpr (rest == 0)
      return of_slices;
    else
      return {of_slices, tensor_map(as(boxes_of_d<R>(problem, rows, rest, StagedSlice<R, rest>::layout)))};
  }

  /// Scales and stores the results of a warpgroup, whose block's begin at `block` of D.
  template <class Tile, class T>
  LAPIDARY_DEVICE static void store(const Gemm<T, R>& g, const RowCol<std::int64_t>& block, int thread,
                                    typename Tile::Accumulators& rD, const Map& map, Storage& shared) {
    const RowCol<int> origin = origin_of<Tile>(block);
    scale_warpgroup(g, origin, rD);
    stage<Tile>(origin, thread, rD, BulkStore{map}, shared, [](int, int) {});
  }

  /// Where the results of a warpgroup begin: where the tile does, if it has all of them.
  template <class Tile>
  LAPIDARY_DEVICE static RowCol<int> origin_of(const RowCol<std::int64_t>& block) {
    RowCol<int> origin = {static_cast<int>(block.row), static_cast<int>(block.col)};
    if constexpr (Tile::WM < Tile::BM) origin.row += warp_of_block() / 4 * Tile::WM;
    return origin;
  }
  /// Stores them after what before(i, s) does to slice s of their row i, each slice by store(row, col, slice), which
  /// one thread calls, and the rest by store.rest. Barriers 1 and up are used.
  template <class Tile, class Store, class Before>
  LAPIDARY_DEVICE static void stage(const RowCol<int>& origin, int thread, typename Tile::Accumulators& rD,
                                    const Store& store, Storage& shared, Before&& before) {
    constexpr int across = Tile::BN / cols, all = across + (rest != 0);
    static_assert(Tile::BN % cols == rest);
    const int warpgroup = warp_of_block() / 4;
    const auto barrier = 1 + static_cast<unsigned>(warpgroup);
    R* const staging = &shared.staging[warpgroup * slices * slice];
    const bool issuer = thread % 128 < 32 && elect_sync();
#pragma unroll
    for (int i = 0; i < Tile::down; ++i)
#pragma unroll
      for (int s = 0; s < all; ++s) {
        const int number = i * all + s;
        R* const to = staging + number % slices * slice;
        before(i, s);
        // The slice's last store has read it: that of the tile before, or of `slices` slices ago.
        if (issuer && number == 0) cp_async_bulk_wait_group_read<0>();
        if (issuer && number >= slices) cp_async_bulk_wait_group_read<slices - 1>();
        barrier_sync(barrier, 128);
        if (rest == 0 || s < across)
          Slice::write(to, thread, rD[i], s * cols);
        else
          Rest::write(to, thread, rD[i], s * cols);
        fence_proxy_async();
        barrier_sync(barrier, 128);
        if (issuer) {
          const int row = origin.row + i * rows, col = origin.col + s * cols;
          if (s < across)
            store(row, col, to);
          else if constexpr (rest != 0)
            store.rest(row, col, to);
          cp_async_bulk_commit_group();
        }
      }
  }
  /// Shared memory stays until the stores have read it.
  LAPIDARY_DEVICE static void finish() {
    if (warp_of_block() % 4 == 0 && elect_sync()) cp_async_bulk_wait_group_read<0>();
  }

 private:
  using Rest = StagedSlice<R, rest == 0 ? cols : rest>;
};
template <int cols>
constexpr int stmatrix_wavefronts = wavefronts(warp_access<bf16, 8>([](int lane) {
  return StagedSlice<bf16, cols>::at(lane, 0);
}));
static_assert(stmatrix_wavefronts<64> == 4 && stmatrix_wavefronts<32> == 4 && stmatrix_wavefronts<16> == 4 &&
                  stmatrix_wavefronts<200> == 4,
              "the minimum");
template <KernelTraits t, class R = ElementOf<t.kind.result>>
using EpilogueOf = std::conditional_t<t.slices != 0, StagedEpilogue<R, 2, t.slices, t.cols>, RowEpilogue<R, 8>>;
template <KernelTraits t>
struct Config : wgmma_persistent::Config<t> {
  using Epilogue = EpilogueOf<t>;
};

constexpr KernelTraits traits(const GemmKind& kind) {
  KernelTraits t = wgmma_specialized::traits(kind);
  // Results of 32 bits go past it, unless rows are odd: as lanes hold them they are whole sectors already.
  if (size_of(kind.result) == 2) t.slices = 2, t.cols = 64;
  return t;
}
/// Of 16-bit results whose rows cannot be stored in bulk. Another tile, by which a rung's kernels are told apart.
constexpr KernelTraits by_rows(const GemmKind& kind) {
  return {.tile = {256, 128, 64}, .kind = kind, .stages = 4, .cols = 64};
}
constexpr auto build = [](auto t) { return built_wgmma<info, Config<t.value>>(); };
template <class Unit>
constexpr auto built_kernels =
    built_wgmma_kernels<Unit, traits, by_rows(wgmma_kinds[0]), by_rows(wgmma_kinds[1]), by_rows(wgmma_kinds[2]),
                        by_rows(wgmma_kinds[3]), by_rows(wgmma_kinds[4])>(build);

}  // namespace lapidary::inline LAPIDARY_BUILD::wgmma_staged
