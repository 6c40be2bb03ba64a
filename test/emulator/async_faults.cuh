#pragma once
// Kernels with one fault each of what is asynchronous, for the emulated machine alone: small ones, and the ring with
// bugs planted in it. A test finds a fault's line by its text.
#include "device/encode_tensor_map.hpp"
#include "device/shared.hpp"
#include "ptx/barrier.hpp"
#include "ptx/cluster.hpp"
#include "ptx/cp_async_bulk.hpp"
#include "ptx/fence.hpp"
#include "ptx/grid.hpp"
#include "ptx/mbarrier.hpp"
#include "ptx/warp.hpp"
#include "register.hpp"
#include "ring.cuh"
#include "tile/pipeline.hpp"

namespace lapidary::test::inline LAPIDARY_BUILD {

struct FaultStorage {
  SharedArray<float, 64, 128> x;
  SharedArray<Mbarrier, 1> barrier;
};

constexpr unsigned x_bytes = 64 * sizeof(float), fault_bytes = sizeof(FaultStorage);

/// A barrier for some arrivals that all threads know of.
LAPIDARY_DEVICE FaultStorage& storage_with_barrier(unsigned arrivals) {
  auto& storage = shared_storage<FaultStorage>();
  if (threadIdx.x == 0) {
    mbarrier_init(storage.barrier[0], arrivals);
    fence_mbarrier_init();
  }
  __syncthreads();
  return storage;
}

// ---------------------------------------------------------------- mbarriers

__global__ void surplus_arrival(float*, float*, float*, int) {
  auto& [x, barrier] = storage_with_barrier(2);
  if (threadIdx.x == 1) mbarrier_expect_tx(barrier[0], 16);
  __syncwarp();
  if (threadIdx.x < 3) mbarrier_arrive(barrier[0]);
}

__global__ void init_twice(float*, float*, float*, int) {
  auto& [x, barrier] = storage_with_barrier(2);
  if (threadIdx.x == 5) mbarrier_init(barrier[0], 1);
}

__global__ void no_init(float*, float*, float*, int) {
  auto& [x, barrier] = shared_storage<FaultStorage>();
  mbarrier_arrive(barrier[0]); /* of nothing */
}

__global__ void init_unordered(float*, float*, float*, int) {
  auto& [x, barrier] = shared_storage<FaultStorage>();
  if (threadIdx.x == 0) mbarrier_init(barrier[0], 32);
  if (threadIdx.x >= 32) mbarrier_arrive(barrier[0]);
}

__global__ void plain_load_of_mbarrier(float*, float*, float* c, int) {
  auto& [x, barrier] = storage_with_barrier(2);
  if (threadIdx.x == 5) c[0] = static_cast<float>(barrier[0].state);
}

__global__ void overwritten_mbarrier(float*, float*, float*, int) {
  auto& [x, barrier] = storage_with_barrier(64);
  if (threadIdx.x == 5) barrier[0].state = 0;
  __syncthreads();
  mbarrier_arrive(barrier[0]);
}

__global__ void missing_arrival(float*, float*, float*, int) {
  auto& [x, barrier] = storage_with_barrier(32);
  if (threadIdx.x > 0 && threadIdx.x < 32) mbarrier_arrive(barrier[0]);
  if (threadIdx.x >= 32) wait(barrier[0], 0);
}

__global__ void polled_for_ever(float*, float*, float*, int) {
  auto& [x, barrier] = storage_with_barrier(1);
  while (!mbarrier_test_wait(barrier[0], 0)) {
  }
}

__global__ void bytes_pending_at_exit(float*, float*, float*, int) {
  auto& [x, barrier] = storage_with_barrier(1);
  if (threadIdx.x == 0) mbarrier_expect_tx(barrier[0], 16);
}

__global__ void bytes_beyond_count(float*, float*, float*, int) {
  auto& [x, barrier] = storage_with_barrier(1);
  if (threadIdx.x < 2) mbarrier_expect_tx(barrier[0], 1 << 19);
}

// ---------------------------------------------------------------- bulk copies

enum class Copy {
  right,
  no_wait,
  tried_once,
  tested_once,
  no_exit_wait,
  unaligned,
  beyond_shared,
  beyond_global,
  odd_bytes
};

template <Copy copy>
__global__ void bulk_load(float* a, float*, float* c, int) {
  auto& [x, barrier] = storage_with_barrier(1);
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(barrier[0], x_bytes);
    float* const to = &x[0] + (copy == Copy::unaligned ? 1 : copy == Copy::beyond_shared ? 16 : 0);
    cp_async_bulk_load(to, a + (copy == Copy::beyond_global ? 4 : 0), x_bytes - (copy == Copy::odd_bytes), barrier[0]);
  }
  if (copy == Copy::no_exit_wait) return;
  if (copy == Copy::tried_once)
    mbarrier_try_wait(barrier[0], 0);
  else if (copy == Copy::tested_once)
    mbarrier_test_wait(barrier[0], 0);
  else if (copy != Copy::no_wait)
    wait(barrier[0], 0);
  c[threadIdx.x] = x[threadIdx.x];
}

enum class InitFence { right, by_proxy, none, behind_barrier, of_another_thread };

/// Who copies is not who has initialised the mbarrier.
template <InitFence fence>
__global__ void init_fence(float* a, float*, float*, int) {
  auto& [x, barrier] = shared_storage<FaultStorage>();
  if (threadIdx.x == 0) {
    mbarrier_init(barrier[0], 1);
    if (fence == InitFence::right) fence_mbarrier_init();
    if (fence == InitFence::by_proxy) fence_proxy_async();
  }
  if (fence == InitFence::of_another_thread && threadIdx.x == 32) fence_mbarrier_init();
  __syncthreads();
  if (fence == InitFence::behind_barrier && threadIdx.x == 0) fence_mbarrier_init();
  if (threadIdx.x == 32) {
    mbarrier_arrive_expect_tx(barrier[0], x_bytes);
    cp_async_bulk_load(&x[0], a, x_bytes, barrier[0]);  // at an mbarrier of thread 0
  }
  wait(barrier[0], 0);
}

/// A bulk load overwrites what threads have written.
template <bool fenced>
__global__ void load_over_stores(float* a, float*, float*, int) {
  auto& [x, barrier] = storage_with_barrier(1);
  x[threadIdx.x] = 1;
  if (fenced) fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(barrier[0], x_bytes);
    cp_async_bulk_load(&x[0], a, x_bytes, barrier[0]);  // over stores
  }
  wait(barrier[0], 0);
}

enum class Store { right, no_fence, fence_elsewhere, fence_too_early, no_barrier, no_wait, write_too_early };

template <Store store>
__global__ void bulk_store(float*, float* b, float*, int) {
  auto& [x, barrier] = shared_storage<FaultStorage>();
  if (store == Store::fence_too_early) fence_proxy_async();
  x[threadIdx.x] = 1;
  if (store != Store::no_fence && store != Store::fence_too_early && store != Store::fence_elsewhere)
    fence_proxy_async();
  if (store != Store::no_barrier) __syncthreads();
  if (threadIdx.x == 0) {
    if (store == Store::fence_elsewhere) fence_proxy_async();
    cp_async_bulk_store(b, &x[0], x_bytes);  // of what all threads wrote
    cp_async_bulk_commit_group();
    if (store == Store::write_too_early) x[3] = 2;
    if (store != Store::no_wait) cp_async_bulk_wait_group_read<0>();
  }
}

/// A lane's proxy fence is no __syncwarp.
__global__ void fence_between_lanes(float*, float*, float* c, int) {
  auto& [x, barrier] = shared_storage<FaultStorage>();
  x[threadIdx.x] = 2;
  __syncthreads();
  x[threadIdx.x] = 1; /* for a neighbour */
  fence_proxy_async();
  c[threadIdx.x] = x[threadIdx.x ^ 1];
}

/// The last lane arrives for all of its warp, without a __syncwarp.
__global__ void arrival_for_other_lanes(float*, float*, float* c, int) {
  auto& [x, barrier] = storage_with_barrier(1);
  if (threadIdx.x < 32) {
    x[threadIdx.x] = 1; /* for the other warp */
    if (threadIdx.x == 31) mbarrier_arrive(barrier[0]);
  } else {
    wait(barrier[0], 0);
    c[threadIdx.x] = x[threadIdx.x - 32];
  }
}

/// Another thread writes what a store reads, ordered after its issue alone.
__global__ void write_while_stored(float*, float* b, float*, int) {
  auto& [x, barrier] = shared_storage<FaultStorage>();
  x[threadIdx.x] = 1;
  fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    cp_async_bulk_store(b, &x[0], x_bytes);
    cp_async_bulk_commit_group();
  }
  __syncthreads();
  if (threadIdx.x == 40) x[3] = 3;
  if (threadIdx.x == 0) cp_async_bulk_wait_group_read<0>();
}

__global__ void foreign_map(const __grid_constant__ TensorMap map) {
  auto& [x, barrier] = storage_with_barrier(1);
  if (threadIdx.x == 0) cp_async_bulk_tensor_load(&x[0], map, Coordinates{0, 0}, barrier[0]);
}

inline void launch_foreign_map(const Stream& stream, const LaunchShape& shape, void*, void*, void*, int) {
  launch(stream, shape, foreign_map, TensorMap{});
}

__global__ void box_between_chunks(const __grid_constant__ TensorMap map) {
  if (threadIdx.x == 0) cp_async_bulk_prefetch_tensor(map, Coordinates{7, 0});
}

inline void launch_box_between_chunks(const Stream& stream, const LaunchShape& shape, void* a, void*, void*, int) {
  launch(stream, shape, box_between_chunks,
         tensor_map({.base = a, .size = {16, 4}, .stride = {64}, .box = {8, 2}, .rank = 2, .type = TensorType::f32}));
}

__global__ void box_before_tensor(const __grid_constant__ TensorMap map) {
  auto& [x, barrier] = storage_with_barrier(1);
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(barrier[0], 2 * 8 * sizeof(float));
    cp_async_bulk_tensor_load(&x[0], map, Coordinates{0, -1}, barrier[0]);
  }
  wait(barrier[0], 0);
  if (threadIdx.x == 0) cp_async_bulk_tensor_store(map, Coordinates{0, -1}, &x[0]);
}

inline void launch_box_before_tensor(const Stream& stream, const LaunchShape& shape, void* a, void*, void*, int) {
  launch(stream, shape, box_before_tensor,
         tensor_map({.base = a, .size = {16, 4}, .stride = {64}, .box = {8, 2}, .rank = 2, .type = TensorType::f32}));
}

// ---------------------------------------------------------------- registers

__global__ void too_many_registers(float*, float*, float*, int) {
  if (threadIdx.x < 128)
    setmaxnreg_dec<40>();
  else
    setmaxnreg_inc<240>();
}

__global__ void fewer_by_inc(float*, float*, float*, int) { setmaxnreg_inc<64>(); }

/// One warp of a warpgroup is missing, or has one of its own.
__global__ void registers_of_one_warp(float*, float*, float*, int) {
  if (threadIdx.x < 32) setmaxnreg_dec<40>();
}

__global__ void registers_of_other_warps(float*, float*, float*, int) {
  if (threadIdx.x / 32 == 3)
    setmaxnreg_dec<48>();
  else
    setmaxnreg_dec<40>();
}

__global__ void registers_of_a_warp_beside(float*, float*, float*, int) { setmaxnreg_dec<32>(); }

__global__ void registers_of_other_lanes(float*, float*, float*, int) {
  if (threadIdx.x % 32 < 16)
    setmaxnreg_dec<56>();
  else
    setmaxnreg_dec<64>();
}

// ---------------------------------------------------------------- clusters

enum class Use { arrival, multicast };

/// Blocks initialise their mbarriers, and use those of each other before they know of it.
template <Use use, bool sound>
__global__ void peers_mbarrier(const __grid_constant__ TensorMap map) {
  auto& [x, barrier] = shared_storage<FaultStorage>();
  const unsigned rank = cluster_ctarank();
  if (threadIdx.x == 0) {
    mbarrier_init(barrier[0], use == Use::arrival && rank == 0 ? 2 : 1); /* for peers */
    fence_mbarrier_init();
    if (use == Use::multicast) mbarrier_arrive_expect_tx(barrier[0], x_bytes / 2);
    if (use == Use::arrival) mbarrier_arrive(barrier[0]);
  }
  if (sound) {
    barrier_cluster_arrive();
    barrier_cluster_wait();
  } else {
    __syncthreads();
  }
  if (threadIdx.x == 0 && rank == 1) {
    if constexpr (use == Use::arrival)
      mbarrier_arrive_cluster(barrier[0], 0);
    else
      cp_async_bulk_tensor_multicast(&x[0], map, Coordinates{0}, barrier[0], 3);
  }
  wait(barrier[0], 0);
  barrier_cluster_arrive();
  barrier_cluster_wait();
}

template <Use use, bool sound>
void launch_peers_mbarrier(const Stream& stream, const LaunchShape& shape, void* a, void*, void*, int) {
  launch(stream, shape, peers_mbarrier<use, sound>,
         tensor_map({.base = a, .size = {64}, .box = {32}, .rank = 1, .type = TensorType::f32}));
}
template <Use use, bool sound>
constexpr TestKernel peers_mbarrier_of(const char* name) {
  return {{name, 4, 64, fault_bytes, 2}, launch_peers_mbarrier<use, sound>, 0, 0};
}

/// An access to a block of which nothing is known but that it is of the cluster.
__global__ void remote_store_before_begin(float*, float*, float*, int) {
  auto& [x, barrier] = shared_storage<FaultStorage>();
  if (cluster_ctarank() == 0) mapa(&x[0], 1)[threadIdx.x] = 1;  // perhaps nowhere
  barrier_cluster_arrive();
  barrier_cluster_wait();
}

__global__ void cluster_barriers_differ(float*, float*, float*, int) {
  if (threadIdx.x % 32 < 7)
    barrier_cluster_arrive(); /* of seven lanes */
  else
    barrier_cluster_arrive(); /* of others */
  barrier_cluster_wait();
}

__global__ void cluster_waits_differ(float*, float*, float*, int) {
  barrier_cluster_arrive();
  if (threadIdx.x % 32 < 7)
    barrier_cluster_wait(); /* of seven lanes alone */
  else
    barrier_cluster_wait(); /* of others alone */
}

enum class Exit { right, no_barrier_after, no_barrier_before, relaxed_before };

template <Exit exit>
__global__ void remote_store(float*, float*, float* c, int) {
  auto& [x, barrier] = shared_storage<FaultStorage>();
  const unsigned other = cluster_ctarank() ^ 1;
  x[threadIdx.x] = 0;
  if (exit != Exit::no_barrier_before) {
    exit == Exit::relaxed_before ? barrier_cluster_arrive_relaxed() : barrier_cluster_arrive();
    barrier_cluster_wait();
  }
  mapa(&x[0], other)[threadIdx.x] = 1;
  if (exit == Exit::no_barrier_after) return;
  barrier_cluster_arrive();
  barrier_cluster_wait();
  c[blockIdx.x * 64 + threadIdx.x] = x[threadIdx.x];
}

__global__ void remote_wait(float*, float*, float*, int) {
  auto& [x, barrier] = storage_with_barrier(1);
  barrier_cluster_arrive();
  barrier_cluster_wait();
  wait(*mapa(&barrier[0], cluster_ctarank() ^ 1), 1);
}

__global__ void two_cluster_arrivals(float*, float*, float*, int) {
  barrier_cluster_arrive();
  barrier_cluster_arrive();  // once more
}

__global__ void block_missing(float*, float*, float*, int) {
  if (cluster_ctarank() == 0) {
    barrier_cluster_arrive();
    barrier_cluster_wait();
  } else {
    barrier_sync(1, 96);
  }
}

__global__ void no_grid_wait(float* a, float*, float* c, int) {
  const float x = a[threadIdx.x];
  grid_wait();
  c[threadIdx.x] = x;
}

/// A kernel whose launch overlaps with the one before.
constexpr TestKernel overlapping(TestKernel kernel) {
  kernel.shape.overlaps = true;
  return kernel;
}

__global__ void static_shared(float*, float*, float* c, int) {
  __shared__ float s[64];
  s[threadIdx.x] = 1;
  __syncthreads();
  c[threadIdx.x] = s[threadIdx.x ^ 1];
}

__global__ void rank_beyond(float*, float*, float*, int) {
  auto& [x, barrier] = shared_storage<FaultStorage>();
  *mapa(&x[threadIdx.x], 2) = 1;
}

template <auto kernel>
constexpr TestKernel pair_of_blocks(const char* name) {
  return {{name, 4, 64, fault_bytes, 2}, Launch<kernel>::launch, 0, 0};
}
template <int blocks, Bug bug>
constexpr TestKernel ring_with(const char* name) {
  return {{name, {}, {}}, launch_ring<blocks, bug>, 0, 0};
}

constexpr TestKernel async_fault_table[] = {
    entry<surplus_arrival>("surplus_arrival", 1, 64, fault_bytes),
    entry<init_twice>("init_twice", 1, 64, fault_bytes),
    entry<no_init>("no_init", 1, 64, fault_bytes),
    entry<init_unordered>("init_unordered", 1, 64, fault_bytes),
    entry<plain_load_of_mbarrier>("plain_load_of_mbarrier", 1, 64, fault_bytes),
    entry<overwritten_mbarrier>("overwritten_mbarrier", 1, 64, fault_bytes),
    entry<missing_arrival>("missing_arrival", 1, 64, fault_bytes),
    entry<polled_for_ever>("polled_for_ever", 1, 32, fault_bytes),
    entry<bytes_pending_at_exit>("bytes_pending_at_exit", 1, 64, fault_bytes),
    entry<bytes_beyond_count>("bytes_beyond_count", 1, 64, fault_bytes),
    entry<bulk_load<Copy::right>>("bulk_load", 1, 64, fault_bytes),
    entry<bulk_load<Copy::no_wait>>("bulk_load_without_wait", 1, 64, fault_bytes),
    entry<bulk_load<Copy::tried_once>>("bulk_load_tried_once", 1, 64, fault_bytes),
    entry<bulk_load<Copy::tested_once>>("bulk_load_tested_once", 1, 64, fault_bytes),
    entry<init_fence<InitFence::right>>("init_fence", 1, 64, fault_bytes),
    entry<init_fence<InitFence::by_proxy>>("init_fence_by_proxy", 1, 64, fault_bytes),
    entry<init_fence<InitFence::none>>("no_init_fence", 1, 64, fault_bytes),
    entry<init_fence<InitFence::behind_barrier>>("init_fence_behind_barrier", 1, 64, fault_bytes),
    entry<init_fence<InitFence::of_another_thread>>("init_fence_of_another_thread", 1, 64, fault_bytes),
    entry<load_over_stores<true>>("load_over_stores", 1, 64, fault_bytes),
    entry<load_over_stores<false>>("load_over_stores_without_fence", 1, 64, fault_bytes),
    entry<bulk_load<Copy::no_exit_wait>>("bulk_load_at_exit", 1, 64, fault_bytes),
    entry<bulk_load<Copy::unaligned>>("bulk_load_unaligned", 1, 64, fault_bytes),
    entry<bulk_load<Copy::beyond_shared>>("bulk_load_beyond_shared", 1, 64, fault_bytes),
    entry<bulk_load<Copy::beyond_global>>("bulk_load_beyond_global", 1, 64, fault_bytes),
    entry<bulk_load<Copy::odd_bytes>>("bulk_load_odd_bytes", 1, 64, fault_bytes),
    entry<bulk_store<Store::right>>("bulk_store", 1, 64, fault_bytes),
    entry<bulk_store<Store::no_fence>>("bulk_store_without_fence", 1, 64, fault_bytes),
    entry<bulk_store<Store::fence_elsewhere>>("bulk_store_fence_elsewhere", 1, 64, fault_bytes),
    entry<bulk_store<Store::fence_too_early>>("bulk_store_fence_too_early", 1, 64, fault_bytes),
    entry<bulk_store<Store::no_barrier>>("bulk_store_without_barrier", 1, 64, fault_bytes),
    entry<bulk_store<Store::no_wait>>("bulk_store_at_exit", 1, 64, fault_bytes),
    entry<bulk_store<Store::write_too_early>>("bulk_store_overwritten", 1, 64, fault_bytes),
    entry<fence_between_lanes>("fence_between_lanes", 1, 64, fault_bytes),
    entry<arrival_for_other_lanes>("arrival_for_other_lanes", 1, 64, fault_bytes),
    entry<write_while_stored>("write_while_stored", 1, 64, fault_bytes),
    {{"foreign_map", 1, 64, fault_bytes}, launch_foreign_map, 0, 0},
    {{"box_between_chunks", 1, 64, fault_bytes}, launch_box_between_chunks, 0, 0},
    {{"box_before_tensor", 1, 64, fault_bytes}, launch_box_before_tensor, 0, 0},
    entry<too_many_registers>("too_many_registers", 1, 384),
    entry<fewer_by_inc>("fewer_by_inc", 1, 128),
    entry<registers_of_one_warp>("registers_of_one_warp", 1, 128),
    entry<registers_of_other_warps>("registers_of_other_warps", 1, 128),
    entry<registers_of_a_warp_beside>("registers_of_a_warp_beside", 1, 160),
    entry<registers_of_other_lanes>("registers_of_other_lanes", 1, 128),
    peers_mbarrier_of<Use::arrival, true>("peers_mbarrier"),
    peers_mbarrier_of<Use::multicast, true>("peers_mbarrier_by_multicast"),
    peers_mbarrier_of<Use::arrival, false>("peers_mbarrier_unordered"),
    peers_mbarrier_of<Use::multicast, false>("peers_mbarrier_unordered_by_multicast"),
    pair_of_blocks<remote_store_before_begin>("remote_store_before_begin"),
    pair_of_blocks<cluster_barriers_differ>("cluster_barriers_differ"),
    pair_of_blocks<cluster_waits_differ>("cluster_waits_differ"),
    pair_of_blocks<remote_store<Exit::right>>("remote_store"),
    pair_of_blocks<remote_store<Exit::no_barrier_after>>("remote_store_at_exit"),
    pair_of_blocks<remote_store<Exit::no_barrier_before>>("remote_store_race"),
    pair_of_blocks<remote_store<Exit::relaxed_before>>("remote_store_behind_relaxed_arrival"),
    pair_of_blocks<remote_wait>("remote_wait"),
    pair_of_blocks<two_cluster_arrivals>("two_cluster_arrivals"),
    pair_of_blocks<block_missing>("block_missing"),
    pair_of_blocks<rank_beyond>("rank_beyond"),
    pair_of_blocks<static_shared>("static_shared"),
    overlapping(entry<no_grid_wait>("no_grid_wait", 1, 64)),
    ring_with<1, Bug::none>("ring"),
    ring_with<1, Bug::no_init_fence>("ring_without_init_fence"),
    ring_with<1, Bug::no_full_wait>("ring_without_full_wait"),
    ring_with<1, Bug::no_empty_wait>("ring_without_empty_wait"),
    ring_with<1, Bug::early_release>("ring_released_early"),
    ring_with<1, Bug::too_many_bytes>("ring_expecting_too_many_bytes"),
    ring_with<1, Bug::too_few_bytes>("ring_expecting_too_few_bytes"),
    ring_with<1, Bug::wrong_full_parity>("ring_with_wrong_full_parity"),
    ring_with<1, Bug::wrong_empty_parity>("ring_with_wrong_empty_parity"),
    ring_with<1, Bug::wrong_swizzle>("ring_with_wrong_swizzle"),
    ring_with<1, Bug::no_proxy_fence>("ring_without_proxy_fence"),
    ring_with<1, Bug::no_store_wait>("ring_without_store_wait"),
    ring_with<2, Bug::none>("ring_of_cluster"),
    ring_with<2, Bug::no_empty_wait>("ring_of_cluster_without_empty_wait"),
    ring_with<2, Bug::early_release>("ring_of_cluster_released_early"),
    ring_with<2, Bug::wrong_mask>("ring_of_cluster_with_wrong_mask"),
    ring_with<2, Bug::no_wait_for_peers>("ring_of_cluster_exiting_early"),
};

TestKernels async_faulty_kernels() { return {async_fault_table, std::size(async_fault_table)}; }

}  // namespace lapidary::test::inline LAPIDARY_BUILD
