#include "bench/rates.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"

namespace lapidary::bench {
namespace {

DeviceProperties gpu(int compute_capability, int multiprocessors, int clock_mhz) {
  DeviceProperties properties{};
  properties.compute_capability = compute_capability;
  properties.multiprocessors = multiprocessors;
  properties.clock_mhz = clock_mhz;
  return properties;
}

TEST(Spread, OddAndEvenCounts) {
  const Spread odd = spread_of({3, 1, 2});
  EXPECT_EQ(odd.median, 2);
  EXPECT_EQ(odd.min, 1);
  EXPECT_EQ(odd.max, 3);
  EXPECT_EQ(spread_of({4, 1, 3, 2}).median, 2.5);
  EXPECT_EQ(spread_of({7}).median, 7);
}

TEST(Rates, TwoOperationsForEachProduct) {
  EXPECT_DOUBLE_EQ(tflops(1000, 1000, 1000, 1), 2);
  EXPECT_DOUBLE_EQ(tflops(4096, 4096, 4096, 2.748779069440), 50);
}

// Peak rates of the data sheets, at the clocks that they are given for.
TEST(Ceiling, AgreesWithDataSheets) {
  EXPECT_NEAR(*ceiling_tflops(gpu(80, 108, 1410), Unit::cuda_cores), 19.5, 0.05);  // A100 SXM
  EXPECT_NEAR(*ceiling_tflops(gpu(80, 108, 1410), Unit::tensor_cores), 312, 0.5);
  EXPECT_NEAR(*ceiling_tflops(gpu(86, 84, 1860), Unit::cuda_cores), 40.0, 0.05);     // RTX 3090 Ti
  EXPECT_NEAR(*ceiling_tflops(gpu(89, 128, 2520), Unit::tensor_cores), 330.3, 0.5);  // RTX 4090
  EXPECT_NEAR(*ceiling_tflops(gpu(90, 132, 1980), Unit::cuda_cores), 66.9, 0.05);    // H200 SXM
  EXPECT_NEAR(*ceiling_tflops(gpu(90, 132, 1830), Unit::tensor_cores), 989.4, 0.5);
  EXPECT_NEAR(*ceiling_tflops(gpu(90, 132, 1830), tensor_cores_for(Type::s8)), 1978.9, 1);
}

TEST(Ceiling, UnknownCardHasNone) {
  EXPECT_FALSE(ceiling_tflops(gpu(70, 80, 1530), Unit::cuda_cores));
  EXPECT_NO_THROW(require_plausible("kernel", 1e6, std::nullopt));
}

TEST(Ceiling, RateAboveItIsRejected) {
  EXPECT_NO_THROW(require_plausible("kernel", 66.9, 66.9));
  EXPECT_THROW(require_plausible("kernel", 67, 66.9), Error);
}

}  // namespace
}  // namespace lapidary::bench
