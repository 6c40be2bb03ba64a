// Rooflines, waves and traffic per result; what well-known texts say of the kernels of the ladder, computed from the
// tiles and layouts of those kernels.
#include "model/traffic.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "core/error.hpp"
#include "kernels/simt/f16_padded.cuh"
#include "kernels/simt/shared_tiles.cuh"
#include "kernels/simt/thread_tiles_1d.cuh"
#include "kernels/simt/thread_tiles_2d.cuh"
#include "model/roofline.hpp"
#include "model/waves.hpp"

namespace lapidary::model {
namespace {

constexpr double K = 4096;

template <class Config>
double global_loads() {
  return loads_per_result(K, Config::tile.m, Config::tile.n);
}

TEST(Traffic, SharedTilesLoadKOver16FromGlobalMemoryAnd2KFromShared) {
  using Config = shared_tiles::Config<32, 32, 32>;
  EXPECT_EQ(global_loads<Config>(), K / 16);
  EXPECT_EQ(loads_per_result(K, 1, 1), 2 * K) << "from shared memory, and from global memory in naive";
}

TEST(Traffic, OneDimensionalThreadTilesLoad9KOver8FromSharedMemory) {
  using Config = thread_tiles_1d::Config<64, 64, 8, 8>;
  EXPECT_EQ(global_loads<Config>(), K / 32);
  EXPECT_EQ(loads_per_result(K, Config::results, 1), 9 * K / 8);
}

TEST(Traffic, EightByEightThreadTilesLoadKOver4FromSharedAndKOver64FromGlobalMemory) {
  using Config = thread_tiles_2d::Config<128, 128, 8, 8, 8>;
  EXPECT_EQ(global_loads<Config>(), K / 64);
  EXPECT_EQ(loads_per_result(K, Config::TM, Config::TN), K / 4);
  EXPECT_EQ(fma_per_load(Config::TM, Config::TN), 4);
}

// A source has a block's tile of A read N / BN times. It is each element of A that is, over the whole grid, by one
// block of each column of blocks.
TEST(Traffic, EachElementIsReadByEveryBlockOfItsRowOrColumn) {
  const GemmShape gemm{256, 512, 64};
  EXPECT_EQ(sm_read_bytes(gemm, {64, 128, 8}), 4 * (256 * 64 * (512 / 128) + 64 * 512 * (256 / 64)));
  EXPECT_EQ(sm_read_bytes({100, 70, 10}, {64, 64, 8}), 4 * 10 * (100 * 2 + 70 * 2)) << "edges are cut off";
  GemmShape with_c = gemm;
  with_c.reads_c = true;
  EXPECT_EQ(sm_read_bytes(with_c, {64, 128, 8}), sm_read_bytes(gemm, {64, 128, 8}) + 4 * 256 * 512);
  EXPECT_THROW(sm_read_bytes(gemm, {0, 1, 1}), InvalidArgument);
}

// Measured on an H200 for bf16 at 8192^3: 12.9 GB into the SMs with 128 x 256 tiles, 12.2 GB with 128 x 320.
TEST(Traffic, BytesIntoTheSmsAreThoseMeasured) {
  const GemmShape gemm{8192, 8192, 8192, 2, 2};
  EXPECT_NEAR(sm_read_bytes(gemm, {128, 256, 64}), 12.9e9, 0.01 * 12.9e9);
  EXPECT_NEAR(sm_read_bytes(gemm, {320, 128, 64}), 12.2e9, 0.02 * 12.2e9);
}

TEST(Roofline, CIsReadOnlyWithBeta) {
  // A source swaps the two for M = N = K = 4096: 201 MB are read with beta, 67 MB written.
  GemmShape gemm{4096, 4096, 4096};
  constexpr double matrix = 4096.0 * 4096 * 4;
  EXPECT_EQ(compulsory_bytes(gemm), 3 * matrix);
  gemm.reads_c = true;
  EXPECT_EQ(compulsory_bytes(gemm), 4 * matrix);
  EXPECT_NEAR(3 * matrix, 201e6, 1e6);
  EXPECT_NEAR(matrix, 67e6, 1e6);
  EXPECT_EQ(flop(gemm), 2 * 4096.0 * 4096 * 4096);
  EXPECT_EQ(flop({1 << 20, 1 << 20, 1 << 30}), 0x1p71);
  EXPECT_EQ(compulsory_bytes({0, 8, 8}), 0);
  EXPECT_EQ(compulsory_bytes({8, 8, 0}), 256);
  EXPECT_THROW(flop({-1, 1, 1}), InvalidArgument);
}

TEST(Roofline, IntensityOfNothing) {
  EXPECT_EQ(arithmetic_intensity(8, 2), 4);
  EXPECT_EQ(arithmetic_intensity(0, 0), 0);
  EXPECT_EQ(arithmetic_intensity(1, 0), std::numeric_limits<double>::infinity());
}

TEST(Roofline, CeilingsOfCards) {
  const Ceilings a100 = ceilings(find_gpu("a100 40gb"));
  EXPECT_NEAR(a100.f32_flops, 19.5e12, 0.05e12);
  EXPECT_EQ(a100.l2_bytes_per_s, 4.65e12) << "what was measured, not the 7.2 TB/s of its width";
  EXPECT_EQ(a100.shared_bytes_per_s, 128 * 108 * 1.41e9);
  Gpu v100 = find_gpu("v100 32gb");
  v100.l2_read_measured_bytes_per_s.reset();
  EXPECT_NEAR(ceilings(v100).l2_bytes_per_s.value(), 3.13e12, 0.01e12) << "its width";
  EXPECT_FALSE(ceilings(find_gpu("l20")).l2_bytes_per_s);
  // The ridge of an A100's f32: 12.5 FLOP a byte of DRAM.
  EXPECT_EQ(attainable(a100.f32_flops, a100.dram_bytes_per_s, 1), 1.555e12);
  EXPECT_EQ(attainable(a100.f32_flops, a100.dram_bytes_per_s, 100), a100.f32_flops);
}

TEST(Waves, TheLastOneMayBeNearlyEmpty) {
  const Waves full = waves(264, 132, 2);
  EXPECT_EQ(full.count, 1);
  EXPECT_EQ(full.last, 1);
  EXPECT_EQ(full.efficiency, 1);
  const Waves one_more = waves(265, 132, 2);
  EXPECT_EQ(one_more.per_wave, 264);
  EXPECT_EQ(one_more.count, 2);
  EXPECT_DOUBLE_EQ(one_more.last, 1.0 / 264);
  EXPECT_DOUBLE_EQ(one_more.efficiency, 265.0 / 528);
  EXPECT_EQ(waves(0, 132, 1).count, 0);
  EXPECT_EQ(waves(0, 132, 1).efficiency, 0);
  EXPECT_THROW(waves(1, 132, 0), InvalidArgument);
}

// ---- A square tile in shared memory, read by a warp of a block as wide as the tile (of its first 32 columns if it is
// wider): along a row, tile[y][x], or down a column, tile[x][y].

template <class Element, int tile_size, bool down>
constexpr int tile_wavefronts() {
  constexpr Layout tile = row_major(tile_size, tile_size);
  return wavefronts(warp_access<Element>([&](int lane) {
    const int x = lane % tile_size, y = lane / tile_size;
    return down ? tile(x, y) : tile(y, x);
  }));
}

struct Byte {
  std::uint8_t bits;  // as of fp8
};

TEST(Banks, RowsNeverConflict) {
  static_assert(tile_wavefronts<float, 16, false>() == 1 && tile_wavefronts<float, 32, false>() == 1);
  static_assert(tile_wavefronts<float, 64, false>() == 1 && tile_wavefronts<f16, 16, false>() == 1);
  static_assert(tile_wavefronts<f16, 32, false>() == 1 && tile_wavefronts<f16, 64, false>() == 1);
  static_assert(tile_wavefronts<Byte, 16, false>() == 1 && tile_wavefronts<Byte, 32, false>() == 1);
  static_assert(tile_wavefronts<Byte, 64, false>() == 1);
}

TEST(Banks, ColumnsConflictTheMoreTheWiderTheTile) {
  static_assert(tile_wavefronts<float, 16, true>() == 8, "rows begin in 2 banks; the warp reads 2 columns of 16");
  static_assert(tile_wavefronts<float, 32, true>() == 32);
  static_assert(tile_wavefronts<float, 64, true>() == 32);
}

// A source says that smaller elements make conflicts more likely. Lanes conflict over words, not elements: rows of
// smaller elements are shorter, so those of a column spread over more banks, and neighbours in one word share it.
TEST(Banks, SmallerElementsConflictLessInTheSameTile) {
  static_assert(tile_wavefronts<f16, 16, true>() == 4);
  static_assert(tile_wavefronts<f16, 32, true>() == 16);
  static_assert(tile_wavefronts<f16, 64, true>() == 32, "a row of 128 bytes again");
  static_assert(tile_wavefronts<Byte, 16, true>() == 2);
  static_assert(tile_wavefronts<Byte, 32, true>() == 8);
  static_assert(tile_wavefronts<Byte, 64, true>() == 16);
}

// A source calls the reads of B by 8 x 8 thread tiles an 8-way conflict. By 32 bits they are 16 distinct words in 4
// banks; by 128 bits quarter warps are served apart, so that a quarter's 8 vectors meet in half of the banks.
TEST(Banks, ReadsOfBByEightByEightThreadTilesConflictFourWays) {
  using Config = thread_tiles_2d::Config<128, 128, 8, 8, 8>;
  constexpr WarpAccess word = warp_access<float>([](int lane) { return Config::b_read(lane, 0, 0); });
  static_assert(wavefronts(word) == 4 && minimum_wavefronts(word) == 1);
  constexpr WarpAccess vector = warp_access<float, 4>([](int lane) { return Config::b_read(lane, 0, 0); });
  static_assert(wavefronts(vector) == 8 && minimum_wavefronts(vector) == 4);
}

// A source pads rows by two halves for the sake of 128-bit reads, which then fault: half of the lanes lose their
// alignment. It is 32-bit reads that it helps.
TEST(Banks, TwoHalvesOfPaddingHelpNarrowReadsOnly) {
  using Unpadded = f16_padded::Config<0, 2>;
  using Padded = f16_padded::Config<2, 2>;
  static_assert(wavefronts(warp_access<f16, 2>([](int lane) { return Unpadded::b_read(lane, 1, 0); })) == 2);
  static_assert(wavefronts(warp_access<f16, 2>([](int lane) { return Padded::b_read(lane, 1, 0); })) == 1);
  static_assert(wavefronts(warp_access<f16, 8>([](int lane) { return Unpadded::b_read(lane, 1, 0); })) == 4,
                "the minimum");
  static_assert(misaligned_lanes(warp_access<f16, 8>([](int lane) { return Padded::b_read(lane, 0, 0); })) != 0);
}

}  // namespace
}  // namespace lapidary::model
