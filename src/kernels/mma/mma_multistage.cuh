#pragma once
#include "kernels/mma/mma_swizzled.cuh"
#include "tile/async_copy.hpp"
#include "tile/raster.hpp"

namespace lapidary::inline LAPIDARY_BUILD::mma_multistage {

constexpr RungInfo info = {
    .name = "mma_multistage",
    .parent = "mma_swizzled",
    .idea = "cp.async, stages in flight, and the largest warp tiles",
    .change =
        "Tiles pass by the registers, three stages ahead, their copies spread over the steps of k; a warp has 64 x 64 of "
        "128 x 256 results, and loads fragments a step ahead of their use",
    .why =
        "Memory has three tiles' time to answer and shared memory a step's. 64 x 64 results read a third less of shared "
        "memory for each product than 64 x 32, and 128 x 256 a quarter less of L2 than 128 x 128",
    .counter =
        "async_copy takes the place of global_load and of shared_store; shared_load: two thirds of the wavefronts, none "
        "in excess; global_store: a quarter of the requests, as lanes trade their pairs for 8 neighbours",
    .cost =
        "One block a multiprocessor, for 128 registers of a thread are sums: nobody multiplies while they are stored. "
        "And mma.sync, which on Hopper feeds tensor cores at 64 % of their rate",
    .exercise = "`lapidary explain mma_multistage --tile 128x128x32`: two blocks fit. Which moves more bytes from L2?",
    .architecture = 80,
};

constexpr Order by_row = Order::row_major, by_column = Order::column_major;
/// `stages` tiles of a_size and b_size elements each; a warp has 64 x 64 results. Blocks walk 2048 rows of D at a time.
template <int BM, int BN, int BK, int stages_, class T, class R, Order a_order = by_row, Order b_order = by_row>
struct Config : mma_tiles::Config<BM, BN, BK, 64, 64, T, R, mma_swizzled::Swizzled, a_order, b_order> {
  static constexpr int stages = stages_, group = 2048 / BM, a_size = Config::a.cosize(), b_size = Config::b.cosize();
  using Walk = GroupedTiles<group>;
};

template <class T, class R, Order a_order = by_row, Order b_order = by_row>
using Default = Config<128, 256, 32, 4, T, R, a_order, b_order>;
// Of other widths ldmatrix transposes nothing: A and B lie along k.
template <class T, class R = float>
using OtherWidth = Config<128, 256, 64 / sizeof(T), 4, T, R, by_row, by_column>;
using mma_swizzled::conflict_free;
static_assert(conflict_free<Default<bf16, bf16>> && conflict_free<Default<bf16, bf16, by_column, by_column>>);
static_assert(conflict_free<OtherWidth<tf32>> && conflict_free<OtherWidth<std::int8_t>>);

template <class Config>
struct Storage {
  // (stages, BM, BK) and (stages, BK, BN); of column-major A (stages, BK, BM), of column-major B (stages, BN, BK).
  SharedArray<typename Config::Element, Config::stages * Config::a_size, 128> a;
  SharedArray<typename Config::Element, Config::stages * Config::b_size, 128> b;
};

template <class Config, bool vectorized, class T = typename Config::Element, class R = typename Config::Result>
__global__ void __launch_bounds__(Config::threads) kernel(const Gemm<T, R> g) {
  using Form = typename Config::Form;
  constexpr int BK = Config::BK, down = Config::down, across = Config::across, stages = Config::stages;
  constexpr int steps = BK / Form::K;
  auto& [sA, sB] = shared_storage<Storage<Config>>();
  const RowCol<std::int64_t> block = block_tile_grouped<Config::BM, Config::BN, Config::group>(g.M, g.N);
  const int thread = threadIdx.x;
  typename Config::GlobalA gA(g.A, g.lda, block.row, thread);
  typename Config::GlobalB gB(g.B, g.ldb, block.col, thread);
  const int m_left = left_in_tile(g.M, block.row, Config::BM), n_left = left_in_tile(g.N, block.col, Config::BN);

  // Starts a part of the copies of the tile from k0 on; from K on they are zeros that nobody reads.
  const auto start = [&](int part, std::int64_t k0, int stage) {
    const int k_left = left_in_tile(g.K, k0, BK);
    copy_part_async<vectorized, steps>(
        gA, part, m_left, k_left, [&](int v) -> T& { return sA[stage * Config::a_size + Config::a_write(thread, v)]; });
    copy_part_async<vectorized, steps>(
        gB, part, n_left, k_left, [&](int v) -> T& { return sB[stage * Config::b_size + Config::b_write(thread, v)]; });
    if (part < steps - 1) return;
    gA.advance(g.lda);
    gB.advance(g.ldb);
    cp_async_commit_group();
  };
  // Everyone's part of the next tile has come, and everyone is done with the one before it, whose place is free then.
  const auto await = [] {
    cp_async_wait_group<stages - 2>();
    __syncthreads();
  };
  std::uint32_t rA[2][down][Form::a_registers], rB[2][across][Form::b_registers];  // (2, WM, K), (2, K, WN) of an mma
  const auto load = [&](int step, int stage) {
    const T *const a = &sA[stage * Config::a_size], *const b = &sB[stage * Config::b_size];
#pragma unroll
    for (int i = 0; i < down; ++i) load_a<Config>(rA[step % 2][i], &a[Config::a_read(thread, step * Form::K, i)]);
#pragma unroll
    for (int j = 0; j < across; j += 2)
      load_b<Config>(rB[step % 2][j], rB[step % 2][j + 1], &b[Config::b_read(thread, step * Form::K, j)]);
  };

#pragma unroll
  for (int stage = 0; stage < stages - 1; ++stage)
#pragma unroll
    for (int part = 0; part < steps; ++part) start(part, stage * BK, stage);
  await();
  int stage = 0, free = stages - 1;
  typename Form::D rD[down][across][Form::d_registers] = {};  // (WM, WN)
  load(0, stage);
  for (std::int64_t k0 = 0; k0 < g.K; k0 += BK) {
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      start(step, k0 + (stages - 1) * BK, free);
      if (step == steps - 1) {
        free = stage;
        stage = stage == stages - 1 ? 0 : stage + 1;
        await();
      }
      load((step + 1) % steps, stage);
#pragma unroll
      for (int i = 0; i < down; ++i)
#pragma unroll
        for (int j = 0; j < across; ++j) mma_sync<Form>(rD[i][j], rA[step % 2][i], rB[step % 2][j], rD[i][j]);
    }
  }
  store_traded_products<Config, vectorized>(g, block, thread, rD);
}

template <class Config>
Prepared prepare(const Problem& problem, const Card&) {
  const auto best = vectorizable(problem) ? kernel<Config, true> : kernel<Config, false>;
  return prepared_tiles<Config, Storage<Config>>(info, best, problem);
}
template <class Config>
constexpr auto of = [] { return built<Config>(prepare<Config>); };
template <class>
constexpr BuiltKernel built_kernels[] = {of<Default<bf16, bf16>>(),
                                         of<Config<256, 128, 64, 3, bf16, bf16>>(),
                                         of<Config<128, 256, 64, 3, bf16, bf16>>(),
                                         of<Config<128, 128, 32, 4, bf16, bf16>>(),
                                         of<Default<bf16, bf16, by_row, by_column>>(),
                                         of<Default<bf16, bf16, by_column, by_row>>(),
                                         of<Default<bf16, bf16, by_column, by_column>>(),
                                         of<Default<f16, f16>>(),
                                         of<Default<bf16, float>>(),
                                         of<Default<f16, float>>(),
                                         of<Default<f16, f16, by_row, by_column>>(),
                                         of<Default<f16, f16, by_column, by_row>>(),
                                         of<Default<f16, f16, by_column, by_column>>(),
                                         of<Default<bf16, float, by_row, by_column>>(),
                                         of<Default<f16, float, by_row, by_column>>(),
                                         of<Default<bf16, float, by_column, by_row>>(),
                                         of<Default<f16, float, by_column, by_row>>(),
                                         of<Default<bf16, float, by_column, by_column>>(),
                                         of<Default<f16, float, by_column, by_column>>(),
                                         of<OtherWidth<tf32>>(),
                                         of<OtherWidth<e4m3>>(),
                                         of<OtherWidth<std::int8_t>>(),
                                         of<OtherWidth<std::int8_t, std::int32_t>>()};

}  // namespace lapidary::inline LAPIDARY_BUILD::mma_multistage
