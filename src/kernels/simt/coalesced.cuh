#pragma once
#include "kernels/built.hpp"
#include "kernels/simt/naive.cuh"
#include "tile/epilogue.hpp"
#include "tile/grid.hpp"

namespace lapidary::inline LAPIDARY_BUILD::coalesced {

constexpr RungInfo info = {
    .name = "coalesced",
    .parent = "naive",
    .idea = "one thread a result, threadIdx.x walks the columns",
    .change =
        "threadIdx.x and threadIdx.y change places, and nothing else; many write-ups begin with this kernel and call it naive",
    .why =
        "Neighbouring lanes now read neighbouring words of B and write neighbouring words of D, which the memory "
        "system serves together",
    .counter =
        "global_load: one word of A for the whole warp and 128 contiguous bytes of B, (1 + 4) / 2 = 2.5 "
        "sectors a request where naive had 16.5; global_store: 4 instead of 32",
    .cost = "Still 2 K loads for each result; most of them hit the L1 cache, whose bandwidth is now the limit",
    .exercise =
        "`lapidary explain coalesced --tile 16x16`: which matrix is dearer now, which is cheaper, and why does it "
        "not pay here?",
    .architecture = 80,
};

using naive::Config;

template <class Config>
__global__ void __launch_bounds__(Config::threads) kernel(const Gemm<float> g) {
  const RowCol<std::int64_t> block = block_tile<Config::tile.m, Config::tile.n>(g.N);
  const std::int64_t row = block.row + threadIdx.y;
  const std::int64_t col = block.col + threadIdx.x;
  if (row >= g.M || col >= g.N) return;
  const float* a = g.A + row * g.lda;
  const float* b = g.B + col;
  float sum = 0;
  // Unrolled so that many loads are on their way before the first of them is used.
#pragma unroll 16
  for (std::int64_t k = 0; k < g.K; ++k) sum = fmaf(a[k], b[k * g.ldb], sum);
  store_result(g, row, col, sum);
}

template <class Config>
Prepared prepare(const Problem& problem, const Card&) {
  const Extent3 block = {Config::tile.n, Config::tile.m};
  return prepared_tiles<Config, NoStorage>(info, kernel<Config>, problem, block);
}

template <class>
constexpr BuiltKernel built_kernels[] = {built<Config<32, 32>>(prepare<Config<32, 32>>),
                                         built<Config<16, 16>>(prepare<Config<16, 16>>)};

}  // namespace lapidary::inline LAPIDARY_BUILD::coalesced
