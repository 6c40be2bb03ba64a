#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/launch_shape.hpp"
#include "core/math.hpp"

namespace lapidary {

/// How many blocks share the sums along K of a tile of D, where a cluster computes one: a power of two up to 16,
/// decided before a launch by the tiles, K and the multiprocessors, so that all clusters run at a time.
struct KSplit {
  static constexpr int most = static_cast<int>(LaunchLimits::cluster);

  std::int64_t least_k = 256;  ///< of each block
  int fit = 1;                 ///< blocks that are to share a multiprocessor: no more than it has room for
  /// That a block has on their way at a time of a matrix that is read once; 0 where that does not matter. A
  /// multiprocessor gets what memory gives it with 80 KiB on their way.
  std::int64_t bytes_on_their_way = 0;

  /// So many clusters' blocks run at a time, one a multiprocessor. The multiprocessors of a cluster are neighbours, and
  /// what is left of a neighbourhood stays empty: on 132 multiprocessors, as many clusters of 1, 2, 4, 8 and 16 blocks
  /// as cudaOccupancyMaxActiveClusters allows have 132, 132, 120, 120 and 112 blocks together.
  static constexpr std::int64_t room_for_clusters(int blocks, int multiprocessors) {
    return blocks <= 2 ? multiprocessors : blocks <= 8 ? multiprocessors * 10 / 11 : multiprocessors * 28 / 33;
  }

  /// Blocks a tile: as many as there is room for and as have `least_k` of K each; of those that stream, until each
  /// multiprocessor has a block and enough on its way.
  constexpr int blocks(std::int64_t tiles, std::int64_t K, int multiprocessors) const {
    std::int64_t enough = std::numeric_limits<std::int64_t>::max() / 2;
    if (bytes_on_their_way > 0)
      enough = std::max<std::int64_t>(ceil_div<std::int64_t>(multiprocessors * 80 * 1024, bytes_on_their_way),
                                      multiprocessors);
    int found = 1;
    for (int more = 2; more <= most && more <= K / least_k; more *= 2) {
      if (tiles * more > std::min(fit * room_for_clusters(more, multiprocessors), 2 * enough - 1)) break;
      found = more;
    }
    return found;
  }

  /// Shared memory that each block asks for so that no more than `share` are on a multiprocessor.
  static constexpr unsigned shared_bytes(std::int64_t needed, std::int64_t share) {
    constexpr std::int64_t of_system = 1024, room = LaunchLimits::shared_bytes_opt_in + of_system, unit = 128;
    return static_cast<unsigned>(std::max(needed, round_up(room / (share + 1) - of_system + 1, unit)));
  }
  /// On a multiprocessor that has most of them, so many blocks at least, where all of them run at a time. Where more
  /// were let on one, blocks of clusters and blocks that stream took longer: those of one launch, and those of two
  /// launches that overlap (docs/tuning-log.md, "More blocks on a multiprocessor").
  static constexpr std::int64_t least_share(std::int64_t blocks, int cluster, int multiprocessors) {
    return ceil_div(blocks, room_for_clusters(cluster, multiprocessors));
  }
};

/// Of blocks that copy a tile of B, which is read once, by stages of (m + n) x k elements of `size` bytes, and have
/// shared memory for a tile's sums of m x n, at least for those of 16 warps, and 2 KiB for barriers and for the system.
constexpr KSplit split_of_streams(const TileShape& tile, int stages, int size) {
  const int sums = std::max(tile.n / 16 * tile.m / 8, KSplit::most) * 512;
  return {.fit = 228 * 1024 / (stages * (tile.m + tile.n) * tile.k * size + sums + 2048),
          .bytes_on_their_way = std::int64_t{stages} * tile.n * tile.k * size};
}

}  // namespace lapidary
