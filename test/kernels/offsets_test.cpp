// Offsets that a rung adds up of a thread's part and a constant, against the layout that they are of.
#include <gtest/gtest.h>

#include "kernels/simt/f16_padded.cuh"

namespace lapidary {
namespace {

template <class Config>
void expect_offsets_of_the_layout() {
  using A = typename Config::GlobalA;
  using B = typename Config::GlobalB;
  for (int thread = 0; thread < Config::threads; ++thread) {
    for (int e = 0; e < 8; ++e) {
      for (int v = 0; v < A::count; ++v)
        ASSERT_EQ(Config::a_write(thread, v, e), Config::a(A::element(thread, v).col + e, A::element(thread, v).row));
      for (int v = 0; v < B::count; ++v)
        ASSERT_EQ(Config::b_write(thread, v, e), Config::b(B::element(thread, v).row, B::element(thread, v).col + e));
      for (int k = 0; k < Config::BK; ++k) {
        ASSERT_EQ(Config::a_read(thread, k, e), Config::a(k, Config::row(thread, e)));
        ASSERT_EQ(Config::b_read(thread, k, e), Config::b(k, Config::col(thread, e)));
      }
    }
  }
}

TEST(Offsets, OfF16TilesAreThoseOfTheirLayouts) {
  expect_offsets_of_the_layout<f16_padded::Config<2, 2>>();
  expect_offsets_of_the_layout<f16_padded::Config<0, 8>>();
}

}  // namespace
}  // namespace lapidary
