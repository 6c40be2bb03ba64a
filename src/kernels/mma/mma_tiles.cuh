#pragma once
#include "kernels/mma/wmma.cuh"
#include "tile/mma_tile.hpp"

namespace lapidary::inline LAPIDARY_BUILD::mma_tiles {

constexpr RungInfo info = {
    .name = "mma_tiles",
    .parent = "wmma",
    .idea = "tensor cores: ldmatrix and mma.sync",
    .change =
        "Instructions by name: ldmatrix deals 8 x 8 matrices out to the lanes, mma.sync multiplies 16 x 16 of A by "
        "16 x 8 of B, and a lane knows which results it has",
    .why =
        "Each row of a matrix has an address of its own, which padding or a swizzle may choose; and results go from "
        "registers to D",
    .counter =
        "shared_load and shared_store lose the results, 512 and 1024 of them at 256; ldmatrix stays at 4 times the "
        "minimum for A and 8 times for B. global_store: 4 times the requests, as a lane has two neighbours and not 8",
    .cost =
        "Rows of 64 and of 256 bytes without padding: the eight rows of a matrix meet in eight of the 32 banks, or in "
        "four of them",
    .exercise =
        "`lapidary banks mma_tiles`: the rows of a matrix share banks. By how many elements must a row be padded "
        "for none to meet?",
    .architecture = 80,
};

template <int BM, int BN, int BK, int WM, int WN, class T, class R, class Arrangement, Order a_order, Order b_order,
          int form_k = 32 / sizeof(T), class ArrangementB = Arrangement>
struct Config : wmma::Config<BM, BN, BK, WM, WN, T, R, Arrangement, a_order, b_order, ArrangementB>,
                MmaTile<Mma<T, T, SumOf<T>, 16, 8, form_k>, BN, WM, WN, a_order, b_order> {
  using Parent = wmma::Config<BM, BN, BK, WM, WN, T, R, Arrangement, a_order, b_order, ArrangementB>;
  LAPIDARY_HD static constexpr int a_read(int thread, int k, int i) {
    const RowCol<int> at = Config::a_row(thread);
    return Parent::GlobalA::template at<Parent::a>(at.row, at.col, i * Config::Form::M, k);
  }
  LAPIDARY_HD static constexpr int b_read(int thread, int k, int j) {
    const RowCol<int> at = Config::b_row(thread);
    return Parent::GlobalB::template at<Parent::b>(at.col, at.row, j * Config::Form::N, k);
  }
};

template <class T, class R, Order a_order = Order::row_major, Order b_order = Order::row_major>
using Default = Config<128, 128, 32, 64, 32, T, R, wmma::Plain, a_order, b_order>;
using Bf16 = Default<bf16, bf16>;
static_assert(wavefronts(warp_access<bf16, 8>([](int lane) { return Bf16::a_read(lane, 0, 0); })) == 16, "a conflict");
static_assert(wavefronts(warp_access<bf16, 8>([](int lane) { return Bf16::b_read(lane, 0, 0); })) == 32, "a conflict");

template <class Config>
struct Storage {
  SharedArray<typename Config::Element, Config::a.cosize()> a;  // (BM, BK), of column-major A (BK, BM)
  SharedArray<typename Config::Element, Config::b.cosize()> b;  // (BK, BN), of column-major B (BN, BK)
};

template <class Config, bool vectorized, class T = typename Config::Element, class R = typename Config::Result>
__global__ void __launch_bounds__(Config::threads) kernel(const Gemm<T, R> g) {
  using Form = typename Config::Form;
  constexpr int BK = Config::BK, down = Config::down, across = Config::across;
  auto& [sA, sB] = shared_storage<Storage<Config>>();
  const RowCol<std::int64_t> block = block_tile<Config::BM, Config::BN>(g.N);
  const int thread = threadIdx.x;
  typename Config::GlobalA gA(g.A, g.lda, block.row, thread);
  typename Config::GlobalB gB(g.B, g.ldb, block.col, thread);
  const int m_left = left_in_tile(g.M, block.row, Config::BM), n_left = left_in_tile(g.N, block.col, Config::BN);
  float rD[down][across][Form::d_registers] = {};  // (WM, WN)
  for (std::int64_t k0 = 0; k0 < g.K; k0 += BK) {
    const int k_left = left_in_tile(g.K, k0, BK);
#pragma unroll
    for (int v = 0; v < gA.count; ++v) {
      store_vector<8>(sA[Config::a_write(thread, v)], gA.template load_vector<vectorized>(v, m_left, k_left).element);
      store_vector<8>(sB[Config::b_write(thread, v)], gB.template load_vector<vectorized>(v, n_left, k_left).element);
    }
    gA.advance(g.lda);
    gB.advance(g.ldb);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < BK; k += Form::K) {
      std::uint32_t rA[down][Form::a_registers], rB[across][Form::b_registers];  // (WM, K), (K, WN) of an mma
#pragma unroll
      for (int i = 0; i < down; ++i) load_a<Config>(rA[i], &sA[Config::a_read(thread, k, i)]);
#pragma unroll
      for (int j = 0; j < across; j += 2) load_b<Config>(rB[j], rB[j + 1], &sB[Config::b_read(thread, k, j)]);
#pragma unroll
      for (int i = 0; i < down; ++i)
#pragma unroll
        for (int j = 0; j < across; ++j) mma_sync<Form>(rD[i][j], rA[i], rB[j], rD[i][j]);
    }
    __syncthreads();
  }
  store_products<Config, vectorized>(g, block, thread, rD);
}

template <class Config, const RungInfo& rung = info>
Prepared prepare(const Problem& problem, const Card&) {
  const auto best = vectorizable(problem) ? kernel<Config, true> : kernel<Config, false>;
  return prepared_tiles<Config, Storage<Config>>(rung, best, problem);
}

template <class Config>
constexpr BuiltKernel plain() {
  return built<Config>(prepare<Config>);
}
template <class>
constexpr BuiltKernel built_kernels[] = {
    plain<Default<bf16, bf16>>(),
    plain<Default<f16, f16>>(),
    plain<Default<bf16, float>>(),
    plain<Default<f16, float>>(),
    plain<Default<bf16, bf16, Order::row_major, Order::column_major>>(),
    plain<Default<bf16, bf16, Order::column_major, Order::row_major>>(),
    plain<Default<bf16, bf16, Order::column_major, Order::column_major>>(),
};

}  // namespace lapidary::inline LAPIDARY_BUILD::mma_tiles
