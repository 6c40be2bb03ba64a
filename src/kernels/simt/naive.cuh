#pragma once
#include "kernels/built.hpp"
#include "tile/epilogue.hpp"
#include "tile/grid.hpp"

namespace lapidary::inline LAPIDARY_BUILD::naive {

constexpr RungInfo info = {
    .name = "naive",
    .parent = "",
    .idea = "one thread a result, threadIdx.x walks the rows",
    .change = "The sum that defines the product, written as one thread for each element of D",
    .why =
        "It is the simplest kernel that is right, and what everything after it is measured against. Who maps "
        "threadIdx.x to columns from the start has the next rung, coalesced, and often calls that one naive",
    .counter =
        "global_load: lanes of a warp read one column of A, 32 rows apart, so a request costs 32 sectors for "
        "128 useful bytes, and that of B, one word for all, costs one: 16.5 sectors a request",
    .cost = "2 K loads and K multiply-adds for each result",
    .exercise =
        "`lapidary explain naive --tile 16x16`: the same kernel twice as fast. What does a warp of 16 rows and 2 "
        "columns do to the sectors of A?",
    .architecture = 80,
};

template <int BM, int BN>
struct Config {
  using Element = float;
  static constexpr TileShape tile = {BM, BN, 0};
  static constexpr int threads = BM * BN;
};

template <class Config>
__global__ void __launch_bounds__(Config::threads) kernel(const Gemm<float> g) {
  const RowCol<std::int64_t> block = block_tile<Config::tile.m, Config::tile.n>(g.N);
  const std::int64_t row = block.row + threadIdx.x;
  const std::int64_t col = block.col + threadIdx.y;
  if (row >= g.M || col >= g.N) return;
  const float* a = g.A + row * g.lda;
  const float* b = g.B + col;
  float sum = 0;
  for (std::int64_t k = 0; k < g.K; ++k) sum = fmaf(a[k], b[k * g.ldb], sum);
  store_result(g, row, col, sum);
}

template <class Config>
Prepared prepare(const Problem& problem, const Card&) {
  const Extent3 block = {Config::tile.m, Config::tile.n};
  return prepared_tiles<Config, NoStorage>(info, kernel<Config>, problem, block);
}

template <class>
constexpr BuiltKernel built_kernels[] = {built<Config<32, 32>>(prepare<Config<32, 32>>),
                                         built<Config<16, 16>>(prepare<Config<16, 16>>)};

}  // namespace lapidary::inline LAPIDARY_BUILD::naive
