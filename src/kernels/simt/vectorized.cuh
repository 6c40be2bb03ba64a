#pragma once
#include "device/shared.hpp"
#include "kernels/built.hpp"
#include "layout/access.hpp"
#include "layout/layout.hpp"
#include "tile/epilogue.hpp"
#include "tile/global_tile.hpp"
#include "tile/outer_product.hpp"

namespace lapidary::inline LAPIDARY_BUILD::vectorized {

constexpr RungInfo info = {
    .name = "vectorized",
    .parent = "thread_tiles_2d",
    .idea = "128-bit loads and stores, A transposed on the way in",
    .change =
        "Every access to global memory and every read of shared memory moves four elements; A's tile is stored "
        "[k][m], so that a thread's column of A lies in a row of it",
    .why = "A quarter of the instructions issue for the same bytes, which leaves issue slots to the multiply-adds",
    .counter =
        "shared_load: instructions fall from 16 to 4 for 64 multiply-adds. B's reads still take 8 wavefronts "
        "where 4 would do: threads are 8 elements apart, so that the 8 lanes that are served at a time want half of the "
        "banks, and each of them twice",
    .cost =
        "Transposing splits A's store in four, each a 2-way conflict; problems with odd sizes or addresses take a "
        "slower path",
    .exercise =
        "`lapidary banks \"f32 8x128\" \"read 128 [0, lane % 16 * 8]\"`: how far apart would lanes have to be for 4 "
        "wavefronts?",
    .architecture = 80,
};

/// What the kernel below asks of a configuration is all of this; its layouts and the places of a thread's results are
/// what later rungs change.
template <int BM, int BN, int BK>
struct Config {
  using Element = float;
  static constexpr int TM = 8, TN = 8;
  static constexpr TileShape tile = {BM, BN, BK};
  static constexpr int threads = BM / TM * (BN / TN);
  static constexpr int blocks = 2;  // that a multiprocessor should hold: 128 registers a thread
  static constexpr Layout a = row_major(BK, BM), b = row_major(BK, BN);
  static constexpr int b_width = 4;  // elements of an access to B's tile

  // What a thread brings, by vectors: of A along k, of B along the columns.
  using GlobalA = GlobalTile<float, BM, BK, threads, 4>;
  using GlobalB = GlobalTile<float, BK, BN, threads, 4>;
  LAPIDARY_HD static constexpr int a_write(int thread, int v, int e) {
    return offset_in<a>(GlobalA::element(thread, v).col + e, GlobalA::element(thread, v).row);
  }
  LAPIDARY_HD static constexpr int b_write(int thread, int v, int e) {
    return offset_in<b>(GlobalB::element(thread, v).row, GlobalB::element(thread, v).col + e);
  }
  static_assert(wavefronts(warp_access<float>([](int lane) { return a_write(lane, 0, 0); })) == BK / 4,
                "a known conflict");
  static_assert(wavefronts(warp_access<float, 4>([](int lane) { return b_write(lane, 0, 0); })) == 4, "the minimum");

  // A thread's results are an 8 x 8 square.
  LAPIDARY_HD static constexpr int row(int thread, int i) { return thread / (BN / TN) * TM + i; }
  LAPIDARY_HD static constexpr int col(int thread, int j) { return thread % (BN / TN) * TN + j; }
  LAPIDARY_HD static constexpr int a_read(int thread, int k, int i) { return offset_in<a>(k, row(thread, i)); }
  LAPIDARY_HD static constexpr int b_read(int thread, int k, int j) { return offset_in<b>(k, col(thread, j)); }
  static_assert(wavefronts(warp_access<float, 4>([](int lane) { return a_read(lane, 0, 0); })) == 2, "the minimum");
  static_assert(wavefronts(warp_access<float, 4>([](int lane) { return b_read(lane, 0, 0); })) == 8,
                "a known conflict");
};

template <class Config>
struct Storage {
  SharedArray<float, Config::a.cosize()> a;  // (BK, BM)
  SharedArray<float, Config::b.cosize()> b;  // (BK, BN)
};

template <class Config, bool vectorized>
__global__ void __launch_bounds__(Config::threads, Config::blocks) kernel(const Gemm<float> g) {
  constexpr int BM = Config::tile.m, BN = Config::tile.n, BK = Config::tile.k, TM = Config::TM, TN = Config::TN;
  auto& [sA, sB] = shared_storage<Storage<Config>>();
  const RowCol<std::int64_t> block = block_tile<BM, BN>(g.N);
  const int thread = threadIdx.x;
  typename Config::GlobalA gA(g.A, g.lda, block.row, 0, thread);
  typename Config::GlobalB gB(g.B, g.ldb, 0, block.col, thread);
  const int m_left = left_in_tile(g.M, block.row, BM), n_left = left_in_tile(g.N, block.col, BN);
  float rD[TM][TN] = {};
  for (std::int64_t k0 = 0; k0 < g.K; k0 += BK) {
    const int k_left = left_in_tile(g.K, k0, BK);
#pragma unroll
    for (int v = 0; v < gA.count; ++v)
      write_shared<1>(gA.template load_vector<vectorized>(v, m_left, k_left),
                      [&](int e) -> float& { return sA[Config::a_write(thread, v, e)]; });
#pragma unroll
    for (int v = 0; v < gB.count; ++v)
      write_shared<Config::b_width>(gB.template load_vector<vectorized>(v, k_left, n_left),
                                    [&](int e) -> float& { return sB[Config::b_write(thread, v, e)]; });
    gA.advance(BK);
    gB.advance(BK * g.ldb);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      float rA[TM], rB[TN];
      read_shared<4>(rA, [&](int i) -> float& { return sA[Config::a_read(thread, k, i)]; });
      read_shared<Config::b_width>(rB, [&](int j) -> float& { return sB[Config::b_read(thread, k, j)]; });
      outer_product(rD, rA, rB);
    }
    __syncthreads();
  }
  store_tile<Config, vectorized>(g, block, thread, rD);
}

template <class Config, const RungInfo& rung = info>
Prepared prepare(const Problem& problem, const Card&) {
  const auto best = vectorizable(problem) ? kernel<Config, true> : kernel<Config, false>;
  return prepared_tiles<Config, Storage<Config>>(rung, best, problem);
}

template <class>
constexpr BuiltKernel built_kernels[] = {built<Config<128, 128, 8>>(prepare<Config<128, 128, 8>>),
                                         built<Config<128, 128, 16>>(prepare<Config<128, 128, 16>>)};

}  // namespace lapidary::inline LAPIDARY_BUILD::vectorized
