#pragma once
#include "core/math.hpp"
#include "layout/access.hpp"
#include "tile/vector.hpp"
#include "tile/wgmma_parts.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// Of the steps along K of a tile that so many blocks share, the first one of the block of a rank.
template <class Steps>
LAPIDARY_HD constexpr Steps part_begin(Steps steps, int rank, int ranks) {
  return steps * rank / ranks;
}

/// What blocks of a cluster have of the sums of one tile is added up, from the block of rank 0 to the last one, so that
/// results repeat bit by bit. A unit is four sums of each lane of a warp, of which each warp has so many `groups`. Unit
/// u belongs to the block of rank u mod ranks, a power of two, into whose shared memory all push what they have of it:
/// next to each other, by rank.
template <class Sum, int warps, int groups>
struct ClusterSums {
  static constexpr int units = warps * groups, places = units < OfOneTile::most ? OfOneTile::most : units;
  static_assert(is_power_of_two(units), "each block has as many, or one or none");
  struct Storage {
    SharedArray<Sum, places * 128> parts;  // (units of this block, ranks, lanes, 4)
  };
  LAPIDARY_HD static constexpr int at(int place, int lane) { return (place * 32 + lane) * 4; }
  static_assert(wavefronts(warp_access<Sum, 4>([](int lane) { return at(0, lane); }), true) == 4, "the minimum");

  /// By all threads of the cluster that have sums, once all its blocks have begun, or a store may come before there is
  /// a block that it goes to; once a launch, as nothing keeps a store of a second time from parts that are still read.
  /// @param sums_of  of a group, the four sums of this thread
  /// @param use  called with the group, the thread that had the sums, and the four of all blocks
  template <class SumsOf, class Use>
  LAPIDARY_DEVICE static void add_up(Storage& shared, int thread, SumsOf&& sums_of, Use&& use) {
    const int ranks = OfOneTile::ranks(), rank = OfOneTile::rank(), lane = thread % 32, warp = thread / 32;
#pragma unroll
    for (int group = 0; group < groups; ++group) {
      const int unit = group * warps + warp, owner = unit & (ranks - 1);
      store_vector<4>(*mapa(&shared.parts[at(unit - owner + rank, lane)], static_cast<unsigned>(owner)),
                      sums_of(group));
    }
    // Threads without sums have exited or will: the barrier is one of those who have some.
    OfOneTile::hand_over();
    for (int unit = warp * ranks + rank; unit < units; unit += warps * ranks) {
      Sum sums[4] = {};
#pragma unroll 4
      for (int other = 0; other < ranks; ++other) {
        const auto part = load_vector<4>(shared.parts[at(unit - rank + other, lane)]);
#pragma unroll
        for (int i = 0; i < 4; ++i) sums[i] += part.element[i];
      }
      use(unit / warps, unit % warps * 32 + lane, sums);
    }
  }
};

}  // namespace lapidary::inline LAPIDARY_BUILD
