#pragma once
// Sound kernels, each of which stands on one ability of compute capability 9.0. The same for all builds.
#include "async_case.hpp"
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

// ---------------------------------------------------------------- boxes

constexpr int most_box_bytes = 64 * 1024;

struct BoxStorage {
  SharedArray<unsigned char, most_box_bytes, 1024> box;
  SharedArray<Mbarrier, 1> barrier;
};

template <int R>
LAPIDARY_DEVICE Coordinates<R> first(const Coordinates<TensorBox::max_rank>& coordinates) {
  Coordinates<R> result;
  for (int mode = 0; mode < R; ++mode) result.at[mode] = coordinates.at[mode];
  return result;
}

/// Copies a box of `bytes` bytes to shared memory, and the `extent` bytes that are there to `to`.
template <int R>
__global__ void load_box(const __grid_constant__ TensorMap map, Coordinates<TensorBox::max_rank> coordinates,
                         unsigned char* to, int bytes, int extent) {
  auto& [box, barrier] = shared_storage<BoxStorage>();
  for (int i = threadIdx.x; i < extent; i += blockDim.x) box[i] = box_gap;
  fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    mbarrier_init(barrier[0], 1);
    fence_mbarrier_init();
    prefetch_tensormap(map);
    cp_async_bulk_prefetch_tensor(map, first<R>(coordinates));
    mbarrier_arrive_expect_tx(barrier[0], static_cast<unsigned>(bytes));
    cp_async_bulk_tensor_load(&box[0], map, first<R>(coordinates), barrier[0], CachePolicy::evict_first);
  }
  __syncthreads();
  wait(barrier[0], 0);
  for (int i = threadIdx.x; i < extent; i += blockDim.x) to[i] = box[i];
}

/// Copies `from` to shared memory, and from there to the box; twice, if it is added.
template <int R>
__global__ void store_box(const __grid_constant__ TensorMap map, Coordinates<TensorBox::max_rank> coordinates,
                          const unsigned char* from, int bytes, bool add) {
  auto& [box, barrier] = shared_storage<BoxStorage>();
  for (int i = threadIdx.x; i < bytes; i += blockDim.x) box[i] = from[i];
  fence_proxy_async();
  __syncthreads();
  if (threadIdx.x > 0) return;
  if (add) {
    cp_reduce_async_bulk_tensor_add(map, first<R>(coordinates), &box[0]);
    cp_async_bulk_commit_group();
    cp_async_bulk_wait_group<0>();
    cp_reduce_async_bulk_tensor_add(map, first<R>(coordinates), &box[0]);
  } else {
    cp_async_bulk_tensor_store(map, first<R>(coordinates), &box[0]);
  }
  cp_async_bulk_commit_group();
  cp_async_bulk_wait_group_read<0>();
}

/// a: the BoxCase, b: the buffer of what shared memory holds.
template <bool load>
void launch_box(const Stream& stream, const LaunchShape& shape, void* a, void* b, void*, int) {
  const BoxCase& test = *static_cast<const BoxCase*>(a);
  const TensorMap map = tensor_map(test.tensor);
  Coordinates<TensorBox::max_rank> coordinates;
  for (int mode = 0; mode < TensorBox::max_rank; ++mode) coordinates.at[mode] = test.coordinates[mode];
  const auto run = [&](auto load_kernel, auto store_kernel) {
    if constexpr (load)
      launch(stream, shape, load_kernel, map, coordinates, static_cast<unsigned char*>(b), box_bytes(test.tensor),
             box_extent(test.tensor));
    else
      launch(stream, shape, store_kernel, map, coordinates, static_cast<const unsigned char*>(b),
             box_extent(test.tensor), test.add);
  };
  switch (test.tensor.rank) {
    case 1: return run(load_box<1>, store_box<1>);
    case 2: return run(load_box<2>, store_box<2>);
    case 3: return run(load_box<3>, store_box<3>);
    case 4: return run(load_box<4>, store_box<4>);
    default: return run(load_box<5>, store_box<5>);
  }
}

// ---------------------------------------------------------------- bytes

struct BytesStorage {
  SharedArray<int, 1024, 128> data[2];
  SharedArray<Mbarrier, 2> full;
};

/// b = a + 1, n parts of 1024 elements, through two buffers; one thread issues all copies, in both directions.
__global__ void bytes(int* a, int* b, int*, int n) {
  auto& [data, full] = shared_storage<BytesStorage>();
  const bool issuer = threadIdx.x == 0;
  if (issuer) {
    for (int i = 0; i < 2; ++i) mbarrier_init(full[i], 1);
    fence_mbarrier_init();
  }
  __syncthreads();
  constexpr unsigned size = 1024 * sizeof(int);
  const auto load = [&](int part) {
    mbarrier_arrive_expect_tx(full[part % 2], size);
    cp_async_bulk_load(&data[part % 2][0], a + part * 1024, size, full[part % 2]);
  };
  if (issuer) load(0);
  for (int part = 0; part < n; ++part) {
    if (issuer && part + 1 < n) {
      cp_async_bulk_wait_group_read<0>();  // the other buffer has been stored
      load(part + 1);
    }
    wait(full[part % 2], part / 2 % 2);
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) ++data[part % 2][i];
    fence_proxy_async();
    __syncthreads();
    if (issuer) {
      cp_async_bulk_store(b + part * 1024, &data[part % 2][0], size);
      cp_async_bulk_commit_group();
    }
  }
  if (issuer) cp_async_bulk_wait_group<0>();
}

// ---------------------------------------------------------------- mbarriers

struct HandOverStorage {
  SharedArray<int, 32> data;
  SharedArray<Mbarrier, 1> full, empty;
};

/// As producer_consumer of machine.cuh, with mbarriers: b = 2 a. The producer looks for the empty barrier by test_wait.
__global__ void hand_over(int* a, int* b, int*, int n) {
  auto& [data, full, empty] = shared_storage<HandOverStorage>();
  const int lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    mbarrier_init(full[0], 32);
    mbarrier_init(empty[0], 2);
    fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    for (int i = 0; i < n; ++i) {
      while (!mbarrier_test_wait(empty[0], (i & 1) ^ 1)) {
      }
      data[lane] = a[i * 32 + lane];
      mbarrier_arrive(full[0]);
    }
  } else {
    for (int i = 0; i < n; ++i) {
      wait(full[0], i & 1);
      b[i * 32 + lane] = 2 * data[31 - lane];
      __syncwarp();
      if (lane == 0) mbarrier_arrive(empty[0], 2);
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    mbarrier_inval(full[0]);
    mbarrier_inval(empty[0]);
  }
}

/// b: whether a barrier's phases are complete, as the one thread sees it that does everything to it.
__global__ void phases(int*, int* b, int*, int) {
  __shared__ Mbarrier barrier;
  if (threadIdx.x > 0) return;
  const auto look = [&] { return mbarrier_test_wait(barrier, 0) | mbarrier_test_wait(barrier, 1) << 1; };
  mbarrier_init(barrier, 3);
  int i = 0;
  b[i++] = look();  // 2: only the phase before the first
  mbarrier_arrive(barrier, 2);
  mbarrier_expect_tx(barrier, 64);
  b[i++] = look();  // 2
  mbarrier_arrive(barrier);
  b[i++] = look();  // 2: 64 bytes are missing
  b[i++] = -1;
  mbarrier_inval(barrier);
  mbarrier_init(barrier, 1);
  for (int phase = 0; phase < 3; ++phase) {
    mbarrier_arrive(barrier);
    b[i++] = look();  // 1, 2, 1
  }
  mbarrier_inval(barrier);
}

// ---------------------------------------------------------------- warps

/// b: which lane is elected, twice, and which among the odd ones; c: how many are.
__global__ void elections(int*, int* b, int* c, int) {
  const int lane = threadIdx.x % 32;
  for (int i = 0; i < 2; ++i)
    if (elect_sync()) {
      b[i] = lane;
      atomicAdd(&c[i], 1);
    }
  if (lane % 2 == 1 && elect_sync(0xaaaaaaaau)) {
    b[2] = lane;
    atomicAdd(&c[2], 1);
  }
}

/// Two warpgroups take registers from a third one: b gets 1 from each thread.
__global__ __launch_bounds__(384, 1) void registers(int*, int* b, int*, int) {
  if (threadIdx.x < 128)
    setmaxnreg_dec<24>();
  else
    setmaxnreg_inc<240>();
  grid_wait();
  b[threadIdx.x] = 1;
  grid_launch_dependents();
}

// ---------------------------------------------------------------- clusters

struct ClusterStorage {
  SharedArray<int, 64> data;
  SharedArray<int, 1> sum;
  SharedArray<Mbarrier, 1> barrier;
};

LAPIDARY_DEVICE void cluster_sync(CallSite where = std::source_location::current()) {
  barrier_cluster_arrive(where);
  barrier_cluster_wait(where);
}

/// Each block writes its elements of a to the next block of its cluster, reads those that the one before has by a
/// pointer, and adds to the sum of block 0. b: what came; c: what was read, then the coordinates, then each cluster's
/// sum.
__global__ void neighbours(int* a, int* b, int* c, int n) {
  auto& [data, sum, barrier] = shared_storage<ClusterStorage>();
  const unsigned rank = cluster_ctarank(), blocks = cluster_nctarank(), next = (rank + 1) % blocks;
  const int block = blockIdx.x + gridDim.x * blockIdx.y, at = block * 64 + threadIdx.x;
  if (threadIdx.x == 0) sum[0] = 0;
  cluster_sync();
  mapa(&data[0], next)[threadIdx.x] = a[at];
  atomicAdd(mapa(&sum[0], 0), a[at]);
  cluster_sync();
  b[at] = data[threadIdx.x];
  c[at] = mapa(&data[0], (rank + blocks - 1) % blocks)[63 - threadIdx.x];
  const dim3 id = cluster_ctaid();
  if (threadIdx.x == 0) c[n + block] = static_cast<int>(id.x | id.y << 8 | rank << 16);
  if (threadIdx.x == 0 && rank == 0) c[n + 64 + block] = sum[0];
  cluster_sync();
}

/// Blocks pass a token around their cluster by remote arrivals, n times: b counts the turns of each.
__global__ void token_ring(int*, int* b, int*, int n) {
  auto& [data, sum, barrier] = shared_storage<ClusterStorage>();
  const unsigned rank = cluster_ctarank(), blocks = cluster_nctarank();
  if (threadIdx.x == 0) {
    mbarrier_init(barrier[0], 1);
    fence_mbarrier_init();
    data[0] = 0;
  }
  cluster_sync();
  if (threadIdx.x == 0) {
    for (int turn = 0; turn < n; ++turn) {
      if (rank > 0 || turn > 0)
        while (!mbarrier_try_wait<true>(barrier[0], static_cast<unsigned>(rank > 0 ? turn : turn - 1) & 1)) {
        }
      // What the token stands for: the count, which grows by one at each block.
      const unsigned next = (rank + 1) % blocks;
      *mapa(&data[0], next) = data[0] + 1;
      mbarrier_arrive_cluster(barrier[0], next);
    }
  }
  cluster_sync();
  if (threadIdx.x == 0) b[blockIdx.x] = data[0];
}

/// Bytes that two other blocks say have come, n times: b counts for how often each block has waited for all of them.
__global__ void told_bytes(int*, int* b, int*, int n) {
  auto& [data, sum, barrier] = shared_storage<ClusterStorage>();
  const unsigned rank = cluster_ctarank(), blocks = cluster_nctarank();
  if (threadIdx.x == 0) {
    mbarrier_init(barrier[0], 1);
    fence_mbarrier_init();
    b[blockIdx.x] = 0;
  }
  for (int turn = 0; turn < n; ++turn) {
    cluster_sync();
    if (threadIdx.x != 0) continue;
    mbarrier_arrive_expect_tx(barrier[0], 3);
    mbarrier_complete_tx(barrier[0], (rank + 1) % blocks, 1);
    mbarrier_complete_tx(barrier[0], (rank + 2) % blocks, 2);
    wait(barrier[0], static_cast<unsigned>(turn) & 1);
    ++b[blockIdx.x];
  }
  cluster_sync();
}

constexpr TestKernel async_table[] = {
    {{"load_box", 1, 128, sizeof(BoxStorage)}, launch_box<true>, 0, 0},
    {{"store_box", 1, 128, sizeof(BoxStorage)}, launch_box<false>, 0, 0},
    entry<bytes>("bytes", 1, 128, sizeof(BytesStorage)),
    entry<hand_over>("hand_over", 1, 64, sizeof(HandOverStorage)),
    entry<phases>("phases", 1, 32),
    entry<elections>("elections", 1, 32),
    entry<registers>("registers", 1, 384),
    {{"neighbours", {4, 2}, 64, sizeof(ClusterStorage), {2, 2}}, Launch<neighbours>::launch, 0, 0},
    {{"token_ring", 4, 32, sizeof(ClusterStorage), 4}, Launch<token_ring>::launch, 0, 0},
    {{"told_bytes", 4, 32, sizeof(ClusterStorage), 4}, Launch<told_bytes>::launch, 0, 0},
    {{"ring", {}, {}}, launch_ring<1, Bug::none>, 0, 0},
    {{"ring_of_cluster", {}, {}}, launch_ring<2, Bug::none>, 0, 0},
};

TestKernels async_kernels() { return {async_table, std::size(async_table)}; }

}  // namespace lapidary::test::inline LAPIDARY_BUILD
