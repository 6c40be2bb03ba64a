#pragma once
#include <cstdint>

#include "core/build.hpp"
#include "core/math.hpp"
#include "ptx/cluster.hpp"
#include "tile/grid.hpp"
#include "tile/raster.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// The blocks of a cluster, whose tiles of D are `down` below each other and `across` beside each other. Those beside
/// each other share their rows of A, those below each other their columns of B.
template <int down_, int across_>
struct ClusterGrid {
  static constexpr int down = down_, across = across_, blocks = down * across;
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
  LAPIDARY_HD static constexpr TileElement tile(const TileElement& at, int rank) {
    return {at.row * down + row(rank), at.col * across + col(rank)};
  }

  /// All tiles of D in clusters, in groups of their rows.
  static TileRaster raster(std::int64_t M, std::int64_t N, const TileShape& tile, int group) {
    return tile_raster(M, N, {tile.m * down, tile.n * across, tile.k}, group);
  }
  /// The number of blocks that walk through them, of which there is room for `most`: no more than what is needed for as
  /// few rounds, for multiprocessors without a block leave their power to the others.
  static int grid(const TileRaster& raster, int most) {
    const int rounds = ceil_div(raster.tiles(), most / blocks);
    return ceil_div(raster.tiles(), rounds) * blocks;
  }

  LAPIDARY_DEVICE static int rank() { return static_cast<int>(cluster_ctarank()); }
  /// A barrier of all threads of the cluster.
  LAPIDARY_DEVICE static void sync() {
    barrier_cluster_arrive();
    barrier_cluster_wait();
  }
};

}  // namespace lapidary::inline LAPIDARY_BUILD
