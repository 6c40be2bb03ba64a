#pragma once
#include "kernels/simt/double_buffered.cuh"
#include "tile/async_copy.hpp"
#include "tile/warp_tile.hpp"

namespace lapidary::inline LAPIDARY_BUILD::multistage {

constexpr RungInfo info = {
    .name = "multistage",
    .parent = "double_buffered",
    .idea = "cp.async keeps several tiles in flight",
    .change =
        "Tiles go from global to shared memory past the registers, several of them on their way at a time; A is "
        "transposed on the way by copies of 4 bytes. Operands of the next step are read while those of this one are "
        "used",
    .why =
        "No register holds what is on its way from global memory, which leaves room for the next operands, and "
        "memory has "
        "as many tiles' time to answer as there are stages",
    .counter =
        "async_copy takes the place of global_load and of shared_store; shared_load stays at 4 vectors of 2 "
        "wavefronts for 64 multiply-adds",
    .cost =
        "A hundred kilobytes of shared memory a block, and 4-byte copies of A where 16-byte loads were; all 128 "
        "registers that two blocks a multiprocessor leave a thread",
    .exercise =
        "`lapidary explain multistage --tile 128x256x32`: half as fast as the other tile at 1024, and no slower at "
        "4096. Count the blocks.",
    .architecture = 80,
};

/// BM x BN x BK tiles, `stages` of them; a warp has WM x WN of the results, a lane TM x TN of those.
template <int BM, int BN, int BK, int WM, int WN, int TM_, int TN_, int stages_, int blocks_>
struct Config : WarpTile<BN, WM, WN, TM_, TN_> {
  using Element = float;
  static constexpr int TM = TM_, TN = TN_, stages = stages_, blocks = blocks_;
  static constexpr TileShape tile = {BM, BN, BK};
  static constexpr int threads = BM / WM * (BN / WN) * 32;
  static constexpr Layout a = Layout({BK, BM}, {BM + 4, 1}), b = row_major(BK, BN);
  static constexpr int a_size = a.cosize(), b_size = b.cosize();  // of one stage

  using GlobalA = GlobalTile<float, BM, BK, threads>;
  template <int width>
  using GlobalB = GlobalTile<float, BK, BN, threads, width>;
  LAPIDARY_HD static constexpr int a_write(int thread, int v) {
    return offset_in<a>(GlobalA::element(thread, v).col, GlobalA::element(thread, v).row);
  }
  template <int width>
  LAPIDARY_HD static constexpr int b_write(int thread, int v) {
    return offset_in<b>(GlobalB<width>::element(thread, v).row, GlobalB<width>::element(thread, v).col);
  }
  static_assert(wavefronts(warp_access<float>([](int lane) { return a_write(lane, 0); })) == BK / 8, "1 for BK = 8");
  static_assert(wavefronts(warp_access<float, 4>([](int lane) { return b_write<4>(lane, 0); })) == 4, "the minimum");

  using WarpTile<BN, WM, WN, TM_, TN_>::row, WarpTile<BN, WM, WN, TM_, TN_>::col;
  LAPIDARY_HD static constexpr int a_read(int thread, int k, int i) { return offset_in<a>(k, row(thread, i)); }
  LAPIDARY_HD static constexpr int b_read(int thread, int k, int j) { return offset_in<b>(k, col(thread, j)); }
  static_assert(wavefronts(warp_access<float, 4>([](int lane) { return a_read(lane, 0, 0); })) == 2, "the minimum");
  static_assert(wavefronts(warp_access<float, 4>([](int lane) { return b_read(lane, 0, 0); })) == 2, "the minimum");
};

using double_buffered::Storage;

template <class Config, bool vectorized>
__global__ void __launch_bounds__(Config::threads, Config::blocks) kernel(const Gemm<float> g) {
  constexpr int BM = Config::tile.m, BN = Config::tile.n, BK = Config::tile.k, TM = Config::TM, TN = Config::TN;
  constexpr int stages = Config::stages, width = vectorized ? 4 : 1;
  auto& [sA, sB] = shared_storage<Storage<Config>>();
  const RowCol<std::int64_t> block = block_tile<BM, BN>(g.N);
  const int thread = threadIdx.x;
  typename Config::GlobalA gA(g.A, g.lda, block.row, 0, thread);
  typename Config::template GlobalB<width> gB(g.B, g.ldb, 0, block.col, thread);
  const int m_left = left_in_tile(g.M, block.row, BM), n_left = left_in_tile(g.N, block.col, BN);

  // Starts the copies of the next tile; a tile that lies in both matrices as a `whole` needs no comparisons.
  const bool inner = m_left == BM && n_left == BN;
  const auto copy = [&](auto whole, int k_left, int stage) {
    copy_tile_async<whole.value>(
        gA, m_left, k_left, [&](int v) -> float& { return sA[stage * Config::a_size + Config::a_write(thread, v)]; });
    copy_tile_async<whole.value>(gB, k_left, n_left, [&](int v) -> float& {
      return sB[stage * Config::b_size + Config::template b_write<width>(thread, v)];
    });
    gA.advance(BK);
    gB.advance(BK * g.ldb);
  };
  // From K on there is none, but a group all the same, as each wait below counts one a tile.
  const auto start = [&](std::int64_t k0, int stage) {
    const int k_left = left_in_tile(g.K, k0, BK);
    if (inner && k_left == BK)
      copy(std::true_type(), k_left, stage);
    else if (k_left > 0)
      copy(std::false_type(), k_left, stage);
    cp_async_commit_group();
  };

  float rA[2][TM], rB[2][TN], rD[TM][TN] = {};
  const auto read = [&](int k, int stage) {
    const float* const a = sA.data + stage * Config::a_size;
    const float* const b = sB.data + stage * Config::b_size;
    read_shared<4>(rA[k % 2], [&](int i) -> const float& { return a[Config::a_read(thread, k, i)]; });
    read_shared<4>(rB[k % 2], [&](int j) -> const float& { return b[Config::b_read(thread, k, j)]; });
  };
  // Everyone's part of the next tile has come, and everyone is done with the one before it, whose place is free then.
  const auto await = [] {
    cp_async_wait_group<stages - 2>();
    __syncthreads();
  };

#pragma unroll
  for (int stage = 0; stage < stages - 1; ++stage) start(stage * BK, stage);
  await();
  int stage = 0;
  if (g.K > 0) read(0, stage);
  for (std::int64_t k0 = 0; k0 < g.K; k0 += BK) {
    const bool more = k0 + BK < g.K;
    start(k0 + (stages - 1) * BK, stage == 0 ? stages - 1 : stage - 1);
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      // The operands of the next step are on their way while those of this one are used.
      if (k + 1 < BK) {
        read(k + 1, stage);
      } else if (more) {
        if (++stage == stages) stage = 0;
        await();
        read(0, stage);
      }
      outer_product(rD, rA[k % 2], rB[k % 2]);
    }
  }
  store_tile<Config, vectorized>(g, block, thread, rD);
}

template <class Config>
Prepared prepare(const Problem& problem, const Card&) {
  const auto best = vectorizable(problem) ? kernel<Config, true> : kernel<Config, false>;
  return prepared_tiles<Config, Storage<Config>>(info, best, problem);
}

using Default = Config<128, 128, 32, 32, 64, 8, 8, 3, 2>;
using Wide = Config<128, 256, 32, 32, 128, 8, 16, 4, 1>;

template <class>
constexpr BuiltKernel built_kernels[] = {built<Default>(prepare<Default>), built<Wide>(prepare<Wide>)};

}  // namespace lapidary::inline LAPIDARY_BUILD::multistage
