#pragma once
#include "kernels/simt/shared_tiles.cuh"

namespace lapidary::inline LAPIDARY_BUILD::thread_tiles_1d {

constexpr RungInfo info = {
    .name = "thread_tiles_1d",
    .parent = "shared_tiles",
    .idea = "8 results a thread, in one column",
    .change = "A thread computes TM results below each other, and reads an element of B once for all of them",
    .why = "A value in a register costs nothing to use again: TM + 1 shared loads now feed TM multiply-adds",
    .counter = "shared_load: instructions fall from 2 to (TM + 1) / TM, 1.125, for each multiply-add",
    .cost =
        "TM accumulators a thread, so fewer threads do the work, and each of them needs independent instructions "
        "to hide latencies that more threads hid before",
    .exercise =
        "`lapidary explain thread_tiles_1d --as-compiled`: how many loads for each multiply-add did the compiler leave of "
        "the source's 1.125, and how?",
    .architecture = 80,
};

/// Which of the two inner loops is the outer one: that over the sum, or that over a thread's results.
enum class Outer { k, results };

template <int BM, int BN, int BK, int TM, Outer outer_ = Outer::k>
struct Config {
  using Element = float;
  static constexpr TileShape tile = {BM, BN, BK};
  static constexpr int threads = BM * BN / TM, results = TM;
  static constexpr Outer outer = outer_;
  static constexpr Layout a = row_major(BM, BK), b = row_major(BK, BN);

  LAPIDARY_HD static constexpr int row(int thread) { return thread / BN * TM; }
  LAPIDARY_HD static constexpr int col(int thread) { return thread % BN; }
  LAPIDARY_HD static constexpr int a_read(int thread, int i, int k) { return offset_in<a>(row(thread) + i, k); }
  LAPIDARY_HD static constexpr int b_read(int thread, int k) { return offset_in<b>(k, col(thread)); }
  static_assert(wavefronts(warp_access<float>([](int lane) { return a_read(lane, 0, 0); })) == 1,
                "A: one word for all");
  static_assert(wavefronts(warp_access<float>([](int lane) { return b_read(lane, 0); })) == 1, "B: neighbours");
};

using shared_tiles::Storage;

// Three blocks fit a multiprocessor: left alone, the compiler takes registers for loads ahead until only one does.
template <class Config>
__global__ void __launch_bounds__(Config::threads, 3) kernel(const Gemm<float> g) {
  constexpr int BM = Config::tile.m, BN = Config::tile.n, BK = Config::tile.k, TM = Config::results;
  constexpr Layout a = Config::a, b = Config::b;
  auto& [sA, sB] = shared_storage<Storage<Config>>();
  const RowCol<std::int64_t> block = block_tile<BM, BN>(g.N);
  const int thread = threadIdx.x;
  GlobalTile<float, BM, BK, Config::threads> gA(g.A, g.lda, block.row, 0, thread);
  GlobalTile<float, BK, BN, Config::threads> gB(g.B, g.ldb, 0, block.col, thread);
  const int m_left = left_in_tile(g.M, block.row, BM), n_left = left_in_tile(g.N, block.col, BN);
  float rD[TM] = {};
  for (std::int64_t k0 = 0; k0 < g.K; k0 += BK) {
    const int k_left = left_in_tile(g.K, k0, BK);
    copy_tile(gA, thread, m_left, k_left, BK, [&](int i, int k) -> float& { return sA[a(i, k)]; });
    copy_tile(gB, thread, k_left, n_left, BK * g.ldb, [&](int k, int j) -> float& { return sB[b(k, j)]; });
    __syncthreads();
    if constexpr (Config::outer == Outer::k) {
#pragma unroll
      for (int k = 0; k < BK; ++k) {
        const float rB = sB[Config::b_read(thread, k)];
#pragma unroll
        for (int i = 0; i < TM; ++i) rD[i] = fmaf(sA[Config::a_read(thread, i, k)], rB, rD[i]);
      }
    } else {
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int k = 0; k < BK; ++k)
          rD[i] = fmaf(sA[Config::a_read(thread, i, k)], sB[Config::b_read(thread, k)], rD[i]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < TM; ++i)
    store_result(g, block.row + Config::row(thread) + i, block.col + Config::col(thread), rD[i]);
}

template <class Config, const RungInfo& rung = info>
Prepared prepare(const Problem& problem, const Card&) {
  return prepared_tiles<Config, Storage<Config>>(rung, kernel<Config>, problem);
}

template <class>
constexpr BuiltKernel built_kernels[] = {built<Config<64, 64, 8, 8>>(prepare<Config<64, 64, 8, 8>>),
                                         built<Config<64, 64, 16, 8>>(prepare<Config<64, 64, 16, 8>>)};

}  // namespace lapidary::inline LAPIDARY_BUILD::thread_tiles_1d
