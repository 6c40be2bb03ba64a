#include "layout/access.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <random>
#include <set>
#include <string>

#include "core/types.hpp"
#include "layout/layout.hpp"

namespace lapidary {
namespace {

// ---- The rules as sets of bytes, words and banks, without regard to speed.

int reference_sectors(const WarpAccess& access) {
  std::set<std::uint64_t> touched;
  for (int lane = 0; lane < 32; ++lane) {
    if (!(access.active >> lane & 1)) continue;
    for (int byte = 0; byte < access.bytes; ++byte) touched.insert((access.address[lane] + byte) / 32);
  }
  return static_cast<int>(touched.size());
}

bool reference_pairs(const WarpAccess& access, int distance) {
  for (int n = 0; n < 32; ++n) {
    const int other = n ^ distance;
    if (!(access.active >> n & 1) || !(access.active >> other & 1)) continue;
    if (access.address[n] != access.address[other]) return false;
  }
  return true;
}

struct Wavefronts {
  int total, minimum;
};

Wavefronts reference_wavefronts(const WarpAccess& access, bool store) {
  int groups = std::max(1, access.bytes / 4);
  if (groups > 1 && !store && (reference_pairs(access, 1) || reference_pairs(access, 2))) groups /= 2;
  std::map<int, std::map<int, std::set<std::uint64_t>>> words;  // [group][bank]
  for (int lane = 0; lane < 32; ++lane) {
    if (!(access.active >> lane & 1)) continue;
    for (int byte = 0; byte < access.bytes; ++byte) {
      const std::uint64_t word = (access.address[lane] + byte) / 4;
      words[lane * groups / 32][static_cast<int>(word % 32)].insert(word);
    }
  }
  int total = 0;
  for (const auto& [group, banks] : words) {
    std::size_t worst = 0;
    for (const auto& [bank, distinct] : banks) worst = std::max(worst, distinct.size());
    total += static_cast<int>(worst);
  }
  return {total, static_cast<int>(words.size())};
}

TEST(AccessRules, AgreeWithSetsOfSectorsAndWordsOnRandomAccesses) {
  constexpr std::uint32_t seed = 77228;
  std::mt19937_64 random{seed};
  const auto below = [&](int n) { return static_cast<std::uint64_t>(random() % n); };
  int paired = 0, partial = 0, conflicts = 0;
  for (int sample = 0; sample < 60000; ++sample) {
    WarpAccess access{};
    access.bytes = 1 << below(5);
    access.active = below(2) ? ~0u : static_cast<std::uint32_t>(below(2) ? random() : random() & random() & random());
    if (below(50) == 0) access.active = 0;
    const std::uint64_t base = below(1 << 12), stride = below(3) ? below(40) : 1 << below(11), fold = 1 << below(6);
    const int pattern = static_cast<int>(below(5));
    for (std::uint64_t lane = 0; lane < 32; ++lane) {
      const std::uint64_t element[] = {
          base + lane * stride,                                // ascending
          base + lane % fold * stride,                         // repeated runs
          base + (31 - lane) / fold * stride,                  // descending
          base + (lane & ~(below(2) ? 1ull : 2ull)) * stride,  // near the pair rule
          below(1 << (3 + 2 * (sample % 5))),                  // anything
      };
      access.address[lane] = element[pattern] * access.bytes;
    }
    if (pattern == 3 && below(2)) {
      const std::uint64_t distance = 1 + below(2);
      for (std::uint64_t lane = 0; lane < 32; ++lane) access.address[lane] = access.address[lane & ~distance];
    }
    std::string text = "seed " + std::to_string(seed) + ", sample " + std::to_string(sample);
    const bool store = below(4) == 0;
    const Wavefronts expected = reference_wavefronts(access, store);
    ASSERT_EQ(sectors(access), reference_sectors(access)) << text;
    ASSERT_EQ(wavefronts(access, store), expected.total) << text;
    ASSERT_EQ(minimum_wavefronts(access, store), expected.minimum) << text;
    ASSERT_LE(minimum_wavefronts(access, store), wavefronts(access, store)) << text;
    ASSERT_EQ(misaligned_lanes(access), 0u) << text;
    paired += access.bytes > 4 && expected.minimum * 8 == access.bytes;
    partial += access.active != ~0u;
    conflicts += expected.total > expected.minimum;
  }
  EXPECT_GT(paired, 1000);
  EXPECT_GT(partial, 1000);
  EXPECT_GT(conflicts, 1000);
}

TEST(AccessRules, InactiveLanesDoNotCount) {
  WarpAccess access = warp_access<float, 4>([](int lane) { return 64 * lane; }, 0x00010001);
  access.address[5] = 3;  // inactive, so its misalignment does not matter either
  EXPECT_EQ(sectors(access), 2);
  EXPECT_EQ(wavefronts(access), 2);
  EXPECT_EQ(minimum_wavefronts(access), 2);
  access.active = 0;
  EXPECT_EQ(sectors(access), 0);
  EXPECT_EQ(wavefronts(access), 0);
  EXPECT_EQ(minimum_wavefronts(access), 0);
}

TEST(AccessRules, MisalignedAccessesAndOddWidthsAreRefused) {
  WarpAccess access = warp_access<float, 2>([](int lane) { return lane; });
  EXPECT_EQ(misaligned_lanes(access), 0xaaaaaaaau);
  EXPECT_THROW(static_cast<void>(sectors(access)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(wavefronts(access)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(minimum_wavefronts(access)), InvalidArgument);
  for (const int bytes : {-4, 0, 3, 12, 32}) {
    access.bytes = bytes;
    EXPECT_THROW(static_cast<void>(wavefronts(access)), InvalidArgument) << bytes;
  }
}

// ---- Known cases, as constants.

template <class Element, int vector = 1, class OffsetOfLane>
constexpr int conflicts(OffsetOfLane offset_of_lane) {
  const WarpAccess access = warp_access<Element, vector>(offset_of_lane);
  return wavefronts(access) - minimum_wavefronts(access);
}

TEST(GlobalMemory, SectorsOfContiguousLanesGrowWithTheWidth) {
  static_assert(sectors(warp_access<char>([](int lane) { return lane; })) == 1);
  static_assert(sectors(warp_access<f16>([](int lane) { return lane; })) == 2);
  static_assert(sectors(warp_access<float>([](int lane) { return lane; })) == 4);
  static_assert(sectors(warp_access<float, 2>([](int lane) { return 2 * lane; })) == 8);
  static_assert(sectors(warp_access<float, 4>([](int lane) { return 4 * lane; })) == 16);
}

TEST(GlobalMemory, AnOffsetCostsOneSectorAStrideAllAndABroadcastOne) {
  static_assert(sectors(warp_access<float>([](int lane) { return lane + 1; })) == 5);
  static_assert(sectors(warp_access<float>([](int lane) { return 8 * lane; })) == 32);
  static_assert(sectors(warp_access<float>([](int lane) { return 1000 * lane; })) == 32);
  static_assert(sectors(warp_access<float>([](int) { return 7; })) == 1);
}

TEST(SharedMemory, A32BitColumnConflictsUnlessItsPitchIsOdd) {
  static constexpr Layout dense = row_major(32, 32), padded = row_major(32, 32).padded(32, 1);
  static_assert(wavefronts(warp_access<float>([](int lane) { return dense(lane, 5); })) == 32);
  static_assert(wavefronts(warp_access<float>([](int lane) { return padded(lane, 5); })) == 1);
  static_assert(wavefronts(warp_access<float>([](int lane) { return dense(5, lane); })) == 1);
  static_assert(wavefronts(warp_access<float>([](int) { return dense(3, 5); })) == 1);
}

TEST(SharedMemory, LanesInOneWordNeverConflict) {
  static_assert(wavefronts(warp_access<f16>([](int lane) { return lane; })) == 1);
  static_assert(wavefronts(warp_access<char>([](int lane) { return lane; })) == 1);
  static_assert(wavefronts(warp_access<f16>([](int lane) { return lane ^ 1; })) == 1);
  static_assert(wavefronts(warp_access<f16>([](int lane) { return lane / 2 * 64 + lane % 2; })) == 16);
}

TEST(SharedMemory, WideAccessesAreServedInHalvesAndQuarters) {
  static_assert(wavefronts(warp_access<float, 2>([](int lane) { return 2 * lane; })) == 2);
  static_assert(wavefronts(warp_access<float, 2>([](int lane) { return 4 * lane; })) == 4);
  static_assert(wavefronts(warp_access<float, 4>([](int lane) { return 4 * lane; })) == 4);
  static_assert(wavefronts(warp_access<float, 4>([](int lane) { return 8 * lane; })) == 8);
}

TEST(SharedMemory, GroupsMergeWhereLanesAgreeInPairs) {
  static_assert(wavefronts(warp_access<float, 4>([](int) { return 0; })) == 2);
  static_assert(wavefronts(warp_access<float, 2>([](int) { return 0; })) == 1);
  static_assert(wavefronts(warp_access<float, 4>([](int lane) { return 4 * (lane / 2); })) == 2);
  static_assert(wavefronts(warp_access<float, 4>([](int lane) { return 4 * (lane / 4 * 2 + lane % 2); })) == 2);
  // Lanes four apart agree: 8 distinct vectors in 32 lanes, but no pairs, so four quarters remain.
  static_assert(wavefronts(warp_access<float, 4>([](int lane) { return 4 * (lane / 8 * 4 + lane % 4); })) == 4);
}

TEST(SharedMemory, ASwizzledTileIsReadAlongKByAnyEightRowsWithoutConflict) {
  // [m][k] of float, each lane 4 k of a row of its own.
  static constexpr Layout dense = row_major(128, 32), swizzled = dense.swizzled(3, 2, 3);
  static_assert(wavefronts(warp_access<float, 4>([](int lane) { return dense(lane, 4); })) == 32);
  static_assert(conflicts<float, 4>([](int lane) { return swizzled(lane, 4); }) == 0);
  // With rows of 8 floats four rows fill the banks, and one bit tells the first four from the next.
  static constexpr Layout narrow = row_major(128, 8), narrow_swizzled = narrow.swizzled(1, 2, 3);
  static_assert(wavefronts(warp_access<float, 4>([](int lane) { return narrow(lane, 4); })) == 8);
  static_assert(conflicts<float, 4>([](int lane) { return narrow_swizzled(lane, 4); }) == 0);
}

// Tiles of a half-precision kernel with BM = BN = 128, BK = 64 and 8 x 8 results a thread: B is [k][n], A is transposed
// to [k][m], and the padding is two halves after every 64 columns. A warp covers 16 x 2 threads.
namespace half_tiles {
constexpr Layout unpadded = row_major(64, 128), padded = row_major(64, 128).padded(64, 2);

// Reading B: thread column lane % 16 wants columns 8 (lane % 16) and on.
constexpr int read(const Layout& b, int lane) { return b(3, lane % 16 * 8); }
// Storing B, two halves at a time, what came as 128 bits a lane: 16 lanes a row.
constexpr int store_b(const Layout& b, int lane) { return b(lane / 16, lane % 16 * 8); }
// Storing A one half at a time, what came as 128 bits a lane along k: 8 lanes a row.
constexpr int store_a(const Layout& a, int lane) { return a(lane % 8 * 8, lane / 8); }
}  // namespace half_tiles

TEST(HalfTiles, PaddingHelpsNarrowAccesses) {
  using namespace half_tiles;
  static_assert(wavefronts(warp_access<f16, 2>([](int lane) { return read(unpadded, lane); })) == 2);
  static_assert(wavefronts(warp_access<f16, 2>([](int lane) { return read(padded, lane); })) == 1);
  static_assert(wavefronts(warp_access<f16, 2>([](int lane) { return store_b(unpadded, lane); })) == 4);
  static_assert(wavefronts(warp_access<f16, 2>([](int lane) { return store_b(padded, lane); })) == 1);
  static_assert(wavefronts(warp_access<f16>([](int lane) { return store_a(unpadded, lane); })) == 8);
  static_assert(wavefronts(warp_access<f16>([](int lane) { return store_a(padded, lane); })) == 4);
}

TEST(HalfTiles, PaddingMisaligns128BitReadsThatHadNoConflict) {
  using namespace half_tiles;
  static_assert(wavefronts(warp_access<f16, 8>([](int lane) { return read(unpadded, lane); })) == 4);
  static_assert(conflicts<f16, 8>([](int lane) { return read(unpadded, lane); }) == 0);
  // Even rows: the 16 lanes in columns 64 and on; odd rows start 8 bytes off, and all are misaligned.
  constexpr WarpAccess even = warp_access<f16, 8>([](int lane) { return padded(2, lane % 16 * 8); });
  constexpr WarpAccess odd = warp_access<f16, 8>([](int lane) { return padded(3, lane % 16 * 8); });
  static_assert(std::popcount(misaligned_lanes(even)) == 16);
  static_assert(std::popcount(misaligned_lanes(odd)) == 32);
}

}  // namespace
}  // namespace lapidary
