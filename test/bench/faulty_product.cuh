#pragma once
// A small product with one fault each: a thread computes a result and hands it to the thread that stores it. The test
// finds the lines of the faults by the comments at their ends.
#include "device/shared.hpp"
#include "faulty_product.hpp"
#include "kernels/built.hpp"
#include "ptx/barrier.hpp"
#include "ptx/cp_async.hpp"
#include "tile/vector.hpp"

namespace lapidary::test::inline LAPIDARY_BUILD {

constexpr RungInfo info = {.name = "faulty",
                           .parent = "",
                           .idea = "",
                           .change = "",
                           .why = "",
                           .counter = "",
                           .cost = "",
                           .exercise = "",
                           .architecture = 80};

struct Config {
  using Element = float;
  static constexpr TileShape tile = {8, 8, 0};
  static constexpr int threads = 64;
};

struct Storage {
  SharedArray<float, 64> sums, c;
  SharedArray<unsigned, 1> arrivals;
};

template <Wrong wrong>
__global__ void kernel(const Gemm<float> g) {
  auto& [sums, sC, arrivals] = shared_storage<Storage>();
  const int thread = threadIdx.x;
  const RowCol<std::int64_t> block = block_tile<8, 8>(g.N);
  const std::int64_t row = block.row + thread / 8, col = block.col + thread % 8;
  if (thread == 0) arrivals[0] = 0;
  __syncthreads();
  // In order, thread 63 comes first: it is the last one at the barrier.
  const bool first = wrong == Wrong::in_some_orders && atomicAdd(&arrivals[0], 1u) == 0;

  const std::int64_t too_many = wrong == Wrong::bounds || (first && thread == 62) ? 1 << 20 : 0;
  float sum = 0;
  if (row < g.M && col < g.N)
    for (std::int64_t k = 0; k < g.K + too_many; ++k) {
      const std::int64_t line = row * g.lda;
      const std::int64_t offset = wrong == Wrong::short_offsets ? static_cast<std::int32_t>(line) : line;
      sum = fmaf(g.A[offset + k], g.B[k * g.ldb + col], sum);  // reads A
    }
  if (wrong == Wrong::sum) sum += 1;
  if (wrong == Wrong::alignment) sum += load_vector<4>(sums[1]).element[0];         // reads a vector
  if (wrong != Wrong::unwritten || thread != 5) sums[thread] = sum;                 // hands over
  if (wrong == Wrong::divergence && thread % 2 == 0) __syncthreads();               // another barrier
  if (wrong != Wrong::barrier) barrier_sync(0, wrong == Wrong::deadlock ? 96 : 0);  // waits

  const int other = 63 - thread;
  const std::int64_t to_row = block.row + other / 8, to_col = block.col + other % 8;
  if (to_row >= g.M || to_col >= g.N) return;
  float result = g.alpha * sums[other];  // takes over
  if (g.beta != 0) {
    cp_async<4>(&sC[other], &g.C[to_row * g.ldc + to_col], 4);
    cp_async_commit_group();
    if (wrong != Wrong::wait) cp_async_wait_group<0>();
    result = fmaf(g.beta, sC[other], result);  // reads C
  }
  g.D[to_row * g.ldd + to_col] = result;
}

template <Wrong wrong>
Prepared prepare(const Problem& problem, const Card&) {
  return prepared_tiles<Config, Storage>(info, kernel<wrong>, problem);
}

BuiltKernel faulty_product(Wrong wrong) {
  switch (wrong) {
    case Wrong::nothing: return built<Config>(prepare<Wrong::nothing>);
    case Wrong::barrier: return built<Config>(prepare<Wrong::barrier>);
    case Wrong::wait: return built<Config>(prepare<Wrong::wait>);
    case Wrong::bounds: return built<Config>(prepare<Wrong::bounds>);
    case Wrong::alignment: return built<Config>(prepare<Wrong::alignment>);
    case Wrong::unwritten: return built<Config>(prepare<Wrong::unwritten>);
    case Wrong::divergence: return built<Config>(prepare<Wrong::divergence>);
    case Wrong::deadlock: return built<Config>(prepare<Wrong::deadlock>);
    case Wrong::sum: return built<Config>(prepare<Wrong::sum>);
    case Wrong::short_offsets: return built<Config>(prepare<Wrong::short_offsets>);
    case Wrong::in_some_orders: return built<Config>(prepare<Wrong::in_some_orders>);
  }
  return {};
}

}  // namespace lapidary::test::inline LAPIDARY_BUILD
