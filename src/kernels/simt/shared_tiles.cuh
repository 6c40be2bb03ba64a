#pragma once
#include "device/shared.hpp"
#include "kernels/built.hpp"
#include "layout/access.hpp"
#include "layout/layout.hpp"
#include "tile/epilogue.hpp"
#include "tile/global_tile.hpp"

namespace lapidary::inline LAPIDARY_BUILD::shared_tiles {

constexpr RungInfo info = {
    .name = "shared_tiles",
    .parent = "coalesced",
    .idea = "square tiles of A and B through shared memory",
    .change =
        "A block first copies a BM x BK tile of A and a BK x BN tile of B into shared memory, zeros past the "
        "edges, and multiplies from there",
    .why = "Each element that is loaded is used by a whole row or column of the block: BN or BM times instead of once",
    .counter =
        "global_load: 1/BN of the requests for A and 1/BM for B; shared_load takes their place, 2 K for each "
        "result, and is conflict-free",
    .cost =
        "Two barriers for each BK of the sum; two shared loads for each multiply-add, so shared memory is the "
        "limit",
    .exercise =
        "`lapidary explain shared_tiles --tile 32x32x8`, and 32x32x64: which figures move with BK, and which do not?",
    .architecture = 80,
};

template <int BM, int BN, int BK>
struct Config {
  using Element = float;
  static constexpr TileShape tile = {BM, BN, BK};
  static constexpr int threads = BM * BN;
  static constexpr Layout a = row_major(BM, BK), b = row_major(BK, BN);

  // A thread computes the element of D at its own place in the tile.
  LAPIDARY_HD static constexpr int row(int thread) { return thread / BN; }
  LAPIDARY_HD static constexpr int col(int thread) { return thread % BN; }
  LAPIDARY_HD static constexpr int a_read(int thread, int k) { return offset_in<a>(row(thread), k); }
  LAPIDARY_HD static constexpr int b_read(int thread, int k) { return offset_in<b>(k, col(thread)); }
  static_assert(wavefronts(warp_access<float>([](int lane) { return a_read(lane, 0); })) == 1, "A: one word a row");
  static_assert(wavefronts(warp_access<float>([](int lane) { return b_read(lane, 0); })) == 1, "B: neighbours");
};

template <class Config>
struct Storage {
  SharedArray<float, Config::a.cosize()> a;  // (BM, BK)
  SharedArray<float, Config::b.cosize()> b;  // (BK, BN)
};

template <class Config>
__global__ void __launch_bounds__(Config::threads) kernel(const Gemm<float> g) {
  constexpr int BM = Config::tile.m, BN = Config::tile.n, BK = Config::tile.k;
  constexpr Layout a = Config::a, b = Config::b;
  auto& [sA, sB] = shared_storage<Storage<Config>>();
  const RowCol<std::int64_t> block = block_tile<BM, BN>(g.N);
  const int thread = threadIdx.x;
  GlobalTile<float, BM, BK, Config::threads> gA(g.A, g.lda, block.row, 0, thread);
  GlobalTile<float, BK, BN, Config::threads> gB(g.B, g.ldb, 0, block.col, thread);
  const int m_left = left_in_tile(g.M, block.row, BM), n_left = left_in_tile(g.N, block.col, BN);
  float sum = 0;
  for (std::int64_t k0 = 0; k0 < g.K; k0 += BK) {
    const int k_left = left_in_tile(g.K, k0, BK);
    copy_tile(gA, thread, m_left, k_left, BK, [&](int i, int k) -> float& { return sA[a(i, k)]; });
    copy_tile(gB, thread, k_left, n_left, BK * g.ldb, [&](int k, int j) -> float& { return sB[b(k, j)]; });
    __syncthreads();
#pragma unroll
    for (int k = 0; k < BK; ++k) sum = fmaf(sA[Config::a_read(thread, k)], sB[Config::b_read(thread, k)], sum);
    __syncthreads();
  }
  store_result(g, block.row + Config::row(thread), block.col + Config::col(thread), sum);
}

template <class Config>
Prepared prepare(const Problem& problem, const Card&) {
  return prepared_tiles<Config, Storage<Config>>(info, kernel<Config>, problem);
}

template <class>
constexpr BuiltKernel built_kernels[] = {
    built<Config<32, 32, 32>>(prepare<Config<32, 32, 32>>), built<Config<16, 16, 16>>(prepare<Config<16, 16, 16>>),
    built<Config<32, 32, 8>>(prepare<Config<32, 32, 8>>), built<Config<32, 32, 64>>(prepare<Config<32, 32, 64>>)};

}  // namespace lapidary::inline LAPIDARY_BUILD::shared_tiles
