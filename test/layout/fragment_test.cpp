#include "layout/fragment.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace lapidary {
namespace {

using Place = std::pair<int, int>;

// PTX ISA, "Register Fragments" of wgmma: the formulas of its figures, written out.
TEST(Fragments, OfWgmmaAreThoseOfPtx) {
  const auto expect = [](const FragmentElement& at, int row, int col) {
    EXPECT_EQ(Place(at.row, at.col), Place(row, col));
  };
  for (int thread = 0; thread < 128; ++thread) {
    const int warp = thread / 32, group = thread % 32 / 4, t = thread % 4;
    for (int i = 0; i < 128; ++i)
      expect(wgmma_d(thread, i), 16 * warp + group + 8 * (i / 2 % 2), 8 * (i / 4) + 2 * t + i % 2);
    for (int i = 0; i < 8; ++i)
      expect(wgmma_a(2, thread, i / 2, i % 2), 16 * warp + group + 8 * (i / 2 % 2), 8 * (i / 4) + 2 * t + i % 2);
    for (int i = 0; i < 16; ++i)
      expect(wgmma_a(4, thread, i / 4, i % 4), 16 * warp + group + 8 * (i / 4 % 2), 16 * (i / 8) + 4 * t + i % 4);
    for (int i = 0; i < 4; ++i) expect(wgmma_a(1, thread, i, 0), 16 * warp + group + 8 * (i % 2), t + 4 * (i / 2));
  }
}

// Each element of D and of A belongs to one thread.
TEST(Fragments, OfWgmmaCoverTheMatrices) {
  for (const int N : {8, 24, 128, 256}) {
    std::set<Place> places;
    for (int thread = 0; thread < 128; ++thread)
      for (int i = 0; i < N / 2; ++i) {
        const FragmentElement at = wgmma_d(thread, i);
        EXPECT_TRUE(at.row < 64 && at.col < N);
        EXPECT_TRUE(places.emplace(at.row, at.col).second);
      }
  }
  for (const int packed : {1, 2, 4}) {
    std::set<Place> places;
    for (int thread = 0; thread < 128; ++thread)
      for (int i = 0; i < 4 * packed; ++i) {
        const FragmentElement at = wgmma_a(packed, thread, i / packed, i % packed);
        EXPECT_TRUE(at.row < 64 && at.col < 8 * packed);
        EXPECT_TRUE(places.emplace(at.row, at.col).second);
      }
  }
}

}  // namespace
}  // namespace lapidary
