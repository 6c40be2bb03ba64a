#pragma once
#include "kernels/simt/warp_tiles.cuh"

namespace lapidary::inline LAPIDARY_BUILD::double_buffered {

constexpr RungInfo info = {
    .name = "double_buffered",
    .parent = "warp_tiles",
    .idea = "the next tile is loaded while this one is used",
    .change =
        "There are two pairs of tiles in shared memory. A thread loads its part of the next tile into "
        "registers, multiplies from the one pair, and then stores what has come to the other. Warp tiles are those of "
        "the parent's 128x128x16, at both depths",
    .why =
        "The latency of global memory passes while multiply-adds issue, and one barrier a tile is enough: nobody "
        "writes what anybody still reads",
    .counter =
        "beside the same warp tiles, as at 128x128x16, no counter of memory moves; at 128x128x8, where the parent has "
        "smaller ones, a third of the wavefronts of shared reads goes with them",
    .cost =
        "Twice the shared memory, and 8 registers for what is on its way, 16 at a depth of 16: there it is slower than "
        "its parent",
    .exercise = "`lapidary check double_buffered --puzzle`: would you have seen that the barrier is missing?",
    .architecture = 80,
};

template <class Tiles>
struct Config : Tiles {
  static constexpr int stages = 2;  // pairs of tiles in shared memory
  static constexpr int a_size = Tiles::a.cosize(), b_size = Tiles::b.cosize();
};

template <class Config>
struct Storage {
  SharedArray<float, Config::stages * Config::a_size> a;  // (stages, BK, BM)
  SharedArray<float, Config::stages * Config::b_size> b;  // (stages, BK, BN)
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

  // This thread's part of the tile that is on its way.
  Vector<float, 4> next_a[gA.count], next_b[gB.count];
  const auto load = [&](std::int64_t k0) {
    const int k_left = left_in_tile(g.K, k0, BK);
#pragma unroll
    for (int v = 0; v < gA.count; ++v) next_a[v] = gA.template load_vector<vectorized>(v, m_left, k_left);
#pragma unroll
    for (int v = 0; v < gB.count; ++v) next_b[v] = gB.template load_vector<vectorized>(v, k_left, n_left);
    gA.advance(BK);
    gB.advance(BK * g.ldb);
  };
  const auto store = [&](float* a, float* b) {
#pragma unroll
    for (int v = 0; v < gA.count; ++v)
      write_shared<1>(next_a[v], [&](int e) -> float& { return a[Config::a_write(thread, v, e)]; });
#pragma unroll
    for (int v = 0; v < gB.count; ++v)
      write_shared<4>(next_b[v], [&](int e) -> float& { return b[Config::b_write(thread, v, e)]; });
  };

  float rD[TM][TN] = {};
  int buffer = 0;
  load(0);
  store(sA.data, sB.data);
  __syncthreads();
  for (std::int64_t k0 = 0; k0 < g.K; k0 += BK) {
    const bool more = k0 + BK < g.K;
    if (more) load(k0 + BK);
    const float* const a = sA.data + buffer * Config::a_size;
    const float* const b = sB.data + buffer * Config::b_size;
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      float rA[TM], rB[TN];
      read_shared<4>(rA, [&](int i) -> const float& { return a[Config::a_read(thread, k, i)]; });
      read_shared<4>(rB, [&](int j) -> const float& { return b[Config::b_read(thread, k, j)]; });
      outer_product(rD, rA, rB);
    }
    if (!more) break;
    buffer ^= 1;
    store(sA.data + buffer * Config::a_size, sB.data + buffer * Config::b_size);
    __syncthreads();
  }
  store_tile<Config, vectorized>(g, block, thread, rD);
}

template <class Config>
Prepared prepare(const Problem& problem, const Card&) {
  const auto best = vectorizable(problem) ? kernel<Config, true> : kernel<Config, false>;
  return prepared_tiles<Config, Storage<Config>>(info, best, problem);
}

using Default = Config<warp_tiles::Paired<128, 128, 8, 32, 64>>;
using Deep = Config<warp_tiles::Paired<128, 128, 16, 32, 64>>;

template <class>
constexpr BuiltKernel built_kernels[] = {built<Default>(prepare<Default>), built<Deep>(prepare<Deep>)};

}  // namespace lapidary::inline LAPIDARY_BUILD::double_buffered
