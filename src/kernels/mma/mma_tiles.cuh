#pragma once
#include "device/shared.hpp"
#include "kernels/variant.hpp"
#include "layout/access.hpp"
#include "layout/layout.hpp"
#include "tile/epilogue.hpp"
#include "tile/global_tile.hpp"
#include "tile/mma_tile.hpp"

namespace lapidary::inline LAPIDARY_BUILD::mma_tiles {

constexpr RungInfo info = {
    .name = "mma_tiles",
    .parent = "f16_unpadded",
    .idea = "tensor cores: ldmatrix and mma.sync",
    .change =
        "A warp multiplies 16 x 16 of A by 16 x 8 of B with one instruction, whose operands ldmatrix deals out to the "
        "lanes; a warp has 64 x 32 of the block's results",
    .why =
        "One mma.sync is 2048 multiply-adds, where a warp's FFMA is 32; and A need not be transposed, as lanes get "
        "the pairs along k that they want",
    .counter =
        "shared_load: a quarter of the instructions, as each ldmatrix brings what feeds several products; its "
        "wavefronts are 4 times the minimum for A and 8 times for B",
    .cost =
        "Rows of 64 and of 256 bytes without padding: the eight rows of a matrix meet in half of the banks, or in "
        "four of them",
    .exercise =
        "`lapidary banks mma_tiles`: the rows of a matrix share banks. By how many elements must a row be padded "
        "for none to meet?",
    .architecture = 80,
};

template <int BM_, int BN_, int BK_, class T, class R, int padding>
struct Config : MmaTile<Mma<T, T, float, 16, 8, 16>, BN_, 64, 32> {
  using Element = T;
  using Result = R;
  static constexpr int BM = BM_, BN = BN_, BK = BK_;
  static constexpr TileShape tile = {BM, BN, BK};
  static constexpr int threads = BM / 64 * (BN / 32) * 32;
  static constexpr Layout a = Layout({BM, BK}, {BK + padding, 1}), b = Layout({BK, BN}, {BN + padding, 1});

  using GlobalA = GlobalTile<T, BM, BK, threads, 8>;
  using GlobalB = GlobalTile<T, BK, BN, threads, 8>;
  LAPIDARY_HD static constexpr int a_write(int thread, int v) {
    return offset_in<a>(GlobalA::element(thread, v).row, GlobalA::element(thread, v).col);
  }
  LAPIDARY_HD static constexpr int b_write(int thread, int v) {
    return offset_in<b>(GlobalB::element(thread, v).row, GlobalB::element(thread, v).col);
  }
  LAPIDARY_HD static constexpr int a_read(int thread, int k, int i) {
    const FragmentElement at = Config::a_row(thread, i);
    return offset_in<a>(at.row, k + at.col);
  }
  LAPIDARY_HD static constexpr int b_read(int thread, int k, int j) {
    const FragmentElement at = Config::b_row(thread, j);
    return offset_in<b>(k + at.row, at.col);
  }
};

using Plain = Config<128, 128, 32, bf16, bf16, 0>;
static_assert(wavefronts(warp_access<bf16, 8>([](int lane) { return Plain::a_write(lane, 0); })) == 4, "the minimum");
static_assert(wavefronts(warp_access<bf16, 8>([](int lane) { return Plain::b_write(lane, 0); })) == 4, "the minimum");
static_assert(wavefronts(warp_access<bf16, 8>([](int lane) { return Plain::a_read(lane, 0, 0); })) == 16, "a conflict");
static_assert(wavefronts(warp_access<bf16, 8>([](int lane) { return Plain::b_read(lane, 0, 0); })) == 32, "a conflict");

template <class Config>
struct Storage {
  SharedArray<typename Config::Element, Config::a.cosize()> a;
  SharedArray<typename Config::Element, Config::b.cosize()> b;
};

template <class Config, bool vectorized, class T = typename Config::Element, class R = typename Config::Result>
__global__ void __launch_bounds__(Config::threads) kernel(const Gemm<T, R> g) {
  using Form = typename Config::Form;
  constexpr int BK = Config::BK, down = Config::down, across = Config::across;
  auto& [sA, sB] = shared_storage<Storage<Config>>();
  const TileOrigin block = block_tile<Config::BM, Config::BN>(g.N);
  const int thread = threadIdx.x;
  typename Config::GlobalA gA(g.A, g.lda, block.row, 0, thread);
  typename Config::GlobalB gB(g.B, g.ldb, 0, block.col, thread);
  const int m_left = left_in_tile(g.M, block.row, Config::BM), n_left = left_in_tile(g.N, block.col, Config::BN);
  float rD[down][across][Form::d_registers] = {};
  for (std::int64_t k0 = 0; k0 < g.K; k0 += BK) {
    const int k_left = left_in_tile(g.K, k0, BK);
#pragma unroll
    for (int v = 0; v < gA.count; ++v) {
      store_vector<8>(sA[Config::a_write(thread, v)], gA.template load_vector<vectorized>(v, m_left, k_left).element);
      store_vector<8>(sB[Config::b_write(thread, v)], gB.template load_vector<vectorized>(v, k_left, n_left).element);
    }
    gA.advance(BK);
    gB.advance(BK * g.ldb);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < BK; k += Form::K) {
      std::uint32_t rA[down][Form::a_registers], rB[across][Form::b_registers];
#pragma unroll
      for (int i = 0; i < down; ++i) ldmatrix(rA[i], &sA[Config::a_read(thread, k, i)]);
#pragma unroll
      for (int j = 0; j < across; j += 2) load_b(rB[j], rB[j + 1], &sB[Config::b_read(thread, k, j)]);
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
void launch(const Stream& stream, const GemmProblem& problem) {
  const auto g = typed<typename Config::Element, typename Config::Result>(problem);
  const auto best = vectorizable(g) ? kernel<Config, true> : kernel<Config, false>;
  launch_tiles<Config, Storage<Config>>(stream, rung, best, g);
}

template <class T, class R>
constexpr Variant plain = variant<Config<128, 128, 32, T, R, 0>>(launch<Config<128, 128, 32, T, R, 0>>);
template <class>
constexpr Variant variants[] = {plain<bf16, bf16>, plain<f16, f16>, plain<bf16, float>, plain<f16, float>};

}  // namespace lapidary::inline LAPIDARY_BUILD::mma_tiles
