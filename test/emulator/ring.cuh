#pragma once
// A warp-specialised product, D = A * B^T in f32, with bulk copies in and out: the kernel that most of what is
// asynchronous comes together in. Bugs can be planted in it, one at a time.
#include "device/encode_tensor_map.hpp"
#include "device/launch.hpp"
#include "device/shared.hpp"
#include "layout/layout.hpp"
#include "ptx/barrier.hpp"
#include "ptx/cluster.hpp"
#include "ptx/cp_async_bulk.hpp"
#include "ptx/fence.hpp"
#include "ptx/warp.hpp"
#include "tile/pipeline.hpp"

namespace lapidary::test::inline LAPIDARY_BUILD {

enum class Bug {
  none,
  no_init_fence,
  no_full_wait,
  no_empty_wait,
  early_release,
  too_many_bytes,
  too_few_bytes,
  wrong_full_parity,
  wrong_empty_parity,
  wrong_swizzle,
  wrong_mask,
  no_proxy_fence,
  no_wait_for_peers,
  no_store_wait,
};

template <int cluster_blocks>
struct Ring {
  static constexpr int BM = 64, BN = 64, BK = 32, stages = 3, consumers = 256, threads = 384;
  static constexpr Layout a = row_major(BM, BK).swizzled(3, 2, 3);
  static constexpr Layout b = row_major(BN, BK).swizzled(3, 2, 3);
  static constexpr Layout d = row_major(BM, BN);

  struct Storage {
    SharedArray<float, stages * BM * BK, 1024> a;
    SharedArray<float, stages * BN * BK, 1024> b;
    SharedArray<float, BM * BN, 1024> d;
    SharedArray<Mbarrier, stages> full, empty;
  };
};

/// A is M x K, B is N x K, D is M x N. Blocks of a cluster have the same columns: each loads a part of B's tile for
/// all.
template <int blocks, Bug bug>
__global__ __launch_bounds__(384, 1) void ring(const __grid_constant__ TensorMap A, const __grid_constant__ TensorMap B,
                                               const __grid_constant__ TensorMap D, int K) {
  using R = Ring<blocks>;
  constexpr Layout a = R::a, b = R::b, d = R::d;
  constexpr int BM = R::BM, BN = R::BN, BK = R::BK, part = BN / blocks;
  auto& [sA, sB, sD, full, empty] = shared_storage<typename R::Storage>();
  const Pipeline<R::stages> pipeline{&full[0], &empty[0]};
  RingPosition<R::stages> p;
  const int thread = threadIdx.x, steps = K / BK;
  const int row = blockIdx.y * BM, col = blockIdx.x * BN;
  const unsigned rank = blocks > 1 ? cluster_ctarank() : 0;

  if (thread == 0) {
    pipeline.init(R::consumers / 32 * blocks);
    if (bug != Bug::no_init_fence) fence_mbarrier_init();
  }
  if constexpr (blocks > 1) {
    barrier_cluster_arrive();
    barrier_cluster_wait();
  } else {
    __syncthreads();
  }
  if (thread >= R::consumers) {
    setmaxnreg_dec<40>();
    if (thread / 32 == R::consumers / 32 && elect_sync()) {
      for (int step = 0; step < steps; ++step, p.advance()) {
        if (bug == Bug::wrong_empty_parity)
          wait(empty[p.stage], p.phase);
        else if (bug != Bug::no_empty_wait)
          pipeline.wait_empty(p);
        constexpr int bytes = (BM + BN) * BK * sizeof(float);
        pipeline.expect(p, bug == Bug::too_many_bytes ? bytes + 16 : bug == Bug::too_few_bytes ? bytes / 2 : bytes);
        cp_async_bulk_tensor_load(&sA[p.stage * BM * BK], A, Coordinates{step * BK, row}, pipeline.full(p));
        float* const to = &sB[p.stage * BN * BK + rank * part * BK];
        const Coordinates from{step * BK, col + static_cast<int>(rank) * part};
        if constexpr (blocks == 1)
          cp_async_bulk_tensor_load(to, B, from, pipeline.full(p));
        else
          cp_async_bulk_tensor_multicast(to, B, from, pipeline.full(p), bug == Bug::wrong_mask ? 1 : (1 << blocks) - 1);
      }
      if (bug != Bug::no_wait_for_peers) pipeline.drain(p);
    }
  } else {
    setmaxnreg_inc<232>();
    constexpr int TM = 2, TN = 8, columns = BN / TN;
    const int m = thread / columns * TM, n = thread % columns;
    float rD[TM][TN] = {};
    for (int step = 0; step < steps; ++step, p.advance()) {
      if (bug == Bug::wrong_full_parity)
        wait(full[p.stage], p.phase ^ 1);
      else if (bug != Bug::no_full_wait)
        pipeline.wait_full(p);
      const auto release = [&] {
        __syncwarp();
        if (thread % 32 >= blocks) return;
        if constexpr (blocks == 1)
          pipeline.release(p);
        else
          pipeline.release(p, static_cast<unsigned>(thread % 32));
      };
      if (bug == Bug::early_release) release();
      for (int k = 0; k < BK; ++k) {
        float rA[TM], rB[TN];
        for (int i = 0; i < TM; ++i) rA[i] = sA[p.stage * BM * BK + a(m + i, k)];
        for (int j = 0; j < TN; ++j) rB[j] = sB[p.stage * BN * BK + b(n + j * columns, k)];
        for (int i = 0; i < TM; ++i)
          for (int j = 0; j < TN; ++j) rD[i][j] = fmaf(rA[i], rB[j], rD[i][j]);
      }
      if (bug != Bug::early_release) release();
    }
    for (int i = 0; i < TM; ++i)
      for (int j = 0; j < TN; ++j) sD[d(m + i, n + j * columns)] = rD[i][j];
    if (bug != Bug::no_proxy_fence) fence_proxy_async();
    barrier_sync(1, R::consumers);
    if (thread == 0) {
      cp_async_bulk_tensor_store(D, Coordinates{col, row}, &sD[0]);
      cp_async_bulk_commit_group();
      if (bug != Bug::no_store_wait) cp_async_bulk_wait_group_read<0>();
    }
  }
  if constexpr (blocks > 1 && bug != Bug::no_wait_for_peers) {
    barrier_cluster_arrive();
    barrier_cluster_wait();
  }
}

/// Of n x n matrices, n a multiple of 4, D = a b^T is stored to c.
template <int blocks, Bug bug>
void launch_ring(const Stream& stream, const LaunchShape& shape, void* a, void* b, void* c, int n) {
  using R = Ring<blocks>;
  const auto map = [&](void* base, int rows, int cols, TensorSwizzle swizzle) {
    const auto size = static_cast<std::uint64_t>(n);
    return tensor_map({.base = base,
                       .size = {size, size},
                       .stride = {size * sizeof(float)},
                       .box = {cols, rows},
                       .rank = 2,
                       .type = TensorType::f32,
                       .swizzle = swizzle});
  };
  constexpr TensorSwizzle swizzle = tensor_swizzle(R::a, sizeof(float));
  LaunchShape grid = shape;
  const int tiles = ceil_div(n, R::BM);
  grid.grid = {tiles, round_up(tiles, blocks)};
  grid.block = R::threads;
  grid.cluster = {1, blocks};
  grid.shared_bytes = sizeof(typename R::Storage);
  launch(stream, grid, ring<blocks, bug>, map(a, R::BM, R::BK, swizzle),
         map(b, R::BN / blocks, R::BK, bug == Bug::wrong_swizzle ? TensorSwizzle::none : swizzle),
         map(c, R::BM, R::BN, TensorSwizzle::none), round_up(n, R::BK));
}

}  // namespace lapidary::test::inline LAPIDARY_BUILD
