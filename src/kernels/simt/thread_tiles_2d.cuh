#pragma once
#include "kernels/simt/shared_tiles.cuh"
#include "tile/outer_product.hpp"

namespace lapidary::inline LAPIDARY_BUILD::thread_tiles_2d {

constexpr RungInfo info = {
    .name = "thread_tiles_2d",
    .parent = "thread_tiles_1d",
    .idea = "8 x 8 results a thread, by outer products",
    .change =
        "A thread's results form a TM x TN square: it reads TM elements of A and TN of B and multiplies all pairs, "
        "walking the rows of the square there and back, so that the register reuse cache serves",
    .why = "Loads grow with the sides of the square and multiply-adds with its area: 16 for 64, 0.25 each",
    .counter =
        "shared_load: instructions fall from 1.125 to 0.25 for each multiply-add. Each one of B is a 4-way "
        "bank conflict, though: 16 distinct words, 8 apart, in 4 banks; of A a 2-way one",
    .cost = "64 accumulators, 16 operands: about a hundred registers a thread, so few threads fit a multiprocessor",
    .exercise =
        "`lapidary banks \"f32 8x128\" \"read 32 [0, lane % 16 * 8]\"`: which lanes meet? Give them other columns "
        "until none do.",
    .architecture = 80,
};

template <int BM, int BN, int BK, int TM_, int TN_>
struct Config {
  using Element = float;
  static constexpr int TM = TM_, TN = TN_;
  static constexpr TileShape tile = {BM, BN, BK};
  static constexpr int threads = BM / TM * (BN / TN);
  static constexpr Layout a = row_major(BM, BK), b = row_major(BK, BN);

  LAPIDARY_HD static constexpr int row(int thread, int i) { return thread / (BN / TN) * TM + i; }
  LAPIDARY_HD static constexpr int col(int thread, int j) { return thread % (BN / TN) * TN + j; }
  LAPIDARY_HD static constexpr int a_read(int thread, int i, int k) { return offset_in<a>(row(thread, i), k); }
  LAPIDARY_HD static constexpr int b_read(int thread, int k, int j) { return offset_in<b>(k, col(thread, j)); }
  static_assert(wavefronts(warp_access<float>([](int lane) { return a_read(lane, 0, 0); })) == 2, "a known conflict");
  static_assert(wavefronts(warp_access<float>([](int lane) { return b_read(lane, 0, 0); })) == 4, "a known conflict");
};

using shared_tiles::Storage;

template <class Config>
__global__ void __launch_bounds__(Config::threads) kernel(const Gemm<float> g) {
  constexpr int BM = Config::tile.m, BN = Config::tile.n, BK = Config::tile.k, TM = Config::TM, TN = Config::TN;
  constexpr Layout a = Config::a, b = Config::b;
  auto& [sA, sB] = shared_storage<Storage<Config>>();
  const RowCol<std::int64_t> block = block_tile<BM, BN>(g.N);
  const int thread = threadIdx.x;
  GlobalTile<float, BM, BK, Config::threads> gA(g.A, g.lda, block.row, 0, thread);
  GlobalTile<float, BK, BN, Config::threads> gB(g.B, g.ldb, 0, block.col, thread);
  const int m_left = left_in_tile(g.M, block.row, BM), n_left = left_in_tile(g.N, block.col, BN);
  float rD[TM][TN] = {};
  for (std::int64_t k0 = 0; k0 < g.K; k0 += BK) {
    const int k_left = left_in_tile(g.K, k0, BK);
    copy_tile(gA, thread, m_left, k_left, BK, [&](int i, int k) -> float& { return sA[a(i, k)]; });
    copy_tile(gB, thread, k_left, n_left, BK * g.ldb, [&](int k, int j) -> float& { return sB[b(k, j)]; });
    __syncthreads();
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      float rA[TM], rB[TN];
#pragma unroll
      for (int i = 0; i < TM; ++i) rA[i] = sA[Config::a_read(thread, i, k)];
#pragma unroll
      for (int j = 0; j < TN; ++j) rB[j] = sB[Config::b_read(thread, k, j)];
      outer_product(rD, rA, rB);
    }
    __syncthreads();
  }
  store_tile<Config, false>(g, block, thread, rD);
}

template <class Config>
Prepared prepare(const Problem& problem, const Card&) {
  return prepared_tiles<Config, Storage<Config>>(info, kernel<Config>, problem);
}

template <class>
constexpr BuiltKernel built_kernels[] = {built<Config<128, 128, 8, 8, 8>>(prepare<Config<128, 128, 8, 8, 8>>)};

}  // namespace lapidary::inline LAPIDARY_BUILD::thread_tiles_2d
