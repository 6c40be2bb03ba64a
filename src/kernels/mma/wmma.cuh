#pragma once
#include "device/shared.hpp"
#include "kernels/built.hpp"
#include "layout/access.hpp"
#include "layout/layout.hpp"
#include "ptx/wmma.hpp"
#include "tile/epilogue.hpp"
#include "tile/operand_tile.hpp"

namespace lapidary::inline LAPIDARY_BUILD::wmma {

constexpr RungInfo info = {
    .name = "wmma",
    .parent = "f16_unpadded",
    .idea = "tensor cores with the lid on: the WMMA API",
    .change = "A warp multiplies matrices of 16 x 16 as a whole, whatever each lane has of them, for 64 x 32 results",
    .why = "A product of 16 x 16 x 16 is two instructions of 2048 multiply-adds each, where a warp's FFMA is 32",
    .counter =
        "shared_load: a fifth of the instructions, an ldmatrix for each matrix, as nvcc has it for f16, at 4 times the "
        "minimum for A and 8 times for B; for bf16 it has 4 times as many loads of words, with as many wavefronts",
    .cost = "Rows have one pitch, so no swizzle; results are scaled in shared memory, where it is known which they are",
    .exercise =
        "`lapidary explain wmma --as-compiled`, then with `--type f16`: which loads 16 bytes a lane, by ldmatrix, "
        "and what does the other do? And what did the lid hide of the same in `lapidary diff wmma mma_tiles`?",
    .architecture = 80,
};

/// Lines of a tile one after the other.
struct Plain {
  template <class T>
  static constexpr Layout tile(int lines, int length) {
    return row_major(lines, length);
  }
};

/// A warp has WM x WN of a block's BM x BN results. `Arrangement` says where lines of a tile are in shared memory, of
/// A's if B's has one of its own.
template <int BM_, int BN_, int BK_, int WM_, int WN_, class T, class R, class Arrangement, Order a_order_,
          Order b_order_, class ArrangementB = Arrangement>
struct Config {
  using Element = T;
  using Result = R;
  static constexpr Order a_order = a_order_, b_order = b_order_;
  static constexpr int BM = BM_, BN = BN_, BK = BK_, WM = WM_, WN = WN_;
  static constexpr TileShape tile = {BM, BN, BK};
  static constexpr int threads = BM / WM * (BN / WN) * 32;

  using GlobalA = OperandTile<T, major_of_a(a_order), BM, BK, threads>;
  using GlobalB = OperandTile<T, major_of_b(b_order), BN, BK, threads>;
  static constexpr Layout a = Arrangement::template tile<T>(GlobalA::lines, GlobalA::length);
  static constexpr Layout b = ArrangementB::template tile<T>(GlobalB::lines, GlobalB::length);
  LAPIDARY_HD static constexpr int a_write(int thread, int v) { return GlobalA::template access<a>(thread, v); }
  LAPIDARY_HD static constexpr int b_write(int thread, int v) { return GlobalB::template access<b>(thread, v); }
  LAPIDARY_HD static constexpr int row(int thread, int i) { return thread / 32 / (BN / WN) * WM + i * 16; }
  LAPIDARY_HD static constexpr int col(int thread, int j) { return thread / 32 % (BN / WN) * WN + j * 16; }
  LAPIDARY_HD static constexpr int a_read(int thread, int k, int i) {
    return GlobalA::template at<a>(row(thread, i), k);
  }
  LAPIDARY_HD static constexpr int b_read(int thread, int k, int j) {
    return GlobalB::template at<b>(col(thread, j), k);
  }

  // Results on their way: one product a warp, of which a lane has 8 neighbours in a row.
  static constexpr Layout d = Layout({threads / 32, 16, 16}, {16 * 20, 20, 1});
  LAPIDARY_HD static constexpr RowCol<int> d_element(int thread) { return {thread % 16, thread % 32 / 16 * 8}; }
  LAPIDARY_HD static constexpr int d_read(int thread, int e) {
    return offset_in<d>(thread / 32, d_element(thread).row, d_element(thread).col + e);
  }
  static_assert(wavefronts(warp_access<float, 4>([](int lane) { return d_read(lane, 0); })) == 4, "the minimum");
};

template <class T, class R, Order a_order = Order::row_major, Order b_order = Order::row_major>
using Default = Config<128, 128, 32, 64, 32, T, R, Plain, a_order, b_order>;
using Bf16 = Default<bf16, bf16>;
static_assert(wavefronts(warp_access<bf16, 8>([](int lane) { return Bf16::a_write(lane, 0); })) == 4, "the minimum");
static_assert(wavefronts(warp_access<bf16, 8>([](int lane) { return Bf16::b_write(lane, 0); })) == 4, "the minimum");

template <class Config>
struct Storage {
  SharedArray<typename Config::Element, Config::a.cosize(), 32> a;  // (BM, BK), of column-major A (BK, BM)
  SharedArray<typename Config::Element, Config::b.cosize(), 32> b;  // (BK, BN), of column-major B (BN, BK)
  SharedArray<float, Config::d.cosize(), 32> d;                     // (warps, 16, 16)
};

template <class Config, bool vectorized, class T = typename Config::Element, class R = typename Config::Result>
__global__ void __launch_bounds__(Config::threads) kernel(const Gemm<T, R> g) {
  constexpr int BK = Config::BK, down = Config::WM / 16, across = Config::WN / 16;
  constexpr Layout a = Config::a, b = Config::b, d = Config::d;
  auto& [sA, sB, sD] = shared_storage<Storage<Config>>();
  const RowCol<std::int64_t> block = block_tile<Config::BM, Config::BN>(g.N);
  const int thread = threadIdx.x;
  typename Config::GlobalA gA(g.A, g.lda, block.row, thread);
  typename Config::GlobalB gB(g.B, g.ldb, block.col, thread);
  const int m_left = left_in_tile(g.M, block.row, Config::BM), n_left = left_in_tile(g.N, block.col, Config::BN);
  WmmaFragment<WmmaOperand::d, float> rD[down][across];  // (WM, WN)
#pragma unroll
  for (int product = 0; product < down * across; ++product) wmma_fill(rD[product / across][product % across], 0);
  for (std::int64_t k0 = 0; k0 < g.K; k0 += BK, gA.advance(g.lda), gB.advance(g.ldb)) {
    const int k_left = left_in_tile(g.K, k0, BK);
#pragma unroll
    for (int v = 0; v < gA.count; ++v) {
      store_vector<8>(sA[Config::a_write(thread, v)], gA.template load_vector<vectorized>(v, m_left, k_left).element);
      store_vector<8>(sB[Config::b_write(thread, v)], gB.template load_vector<vectorized>(v, n_left, k_left).element);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < BK; k += 16) {
      WmmaFragment<WmmaOperand::a, T, Config::a_order> rA[down];
      WmmaFragment<WmmaOperand::b, T, Config::b_order> rB[across];
#pragma unroll
      for (int i = 0; i < down; ++i) wmma_load<a.stride(0)>(rA[i], &sA[Config::a_read(thread, k, i)]);
#pragma unroll
      for (int j = 0; j < across; ++j) wmma_load<b.stride(0)>(rB[j], &sB[Config::b_read(thread, k, j)]);
#pragma unroll
      for (int i = 0; i < down; ++i)
#pragma unroll
        for (int j = 0; j < across; ++j) wmma_mma(rD[i][j], rA[i], rB[j], rD[i][j]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < down; ++i)
#pragma unroll
    for (int j = 0; j < across; ++j) {
      wmma_store<d.stride(1)>(&sD[d(thread / 32, 0, 0)], rD[i][j]);
      __syncwarp();
      float results[8];
      read_shared<4>(results, [&](int e) -> float& { return sD[Config::d_read(thread, e)]; });
      __syncwarp();
      const std::int64_t row = block.row + Config::row(thread, i) + Config::d_element(thread).row;
      const std::int64_t col = block.col + Config::col(thread, j) + Config::d_element(thread).col;
#pragma unroll
      for (int e = 0; e < 8; e += packed<R>) store_results<vectorized>(g, row, col + e, &results[e]);
    }
}

template <class Config>
Prepared prepare(const Problem& problem, const Card&) {
  const auto best = vectorizable(problem) ? kernel<Config, true> : kernel<Config, false>;
  return prepared_tiles<Config, Storage<Config>>(info, best, problem);
}

template <class>
constexpr BuiltKernel built_kernels[] = {built<Default<bf16, bf16>>(prepare<Default<bf16, bf16>>),
                                         built<Default<f16, f16>>(prepare<Default<f16, f16>>),
                                         built<Default<bf16, float>>(prepare<Default<bf16, float>>),
                                         built<Default<f16, float>>(prepare<Default<f16, float>>)};

}  // namespace lapidary::inline LAPIDARY_BUILD::wmma
