#pragma once
#include "kernels/wgmma/wgmma_staged.cuh"
#include "ptx/cluster.hpp"

namespace lapidary::inline LAPIDARY_BUILD::wgmma_cluster {

constexpr RungInfo info = {
    .name = "wgmma_cluster",
    .parent = "wgmma_staged",
    .idea = "blocks of a cluster share what they load",
    .change =
        "Two blocks, one below the other, each load half of the tile of B that both need, and the copy engine gives it "
        "to both",
    .why = "B is read of L2 once for both blocks: two thirds of all bytes",
    .counter = "bytes read of L2: 2/3",
    .cost =
        "A stage is free when the consumers of both blocks have released it: the slower block holds up the other; and "
        "no block may exit before its peers have arrived at its barriers. On an H200 it brings nothing: in bf16 it is "
        "0.6 to 3.2 % behind its parent, which bytes from L2 do not hold up",
    .exercise = "`lapidary explain wgmma_cluster`: which bytes does multicast save, and which does it not?",
    .architecture = 90,
    .fallback = "mma_multistage",
};

/// The blocks of a cluster, whose tiles of D are `down` below each other and `across` beside each other. Those beside
/// each other share their rows of A, those below each other their columns of B.
template <ClusterShape shape>
struct ClusterGrid {
  static constexpr int down = shape.down, across = shape.across, blocks = down * across;
  /// How many blocks a block's copies reach if it shares both, itself included; as many reach it.
  static constexpr int reached = down + across - 1;

  LAPIDARY_HD static constexpr int row(int rank) { return rank % down; }
  LAPIDARY_HD static constexpr int col(int rank) { return rank / down; }
  LAPIDARY_HD static constexpr bool reaches(int rank, int other) {
    return row(rank) == row(other) || col(rank) == col(other);
  }
  /// As bits, the blocks of the same row and of the same column.
  LAPIDARY_HD static constexpr std::uint16_t beside(int rank) {
    unsigned bits = 0;
    for (int i = 0; i < across; ++i) bits |= 1u << (row(rank) + i * down);
    return static_cast<std::uint16_t>(bits);
  }
  LAPIDARY_HD static constexpr std::uint16_t below(int rank) {
    return static_cast<std::uint16_t>(((1u << down) - 1) << (col(rank) * down));
  }
  /// The tile of a block whose cluster is at `at` when clusters are counted.
  LAPIDARY_HD static constexpr RowCol<int> tile(const RowCol<int>& at, int rank) {
    return {at.row * down + row(rank), at.col * across + col(rank)};
  }

  LAPIDARY_DEVICE static int rank() { return static_cast<int>(cluster_ctarank()); }
  /// A barrier of all threads of the cluster, behind which their blocks have begun, and their mbarriers too.
  LAPIDARY_DEVICE static void sync() {
    barrier_cluster_arrive_relaxed();
    barrier_cluster_wait();
  }

  /// Copies this block's share of a tile to all that need it. In each of them its bytes are taken off those that `full`
  /// waits for.
  template <class A, class Origin>
  LAPIDARY_DEVICE static void copy_a(typename A::T* to, const typename A::Map& map, const Origin& at, int k,
                                     Mbarrier& full, int rank, CallSite where = std::source_location::current()) {
    multicast<A>(to, map, at, k, full, col(rank), beside(rank), where);
  }
  template <class B, class Origin>
  LAPIDARY_DEVICE static void copy_b(typename B::T* to, const typename B::Map& map, const Origin& at, int k,
                                     Mbarrier& full, int rank, CallSite where = std::source_location::current()) {
    multicast<B>(to, map, at, k, full, row(rank), below(rank), where);
  }
  /// In place of a copy that no block of the same row, or column, needs, as D has nothing of their tiles: a block goes
  /// on when all of them would have copied. Who did not wait for them would release a stage to them once more before
  /// others have released it once.
  LAPIDARY_DEVICE static void skip_a(Mbarrier& full, int rank, CallSite where = std::source_location::current()) {
    for (int i = 0; i < across; ++i)
      if (i != col(rank)) mbarrier_complete_tx(full, static_cast<unsigned>(row(rank) + i * down), 1, where);
  }
  LAPIDARY_DEVICE static void skip_b(Mbarrier& full, int rank, CallSite where = std::source_location::current()) {
    for (int i = 0; i < down; ++i)
      if (i != row(rank)) mbarrier_complete_tx(full, static_cast<unsigned>(i + col(rank) * down), 1, where);
  }
  template <class Operand, class Origin>
  LAPIDARY_DEVICE static void multicast(typename Operand::T* tile, const typename Operand::Map& maps, const Origin& at,
                                        int k, Mbarrier& full, int share, std::uint16_t mask, CallSite where) {
    Operand::for_each_box(
        tile, maps, at, k, share, [&](typename Operand::T* to, const TensorMap& map, const auto& from) {
          if constexpr (Operand::sharers == 1)
            cp_async_bulk_tensor_load(to, map, from, full, CachePolicy::evict_normal, where);
          else
            cp_async_bulk_tensor_multicast(to, map, from, full, mask, CachePolicy::evict_normal, where);
        });
  }

  /// By all lanes of a warp, which has read the stage: each releases it to one of the blocks whose copies come here.
  template <class Pipeline>
  LAPIDARY_DEVICE static void release(const Pipeline& pipeline, const typename Pipeline::Position& p, int rank,
                                      CallSite where = std::source_location::current()) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if (lane < blocks && reaches(lane, rank)) pipeline.release(p, static_cast<unsigned>(lane), where);
  }
  /// Peers still arrive at this block's barriers.
  template <class Pipeline>
  LAPIDARY_DEVICE static void drain(const Pipeline& pipeline, const typename Pipeline::Position& p) {
    pipeline.drain(p);
  }
};

template <KernelTraits t>
struct Config : wgmma_staged::Config<t> {
  using Cluster = ClusterGrid<t.cluster>;
};

constexpr KernelTraits traits(const GemmKind& kind) {
  KernelTraits t = wgmma_staged::traits(kind);
  t.cluster = {.down = 2, .across = 1};
  return t;
}
constexpr auto build = [](auto t) { return built_wgmma<info, Config<t.value>>(); };
template <class Unit>
constexpr auto built_kernels = built_wgmma_kernels<Unit, traits>(build);

}  // namespace lapidary::inline LAPIDARY_BUILD::wgmma_cluster
