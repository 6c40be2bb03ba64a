#pragma once
// Kernels with one fault each that checked runs do not stop at: docs/check.md says so, line by line.
#include "device/shared.hpp"
#include "ptx/cluster.hpp"
#include "ptx/cp_async_bulk.hpp"
#include "ptx/fence.hpp"
#include "ptx/mbarrier.hpp"
#include "ptx/warp.hpp"
#include "register.hpp"
#include "tile/pipeline.hpp"

namespace lapidary::test::inline LAPIDARY_BUILD {

struct UnnoticedStorage {
  SharedArray<float, 64, 128> x;
  SharedArray<Mbarrier, 1> barrier;
};

LAPIDARY_DEVICE UnnoticedStorage& initialised_storage(unsigned arrivals) {
  auto& storage = shared_storage<UnnoticedStorage>();
  storage.x[threadIdx.x] = 0;
  fence_proxy_async();
  if (threadIdx.x == 0) {
    mbarrier_init(storage.barrier[0], arrivals);
    fence_mbarrier_init();
  }
  __syncthreads();
  return storage;
}

/// The parity of the first phase, while the third one has already begun: it stands for the second.
__global__ void parity_of_an_old_phase(float*, float*, float*, int) {
  auto& [x, barrier] = initialised_storage(1);
  if (threadIdx.x == 0)
    for (int phase = 0; phase < 3; ++phase) mbarrier_arrive(barrier[0]);
  __syncthreads();
  wait(barrier[0], 0);
}

/// A bulk load overwrites what ordinary accesses have read, without a proxy fence.
__global__ void load_over_reads(float* a, float*, float* c, int) {
  auto& [x, barrier] = initialised_storage(1);
  c[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(barrier[0], 256);
    cp_async_bulk_load(&x[0], a, 256, barrier[0]);
  }
  wait(barrier[0], 0);
}

/// A bulk load reads global memory that threads have written, without a proxy fence.
__global__ void load_of_stores(float*, float* b, float*, int) {
  auto& [x, barrier] = initialised_storage(1);
  b[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(barrier[0], 256);
    cp_async_bulk_load(&x[0], b, 256, barrier[0]);
  }
  wait(barrier[0], 0);
}

/// A thread reads what its bulk store writes, after a wait for the store's reading alone.
__global__ void read_after_wait_for_reading(float*, float* b, float* c, int) {
  auto& [x, barrier] = initialised_storage(1);
  if (threadIdx.x > 0) return;
  cp_async_bulk_store(b, &x[0], 256);
  cp_async_bulk_commit_group();
  cp_async_bulk_wait_group_read<0>();
  c[0] = b[0];
}

/// An arrival at another block's mbarrier that orders nothing is taken for one that does.
__global__ void relaxed_arrival(float*, float*, float* c, int) {
  auto& [x, barrier] = initialised_storage(1);
  barrier_cluster_arrive();
  barrier_cluster_wait();
  if (threadIdx.x == 0) {
    const unsigned other = cluster_ctarank() ^ 1;
    *mapa(&x[0], other) = 1;
    mbarrier_arrive_cluster<false>(barrier[0], other);
  }
  wait(barrier[0], 0);
  c[blockIdx.x * 64 + threadIdx.x] = x[0];
  barrier_cluster_arrive();
  barrier_cluster_wait();
}

/// A barrier that two branches come to by the same function.
LAPIDARY_DEVICE void barrier_of_a_function() { __syncthreads(); }
__global__ void barrier_in_branches(float*, float*, float*, int) {
  if (threadIdx.x % 32 < 16)
    barrier_of_a_function();
  else
    barrier_of_a_function();
}

/// Warps of a warpgroup do not wait for each other between two setmaxnreg.
__global__ void registers_twice(float*, float*, float*, int) {
  setmaxnreg_dec<40>();
  setmaxnreg_dec<24>();
}

constexpr unsigned unnoticed_bytes = sizeof(UnnoticedStorage);
constexpr TestKernel unnoticed_table[] = {
    entry<parity_of_an_old_phase>("parity_of_an_old_phase", 1, 64, unnoticed_bytes),
    entry<load_over_reads>("load_over_reads", 1, 64, unnoticed_bytes),
    entry<load_of_stores>("load_of_stores", 1, 64, unnoticed_bytes),
    entry<read_after_wait_for_reading>("read_after_wait_for_reading", 1, 64, unnoticed_bytes),
    {{"relaxed_arrival", 4, 64, unnoticed_bytes, 2}, Launch<relaxed_arrival>::launch, 0, 0},
    entry<barrier_in_branches>("barrier_in_branches", 1, 64),
    entry<registers_twice>("registers_twice", 1, 128),
};

TestKernels unnoticed_kernels() { return {unnoticed_table, std::size(unnoticed_table)}; }

}  // namespace lapidary::test::inline LAPIDARY_BUILD
