// How wgmma_equal_areas cuts D: for any size and number of clusters; and that it is right where all widths meet, and
// strips of more tiles with strips of fewer.
#include "tile/equal_areas.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "bench/run.hpp"
#include "device/device.hpp"
#include "kernels/registry.hpp"

namespace lapidary {
namespace {

constexpr TileShape tile = {128, 256, 64};

std::int64_t columns_of_slowest(const EqualAreas& cut, int clusters) {
  std::vector<std::int64_t> columns(static_cast<std::size_t>(clusters));
  for (int number = 0; number < cut.tiles(); ++number)
    columns[static_cast<std::size_t>(number % clusters)] += cut.tile(number).width;
  return *std::max_element(columns.begin(), columns.end());
}

TEST(EqualAreas, HaveEachColumnOfEachStripOnceInTilesOfThreeWidths) {
  for (const int clusters : {1, 2, 5, 54, 57, 66})
    for (const std::int64_t M : {1, 256, 257, 2304, 2305, 4096, 5120})
      for (const std::int64_t N : {8, 240, 248, 264, 1000, 3600, 3840, 3848, 4096, 5120, 28672}) {
        SCOPED_TRACE(testing::Message() << "M " << M << ", N " << N << ", clusters " << clusters);
        const EqualAreas cut = EqualAreas::over(M, N, tile, clusters);
        const std::int64_t strips = ceil_div<std::int64_t>(M, 256), plain = strips * ceil_div<std::int64_t>(N, 256);
        std::vector<std::vector<WideTile>> tiles(static_cast<std::size_t>(strips));
        for (int number = 0; number < cut.tiles(); ++number) {
          const WideTile at = cut.tile(number);
          ASSERT_TRUE(at.width == 240 || at.width == 248 || at.width == 256) << at.width;
          tiles.at(static_cast<std::size_t>(at.row)).push_back(at);
        }
        for (auto& strip : tiles) {
          std::sort(strip.begin(), strip.end(), [](const WideTile& a, const WideTile& b) { return a.col < b.col; });
          std::int64_t begin = 0;
          for (const WideTile& at : strip) {
            EXPECT_EQ(at.col, begin);
            EXPECT_LT(begin, N) << "a tile beyond D";
            begin += at.width;
          }
          EXPECT_GE(begin, N);
        }
        EXPECT_LE(ceil_div<std::int64_t>(cut.tiles(), clusters), ceil_div(plain, std::int64_t{clusters}));
        EXPECT_LE(columns_of_slowest(cut, clusters), ceil_div(plain, std::int64_t{clusters}) * 256);
      }
}

// 66 clusters of two are those of an H100 and an H200.
TEST(EqualAreas, AreNearlyEqual) {
  const auto slowest = [](std::int64_t size) { return columns_of_slowest(EqualAreas::over(size, size, tile, 66), 66); };
  EXPECT_EQ(slowest(4096), 1008);
  EXPECT_EQ(slowest(8192), 3984);
  EXPECT_EQ(EqualAreas::over(4096, 4096, tile, 66).tiles(), 4 * 66);
  EXPECT_EQ(EqualAreas::over(8192, 8192, tile, 66).tiles(), 16 * 66);
}

TEST(EqualAreas, OfManyColumnsAreAllAsWide) {
  constexpr std::int64_t N = (std::int64_t{1} << 31) - 1024;
  const EqualAreas cut = EqualAreas::over(1, N, tile, 66);
  EXPECT_EQ(cut.tiles(), N / 256);
  for (const int number : {0, 1, 65536, cut.tiles() - 1}) {
    EXPECT_EQ(cut.tile(number).col, number * 256);
    EXPECT_EQ(cut.tile(number).width, 256);
  }
}

TEST(EqualAreas, EveryOtherGroupIsWalkedFromTheRight) {
  const EqualAreas cut = EqualAreas::over(4096, 4096, tile, 66);
  EXPECT_EQ(cut.tile(0).col, 0);
  EXPECT_EQ(cut.tile(8 * 16).col + cut.tile(8 * 16).width, 4096);
}

TEST(EqualAreas, AreRightWhereWidthsMeet) {
  const Rung& rung = find_rung("wgmma_equal_areas");
  // 23 clusters: two strips of 15 tiles and one of 16, in two rounds; of 240 to 256 columns.
  const auto device = open_emulator({.multiprocessors = 46});
  // A tile of four slices has seven steps, or as many as slices.
  for (const auto& [N, K] : {std::pair<std::int64_t, std::int64_t>(3840, 392), {3856, 256}})
    for (const KernelEntry& kernel : rung.kernels) {
      const bench::RandomProblem problem = {
          .problem = {.kind = kernel.kind, .M = 520, .N = N, .K = K}, .alpha = 0.5f, .beta = 3};
      const auto result = bench::run_gemm(*device, rung, kernel, Build::plain, problem);
      EXPECT_TRUE(result.verification.ok) << result.verification.message;
      EXPECT_EQ(result.verification.compared, 520 * N);
    }
}

}  // namespace
}  // namespace lapidary
