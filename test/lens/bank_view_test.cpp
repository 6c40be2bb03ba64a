#include "lens/bank_view.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

namespace lapidary::lens {
namespace {

// Lanes 0 and 8 read words of bank 0 in different lines, all others a word of their own.
WarpAccess two_in_bank_0() {
  WarpAccess access{{}, ~0u, 4};
  for (unsigned lane = 0; lane < 32; ++lane) access.address[lane] = lane * 4;
  access.address[8] = 3 * 128;
  return access;
}

TEST(BankView, TellsWhoNeedsASecondWavefront) {
  const BankView view = bank_view("two", two_in_bank_0(), SharedAccess::read);
  EXPECT_EQ(view.wavefronts, 2);
  EXPECT_EQ(view.excess(), 1);
  EXPECT_TRUE(view.is_bad());
  EXPECT_EQ(bank_verdict(view), "2 wavefronts, minimum 1: " + view.cause);
  EXPECT_EQ(touched_lines(view), (std::vector<std::uint64_t>{0, 3}));
  ASSERT_EQ(view.groups.size(), 1u);
  const std::array<int, 32> words = words_in_banks(view.groups[0]);
  EXPECT_EQ(words[0], 2);
  EXPECT_EQ(words[8], 0);
  EXPECT_EQ(words[9], 1);
  EXPECT_NE(use_of_word(view, 0).excess, use_of_word(view, 3 * 128).excess) << "one of both is in the second wavefront";
  EXPECT_EQ(use_of_word(view, 3 * 128).lanes, 1u << 8);
  EXPECT_EQ(use_of_word(view, 8 * 4).lanes, 0u);
}

TEST(BankView, KnowsPaddingByTheLayout) {
  BankView view = bank_view("rows", two_in_bank_0(), SharedAccess::read);
  EXPECT_FALSE(is_padding(view, 4 * 4)) << "without a layout nothing is";
  view.layout = row_major(2, 4).padded(4, 1);
  EXPECT_FALSE(is_padding(view, 3 * 4));
  EXPECT_TRUE(is_padding(view, 4 * 4));
  EXPECT_FALSE(is_padding(view, 5 * 4));
}

}  // namespace
}  // namespace lapidary::lens
