#include "layout/fragment.hpp"

#include <gtest/gtest.h>

#include <map>
#include <utility>

namespace lapidary {
namespace {

bool is(const RowCol<int>& element, int row, int col) { return element.row == row && element.col == col; }

// Hand-picked from the figures of the PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type", "... for
// mma.m16n8k32", "... for mma.m16n8k8" (tf32) and "... for mma.m8n8k4" (f64).
TEST(Fragment, ElementsAreWhereThePtxIsaShowsThem) {
  EXPECT_TRUE(is(mma_a(2, 0, 0, 1), 0, 1));
  EXPECT_TRUE(is(mma_a(2, 0, 1, 0), 8, 0)) << "a2";
  EXPECT_TRUE(is(mma_a(2, 0, 2, 0), 0, 8)) << "a4";
  EXPECT_TRUE(is(mma_a(2, 31, 3, 1), 15, 15)) << "a7";
  EXPECT_TRUE(is(mma_b(2, 5, 0, 1), 3, 1)) << "b1";
  EXPECT_TRUE(is(mma_b(2, 31, 1, 0), 14, 7)) << "b2";
  EXPECT_TRUE(is(mma_d(6, 1), 1, 5));
  EXPECT_TRUE(is(mma_d(6, 2), 9, 4));
  EXPECT_TRUE(is(mma_a(4, 9, 2, 3), 2, 23)) << "8 bits: a11";
  EXPECT_TRUE(is(mma_b(4, 9, 1, 0), 20, 2)) << "8 bits: b4";
  EXPECT_TRUE(is(mma_a(1, 13, 3, 0), 11, 5)) << "tf32: a3";
  EXPECT_TRUE(is(mma_b(1, 13, 1, 0), 5, 3)) << "tf32: b1";
  EXPECT_TRUE(is(mma_a(1, 30, 0, 0), 7, 2)) << "f64";
  EXPECT_TRUE(is(ldmatrix_element(false, 13, 1), 3, 3));
  EXPECT_TRUE(is(ldmatrix_element(true, 13, 1), 3, 3));
  EXPECT_TRUE(is(ldmatrix_element(false, 6, 0), 1, 4));
  EXPECT_TRUE(is(ldmatrix_element(true, 6, 0), 4, 1));
}

/// How often each place of a matrix is named.
template <class Name>
void expect_each_once(int rows, int cols, int registers, int packed, Name&& name, int lanes = 32) {
  std::map<std::pair<int, int>, int> times;
  for (int lane = 0; lane < lanes; ++lane)
    for (int i = 0; i < registers; ++i)
      for (int e = 0; e < packed; ++e) {
        const RowCol<int> at = name(lane, i, e);
        ++times[{at.row, at.col}];
        EXPECT_TRUE(at.row >= 0 && at.row < rows && at.col >= 0 && at.col < cols) << at.row << ", " << at.col;
      }
  EXPECT_EQ(times.size(), static_cast<std::size_t>(rows * cols));
}

TEST(Fragment, HoldsEachElementOnce) {
  struct Shape {
    int M, K, packed;
  };
  for (const auto& [M, K, packed] : {Shape{16, 8, 2}, Shape{16, 16, 2}, Shape{16, 4, 1}, Shape{16, 8, 1},
                                     Shape{16, 16, 4}, Shape{16, 32, 4}, Shape{8, 4, 1}, Shape{16, 16, 1}}) {
    const int elements = packed;
    expect_each_once(M, K, M * K / 32 / packed, packed,
                     [&](int lane, int i, int e) { return mma_a(elements, lane, i, e); });
    expect_each_once(K, 8, 8 * K / 32 / packed, packed,
                     [&](int lane, int i, int e) { return mma_b(elements, lane, i, e); });
    expect_each_once(M, 8, M * 8 / 32, 1, [&](int lane, int i, int) { return mma_d(lane, i); });
  }
  for (const auto& [M, N] : {std::pair{16, 16}, std::pair{32, 8}, std::pair{8, 32}}) {
    const auto at = [M = M, N = N](WmmaOperand operand) {
      return [=](int lane, int i, int) { return wmma_element(operand, M, N, lane, i); };
    };
    expect_each_once(M, 16, M / 2, 1, at(WmmaOperand::a));
    expect_each_once(16, N, N / 2, 1, at(WmmaOperand::b));
    expect_each_once(M, N, M * N / 32, 1, at(WmmaOperand::d));
  }
  for (const bool transposed : {false, true})
    expect_each_once(8, 8, 1, 2, [&](int lane, int, int e) { return ldmatrix_element(transposed, lane, e); });
}

// PTX ISA, "Register Fragments" of wgmma.mma_async: the formulas of its figures.
TEST(Fragment, OfAWarpgroupIsAsThePtxIsaShowsIt) {
  for (int thread = 0; thread < 128; ++thread) {
    const int top = thread / 32 * 16 + thread % 32 / 4, t = thread % 4;
    for (int i = 0; i < 128; ++i)
      EXPECT_TRUE(is(wgmma_d(thread, i), top + 8 * (i / 2 % 2), 8 * (i / 4) + 2 * t + i % 2)) << thread << ", " << i;
    for (int i = 0; i < 8; ++i)
      EXPECT_TRUE(is(wgmma_a(2, thread, i / 2, i % 2), top + 8 * (i / 2 % 2), 8 * (i / 4) + 2 * t + i % 2));
    for (int i = 0; i < 16; ++i)
      EXPECT_TRUE(is(wgmma_a(4, thread, i / 4, i % 4), top + 8 * (i / 4 % 2), 16 * (i / 8) + 4 * t + i % 4));
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(is(wgmma_a(1, thread, i, 0), top + 8 * (i % 2), t + 4 * (i / 2)));
  }
}

TEST(Fragment, OfAWarpgroupHoldsEachElementOnce) {
  for (const int N : {8, 24, 128, 256})
    expect_each_once(
        64, N, N / 2, 1, [](int thread, int i, int) { return wgmma_d(thread, i); }, 128);
  for (const int packed : {1, 2, 4})
    expect_each_once(
        64, 8 * packed, 4, packed, [&](int thread, int i, int e) { return wgmma_a(packed, thread, i, e); }, 128);
}

}  // namespace
}  // namespace lapidary
