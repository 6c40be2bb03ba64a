#pragma once
#include <cstddef>
#include <cstdint>

#include "core/math.hpp"
#include "device/launch.hpp"
#include "device/shared.hpp"
#include "tile/raster.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// Of lane l what `combine` makes of the values of all lanes before it, of which none is less than 0; 0 of the first.
/// All lanes of the warp call it together.
template <class Combine>
LAPIDARY_DEVICE int of_lanes_before(int value, Combine&& combine) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const int before = __shfl_up_sync(0xffffffffu, value, static_cast<unsigned>(distance));
    if (lane >= distance) value = combine(before, value);
  }
  const int before = __shfl_up_sync(0xffffffffu, value, 1u);
  return lane == 0 ? 0 : before;
}

/// A tile of D of one of several groups of rows.
struct GroupTile {
  int row, col;  ///< of D, where it begins
  int group;
  int end;  ///< the row behind the last one of the group
};

/// What a kernel is given of groups of rows of D, and the tiles of D if it is one: Config::Walk (kernels/built.hpp).
struct TilesOfGroups {
  static constexpr bool row_by_row = false;
  const std::int64_t* ends;
  int groups;  ///< 0: one, that has all rows
  GroupedTiles<16> tiles;

  template <class... Sizes>
  static TilesOfGroups over(const Sizes&... sizes) {
    return {nullptr, 0, GroupedTiles<16>::over(sizes...)};
  }
  LAPIDARY_HD constexpr RowCol<int> tile(int number) const { return tiles.tile(number); }
  friend void add_slots(Prepared& prepared, const TilesOfGroups& walk, std::size_t offset) {
    if (walk.groups > 0) add_slot(prepared, ArgumentSlot::Kind::group_ends, {}, offset + offsetof(TilesOfGroups, ends));
  }
};

/// Groups of rows of a matrix, one below the other, in a block's shared memory. The tiles of each begin at its first
/// row; they are numbered group after group, within a group `rows_of_tiles` rows of them at a time.
template <int most_, int BM, int BN, int rows_of_tiles>
struct RowGroups {
  static constexpr int most = most_;
  SharedArray<int, most> ends;   // the row behind the last one
  SharedArray<int, most> tiles;  // rows of tiles of a group and of all before it

  /// Counts the tiles of so many groups, a group or more, of which `from` says where each one ends in a matrix of M
  /// rows; null: of one that has all. By all threads of the block; barriers are within.
  LAPIDARY_DEVICE void count(const std::int64_t* from, int groups, int M) {
    const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
    for (int i = thread; i < groups; i += threads) {
      const std::int64_t end = from ? from[i] : M;
      ends[i] = end < 0 ? 0 : end > M ? M : static_cast<int>(end);
    }
    __syncthreads();
    if (thread < 32) {
      // Neighbours of a lane's own: odd numbers of them, so that lanes have banks of their own.
      const int each = ceil_div(groups, 32) | 1;
      const int first = thread * each, last = first + each < groups ? first + each : groups;
      int farthest = 0;
      for (int i = first; i < last; ++i) farthest = ends[i] > farthest ? ends[i] : farthest;
      int begin = of_lanes_before(farthest, [](int a, int b) { return a > b ? a : b; });
      int sum = 0;
      for (int i = first; i < last; ++i) {
        const int end = ends[i] > begin ? ends[i] : begin;
        sum += ceil_div(end - begin, BM);
        ends[i] = begin = end;
        tiles[i] = sum;
      }
      const int before = of_lanes_before(sum, [](int a, int b) { return a + b; });
      for (int i = first; i < last; ++i) tiles[i] += before;
    }
    __syncthreads();
  }

  /// Tile number `number` of `cols` a row. @param group  of a tile before it, or the first one
  LAPIDARY_DEVICE GroupTile tile(int number, int group, int groups, int cols) {
    const int row_of_tiles = number / cols;
    // The first group that has as many rows of tiles, with those before it, and one more: of long ones often the same.
    int last = tiles[group] > row_of_tiles ? group : groups - 1;
    while (group < last) {
      const int middle = (group + last) / 2;
      if (tiles[middle] > row_of_tiles)
        last = middle;
      else
        group = middle + 1;
    }
    const int tiles_before = group > 0 ? tiles[group - 1] : 0, begin = group > 0 ? ends[group - 1] : 0;
    const RowCol<int> at = grouped_tile(static_cast<unsigned>(number - tiles_before * cols),
                                        static_cast<unsigned>(tiles[group] - tiles_before), static_cast<unsigned>(cols),
                                        rows_of_tiles);
    return {begin + at.row * BM, at.col * BN, group, ends[group]};
  }
};

}  // namespace lapidary::inline LAPIDARY_BUILD
