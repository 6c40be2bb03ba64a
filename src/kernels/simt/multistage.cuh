#pragma once
#include "kernels/simt/double_buffered.cuh"
#include "tile/async_operand.hpp"
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
template <int BM, int BN, int BK, int WM, int WN, int TM_, int TN_, int stages_, int blocks_,
          Order a_order_ = Order::row_major, Order b_order_ = Order::row_major>
struct Config : WarpTile<BN, WM, WN, TM_, TN_> {
  using Element = float;
  static constexpr int TM = TM_, TN = TN_, stages = stages_, blocks = blocks_;
  static constexpr Order a_order = a_order_, b_order = b_order_;
  static constexpr TileShape tile = {BM, BN, BK};
  static constexpr int threads = BM / WM * (BN / WN) * 32;
  using A = AsyncOperand<major_of_a(a_order), BM, BK, threads>;
  using B = AsyncOperand<major_of_b(b_order), BN, BK, threads>;
  static_assert(write_wavefronts<A> == (A::turned ? BK / 8 : 4), "1 for BK = 8, or the minimum");
  static_assert(write_wavefronts<B> == (B::turned ? BK / 8 : 4), "1 for BK = 8, or the minimum");

  using WarpTile<BN, WM, WN, TM_, TN_>::row, WarpTile<BN, WM, WN, TM_, TN_>::col;
  LAPIDARY_HD static constexpr int a_read(int thread, int k, int i) { return offset_in<A::layout>(k, row(thread, i)); }
  LAPIDARY_HD static constexpr int b_read(int thread, int k, int j) { return offset_in<B::layout>(k, col(thread, j)); }
  static_assert(wavefronts(warp_access<float, 4>([](int lane) { return a_read(lane, 0, 0); })) == 2, "the minimum");
  static_assert(wavefronts(warp_access<float, 4>([](int lane) { return b_read(lane, 0, 0); })) == 2, "the minimum");
};

template <class Config>
struct Storage {
  SharedArray<float, Config::stages * Config::A::size> a;  // (stages, BK, BM)
  SharedArray<float, Config::stages * Config::B::size> b;  // (stages, BK, BN)
};

/// Adds to rD the products of a block's tile from k0, a multiple of BK, to `end`. Other threads of the block may still
/// read sA and sB when it returns.
template <class Config, bool vectorized>
LAPIDARY_DEVICE void multiply(const Gemm<float>& g, const RowCol<std::int64_t>& block, std::int64_t k0,
                              std::int64_t end, float* sA, float* sB, float (&rD)[Config::TM][Config::TN]) {
  using A = typename Config::A;
  using B = typename Config::B;
  constexpr int BM = Config::tile.m, BN = Config::tile.n, BK = Config::tile.k, TM = Config::TM, TN = Config::TN;
  constexpr int stages = Config::stages, width = vectorized ? 4 : 1;
  const int thread = threadIdx.x;
  auto gA = A::template begin<width>(g.A, g.lda, block.row, k0, thread);
  auto gB = B::template begin<width>(g.B, g.ldb, block.col, k0, thread);
  const int m_left = left_in_tile(g.M, block.row, BM), n_left = left_in_tile(g.N, block.col, BN);

  // Starts the copies of the next tile; a tile that lies in both matrices as a `whole` needs no comparisons.
  const bool inner = m_left == BM && n_left == BN;
  const auto copy = [&](auto whole, int k_left, int stage) {
    A::template copy<whole.value, width>(gA, g.lda, m_left, k_left, sA + stage * A::size, thread);
    B::template copy<whole.value, width>(gB, g.ldb, n_left, k_left, sB + stage * B::size, thread);
  };
  // From `end` on there is none, but a group all the same, as each wait below counts one a tile.
  const auto start = [&](std::int64_t k, int stage) {
    const int k_left = left_in_tile(end, k, BK);
    if (inner && k_left == BK)
      copy(std::true_type(), k_left, stage);
    else if (k_left > 0)
      copy(std::false_type(), k_left, stage);
    cp_async_commit_group();
  };

  float rA[2][TM], rB[2][TN];
  const auto read = [&](int k, int stage) {
    const float* const a = sA + stage * A::size;
    const float* const b = sB + stage * B::size;
    read_shared<4>(rA[k % 2], [&](int i) -> const float& { return a[Config::a_read(thread, k, i)]; });
    read_shared<4>(rB[k % 2], [&](int j) -> const float& { return b[Config::b_read(thread, k, j)]; });
  };
  // Everyone's part of the next tile has come, and everyone is done with the one before it, whose place is free then.
  const auto await = [] {
    cp_async_wait_group<stages - 2>();
    __syncthreads();
  };

#pragma unroll
  for (int stage = 0; stage < stages - 1; ++stage) start(k0 + stage * BK, stage);
  await();
  int stage = 0;
  if (k0 < end) read(0, stage);
  for (; k0 < end; k0 += BK) {
    const bool more = k0 + BK < end;
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
}

template <class Config, bool vectorized>
__global__ void __launch_bounds__(Config::threads, Config::blocks) kernel(const Gemm<float> g) {
  auto& [sA, sB] = shared_storage<Storage<Config>>();
  const RowCol<std::int64_t> block = block_tile<Config::tile.m, Config::tile.n>(g.N);
  float rD[Config::TM][Config::TN] = {};
  multiply<Config, vectorized>(g, block, 0, g.K, sA.data, sB.data, rD);
  store_tile<Config, vectorized>(g, block, static_cast<int>(threadIdx.x), rD);
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
