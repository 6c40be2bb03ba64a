#pragma once
// Right kernels whose synchronisation is difficult: for each way in which threads can tell each other how far they are
// one that does it, and is right. They take a, where a[i] is input(i), and words of c that are 0, and leave results in
// b.
#include "device/shared.hpp"
#include "ptx/barrier.hpp"
#include "ptx/cluster.hpp"
#include "ptx/cp_async.hpp"
#include "ptx/cp_async_bulk.hpp"
#include "ptx/fence.hpp"
#include "ptx/grid.hpp"
#include "ptx/warp.hpp"
#include "register.hpp"
#include "right_kernel.hpp"
#include "tile/pipeline.hpp"

namespace lapidary::test::inline LAPIDARY_BUILD {

LAPIDARY_DEVICE int thread_of_grid() { return blockIdx.x * blockDim.x + threadIdx.x; }
LAPIDARY_DEVICE int last_thread() { return blockDim.x - 1; }
LAPIDARY_DEVICE void spin_until(volatile int* word, int value) {
  while (*word != value) {
  }
}

// ---------------------------------------------------------------- barriers of a block

/// One warp fills two buffers in turn, another one empties them.
__global__ void named_barriers_of_two_buffers(int* a, int* b, int*, int n) {
  __shared__ int s[2][32];
  const int lane = threadIdx.x % 32;
  for (int i = 0; i < n; ++i) {
    const int buffer = i % 2, full = 1 + buffer, empty = 3 + buffer;
    if (threadIdx.x < 32) {
      if (i > 1) barrier_sync(empty, 64);
      s[buffer][lane] = a[i * 32 + lane];
      barrier_arrive(full, 64);
    } else {
      barrier_sync(full, 64);
      b[i * 32 + lane] = s[buffer][31 - lane];
      if (i + 2 < n) barrier_arrive(empty, 64);
    }
  }
}

/// Each pair of warps has a barrier of its own.
__global__ void named_barriers_of_pairs(int* a, int* b, int*, int n) {
  __shared__ int s[128];
  const int t = threadIdx.x;
  for (int i = 0; i < n; ++i) {
    s[t] = a[t];
    barrier_sync(1 + t / 64, 64);
    b[t] = s[t ^ 32];
    barrier_sync(1 + t / 64, 64);
  }
}

__global__ void threads_exit_before_barriers(int* a, int* b, int*, int n) {
  __shared__ int s[128];
  const int t = threadIdx.x;
  if (t >= n) return;
  s[t] = a[t];
  __syncthreads();
  b[t] = s[n - 1 - t];
}

/// The warp that exits last works alone when the others have gone.
__global__ void warps_exit_one_by_one(int* a, int* b, int*, int) {
  __shared__ int s[128];
  const int t = threadIdx.x, warp = t / 32;
  s[t] = a[t];
  for (int i = 0; i < 4; ++i) {
    __syncthreads();
    if (warp == i) b[t] = s[127 - t];
    if (warp == i) return;
  }
}

__global__ void barriers_that_count(int* a, int* b, int*, int) {
  const int t = threadIdx.x;
  const int count = __syncthreads_count(a[t] % 2), any = __syncthreads_or(a[t] == 1) != 0,
            all = __syncthreads_and(a[t] >= 0) != 0;
  b[t] = count + 1000 * any + 2000 * all;
}

/// Memory is used for something else after each barrier.
__global__ void tree_with_barriers_then_syncwarp(int* a, int* b, int*, int) {
  __shared__ int s[128];
  const int t = threadIdx.x;
  s[t] = a[t];
  for (int half = 64; half >= 32; half /= 2) {
    __syncthreads();
    if (t < half) s[t] += s[t + half];
  }
  if (t >= 32) return;
  __syncwarp();
  for (int half = 16; half > 0; half /= 2) {
    const int other = s[t + half];
    __syncwarp();
    s[t] += other;
    __syncwarp();
  }
  if (t == 0) b[0] = s[0];
}

__global__ void work_handed_out_through_shared_memory(int* a, int* b, int* c, int n) {
  __shared__ int tile;
  for (;;) {
    if (threadIdx.x == 0) tile = atomicAdd(&c[0], 1);
    __syncthreads();
    const int mine = tile;
    __syncthreads();
    if (mine * 32 >= n) return;
    b[mine * 32 + threadIdx.x] = a[mine * 32 + threadIdx.x];
  }
}

// ---------------------------------------------------------------- warps

__global__ void shuffles_in_both_branches(int* a, int* b, int*, int) {
  const int t = threadIdx.x;
  if (t % 2 == 0)
    b[t] = __shfl_xor_sync(0x55555555u, a[t], 2);
  else
    b[t] = __shfl_xor_sync(0xaaaaaaaau, a[t], 2);
}

/// Tiles of eight lanes, whose loops are of different lengths.
__global__ void sums_of_tiles_of_a_warp(int* a, int* b, int*, int) {
  const int t = threadIdx.x, tile = t / 8;
  const unsigned mask = 0xffu << tile * 8;
  int sum = 0;
  for (int i = 0; i <= tile; ++i) {
    sum = a[t];
    for (int distance = 4; distance > 0; distance /= 2) sum += __shfl_xor_sync(mask, sum, distance, 8);
  }
  b[t] = sum;
}

/// The lanes that a ballot finds synchronise by themselves.
__global__ void lanes_found_by_a_ballot(int* a, int* b, int*, int) {
  __shared__ int s[32];
  const int t = threadIdx.x;
  const unsigned odd = __ballot_sync(0xffffffffu, t % 3 == 1);
  if ((odd >> t & 1) == 0) return;
  s[t] = a[t];
  __syncwarp(odd);
  b[t] = s[t == 1 ? 31 : t - 3];
}

/// One lane asks for places for all.
__global__ void atomics_by_the_leader_of_a_warp(int*, int* b, int* c, int) {
  const int t = threadIdx.x, lane = t % 32;
  const unsigned odd = __ballot_sync(0xffffffffu, lane % 2);
  int first = 0;
  if (lane == 0) first = atomicAdd(&c[0], 16);
  first = __shfl_sync(0xffffffffu, first, 0);
  if (odd >> lane & 1) b[first + lane / 2] = 1;
}

/// The first access of a word is an atomicExch, which has no need of what is there.
__global__ void lock_that_is_open_at_first(int* a, int* b, int*, int) {
  __shared__ int lock, sum;
  if (threadIdx.x == 0) atomicExch(&lock, 0);
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  while (atomicCAS(&lock, 0, 1) != 0) {
  }
  sum += a[threadIdx.x];
  __threadfence_block();
  atomicExch(&lock, 0);
  __syncthreads();
  if (threadIdx.x == 0) b[0] = sum;
}

__global__ void volatile_word_within_a_warp(int* a, int* b, int*, int) {
  __shared__ int s[1];
  __shared__ volatile int flag;
  const int t = threadIdx.x;
  if (t == 0) flag = 0;
  __syncwarp();
  if (t == 31) {
    s[0] = a[31];
    __threadfence_block();
    flag = 1;
  } else {
    spin_until(&flag, 1);
  }
  b[t] = s[0];
}

// ---------------------------------------------------------------- words of shared memory

__global__ void volatile_word_in_shared_memory(int* a, int* b, int*, int) {
  __shared__ int s[64];
  __shared__ volatile int flag;
  const int t = threadIdx.x;
  if (t == 0) flag = 0;
  __syncthreads();
  if (t < 32) {
    s[t] = a[t];
    __syncwarp();
    if (t == 0) {
      __threadfence_block();
      flag = 1;
    }
  } else {
    spin_until(&flag, 1);
    b[t - 32] = s[63 - t];
  }
}

/// The waiting loop reads by atomics, the other side writes by one.
__global__ void atomic_word_in_shared_memory(int* a, int* b, int*, int) {
  __shared__ int s[64], flag;
  const int t = threadIdx.x;
  if (t == 0) flag = 0;
  __syncthreads();
  if (t >= 32) {
    s[t] = a[t];
    __threadfence_block();
    atomicAdd(&flag, 1);
  } else {
    while (atomicAdd(&flag, 0) != 32) {
    }
    b[t] = s[63 - t];
  }
}

/// Two warps hand a buffer to and fro.
__global__ void volatile_word_to_and_fro(int* a, int* b, int*, int n) {
  __shared__ int s[32];
  __shared__ volatile int turn;
  const int lane = threadIdx.x % 32, me = threadIdx.x / 32;
  if (threadIdx.x == 0) turn = 0;
  __syncthreads();
  for (int i = 0; i < n; ++i) {
    spin_until(&turn, 2 * i + me);
    if (me == 0)
      s[lane] = a[i * 32 + lane];
    else
      b[i * 32 + lane] = s[31 - lane];
    __syncwarp();
    __threadfence_block();
    if (lane == 0) turn = 2 * i + me + 1;
  }
}

__global__ void lock_of_warps(int*, int* b, int*, int n) {
  __shared__ int lock, sum;
  if (threadIdx.x == 0) lock = sum = 0;
  __syncthreads();
  for (int i = 0; i < n; ++i) {
    if (threadIdx.x % 32 == 0) {
      while (atomicCAS(&lock, 0, 1) != 0) {
      }
      sum += 1;
      __threadfence_block();
      atomicExch(&lock, 0);
    }
    __syncwarp();
  }
  __syncthreads();
  if (threadIdx.x == 0) b[0] = sum;
}

/// Lanes of one warp exclude each other.
__global__ void lock_of_threads(int*, int* b, int*, int) {
  __shared__ int lock, sum;
  if (threadIdx.x == 0) lock = sum = 0;
  __syncthreads();
  for (bool done = false; !done;) {
    if (atomicCAS(&lock, 0, 1) != 0) continue;
    sum += 1;
    __threadfence_block();
    atomicExch(&lock, 0);
    done = true;
  }
  __syncthreads();
  if (threadIdx.x == 0) b[0] = sum;
}

/// Who has waited for a word comes after its writers, and may access it as any other.
__global__ void counter_that_who_has_waited_resets(int* a, int* b, int*, int n) {
  __shared__ int s[64], arrivals;
  __shared__ volatile int round;
  const int t = threadIdx.x;
  if (t == 0) arrivals = 0;
  if (t == 0) round = 0;
  __syncthreads();
  for (int i = 0; i < n; ++i) {
    s[t] = a[i * 64 + t];
    __threadfence_block();
    __syncwarp();
    if (t % 32 == 0) {
      atomicAdd(&arrivals, 1);
      if (t == 0) {
        spin_until(&arrivals, 2);
        __threadfence_block();
        arrivals = 0;
        __threadfence_block();
        round = i + 1;
      }
      spin_until(&round, i + 1);
    }
    __syncwarp();
    b[i * 64 + t] = s[63 - t];
    __syncthreads();
  }
}

__global__ void histogram_by_atomics(int* a, int* b, int*, int) {
  __shared__ int bins[8];
  const int t = threadIdx.x;
  if (t < 8) bins[t] = 0;
  __syncthreads();
  atomicAdd(&bins[a[thread_of_grid()] % 8], 1);
  __syncthreads();
  if (t < 8) atomicAdd(&b[t], bins[t]);
}

// ---------------------------------------------------------------- words of global memory, between blocks

__global__ void later_block_waits_for_an_earlier_one(int* a, int* b, int* c, int) {
  volatile int* const flag = &c[0];
  int* const data = &c[32];
  const int t = threadIdx.x;
  if (blockIdx.x == 0) {
    data[t] = a[t];
    __threadfence();
    __syncthreads();
    if (t == 0) *flag = 1;
  } else if (blockIdx.x == gridDim.x - 1) {
    if (t == 0) spin_until(flag, 1);
    __syncthreads();
    b[t] = data[last_thread() - t];
  }
}

/// Blocks that begin first are not those that finish first.
__global__ void earlier_block_waits_for_a_later_one(int* a, int* b, int* c, int) {
  volatile int* const flag = &c[0];
  int* const data = &c[32];
  const int t = threadIdx.x;
  if (blockIdx.x == gridDim.x - 1) {
    data[t] = a[t];
    __syncthreads();
    if (t == 0) {
      __threadfence();
      *flag = 1;
    }
  } else if (blockIdx.x == 0) {
    spin_until(flag, 1);
    b[t] = data[last_thread() - t];
  }
}

/// As the one before, by atomics alone, and with a pause between them.
__global__ void waits_with_nanosleep(int* a, int* b, int* c, int) {
  if (blockIdx.x == gridDim.x - 1) {
    c[1] = a[0];
    __threadfence();
    atomicExch(&c[0], 1);
  } else if (blockIdx.x == 0) {
    while (atomicAdd(&c[0], 0) == 0) __nanosleep(100);
    b[0] = c[1];
  }
}

/// What block 0 has written comes to block 2 by way of block 1.
__global__ void chain_of_three_blocks(int* a, int* b, int* c, int) {
  volatile int* const flags = c;
  const int block = blockIdx.x;
  if (block == 0) c[32] = a[0];
  if (block > 0) spin_until(&flags[block - 1], 1);
  if (block == 2) b[0] = c[32];
  __threadfence();
  flags[block] = 1;
}

__global__ void queue_between_blocks(int* a, int* b, int* c, int n) {
  volatile int *const head = &c[0], *const tail = &c[1];
  int* const slots = &c[32];
  for (int i = 0; i < n; ++i) {
    if (blockIdx.x == 0) {
      while (i - *tail >= 4) {
      }
      slots[i % 4] = a[i];
      __threadfence();
      *head = i + 1;
    } else {
      while (*head <= i) {
      }
      b[i] = slots[i % 4];
      __threadfence();
      *tail = i + 1;
    }
  }
}

__global__ void split_k_by_atomics(int* a, int* b, int*, int) { atomicAdd(&b[threadIdx.x], a[thread_of_grid()]); }

/// Blocks add one after the other, each to what the one before has left.
__global__ void split_k_in_turn(int* a, int* b, int* c, int) {
  volatile int* const turn = &c[0];
  const int t = threadIdx.x, block = blockIdx.x;
  if (t == 0) spin_until(turn, block);
  __syncthreads();
  b[t] = (block ? b[t] : 0) + a[thread_of_grid()];
  __threadfence();
  __syncthreads();
  if (t == 0) *turn = block + 1;
}

/// One thread has waited, and another one of its block accesses the words behind a barrier.
__global__ void word_that_is_waited_for_is_read_again(int* a, int* b, int* c, int) {
  const int t = threadIdx.x;
  if (blockIdx.x == 0) {
    __threadfence();
    atomicExch(&c[t], a[t] + 1);
  } else {
    while (*static_cast<volatile int*>(&c[t]) == 0) {
    }
    __syncthreads();
    b[t] = c[last_thread() - t] - 1;
    __syncthreads();
    c[t] = 0;
  }
}

/// Block 2 has found what block 1 has written when that had found what block 0 has written.
__global__ void word_that_another_block_has_waited_for(int* a, int* b, int* c, int) {
  volatile int* const words = c;
  if (blockIdx.x == 0) words[0] = a[1];
  if (blockIdx.x == 1) {
    spin_until(&words[0], a[1]);
    __threadfence();
    words[1] = 1;
  }
  if (blockIdx.x == 2) {
    spin_until(&words[1], 1);
    __threadfence();
    b[0] = c[0];
  }
}

/// CUDA Programming Guide, "Memory Fence Functions".
__global__ void last_block_sums_up(int* a, int* b, int* c, int) {
  volatile int* const partial = &c[32];
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = a[blockIdx.x];
    __threadfence();
    is_last = atomicInc(reinterpret_cast<unsigned*>(&c[0]), gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last || threadIdx.x > 0) return;
  int sum = 0;
  for (unsigned i = 0; i < gridDim.x; ++i) sum += partial[i];
  b[0] = sum;
  c[0] = 0;
}

/// Each thread's fence stands before the barrier, and one of them counts for all; plain reads.
__global__ void last_block_sums_up_for_all_threads(int* a, int* b, int* c, int) {
  __shared__ bool is_last;
  int* const partial = &c[32];
  partial[thread_of_grid()] = a[thread_of_grid()];
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) is_last = atomicAdd(&c[0], 1) == static_cast<int>(gridDim.x) - 1;
  __syncthreads();
  if (!is_last) return;
  int sum = 0;
  for (unsigned i = 0; i < gridDim.x; ++i) sum += partial[i * blockDim.x + threadIdx.x];
  b[threadIdx.x] = sum;
}

/// Of each tile's blocks the last one, and blocks beyond the last tile exit at once.
__global__ void last_block_of_each_tile(int* a, int* b, int* c, int n) {
  const int tile = blockIdx.x / 2;
  if (tile >= n) return;
  c[32 + blockIdx.x] = a[blockIdx.x];
  __threadfence();
  if (atomicAdd(&c[tile], 1) == 1) b[tile] = c[32 + 2 * tile] + c[33 + 2 * tile];
}

__device__ int arrived, tickets[2], sum_of_all;
__device__ __align__(16) int table_of_all[64];

__global__ void last_block_by_a_device_variable(int* a, int* b, int* c, int) {
  c[blockIdx.x] = a[blockIdx.x];
  __threadfence();
  if (atomicAdd(&arrived, 1) != static_cast<int>(gridDim.x) - 1) return;
  __threadfence();
  for (unsigned i = 0; i < gridDim.x; ++i) b[i] = c[i];
  arrived = 0;
}

__global__ void ticket_lock_in_device_variables(int* a, int* b, int*, int) {
  volatile int* const serving = &tickets[1];
  const int ticket = atomicAdd(&tickets[0], 1);
  spin_until(serving, ticket);
  b[0] += a[blockIdx.x];
  __threadfence();
  *serving = ticket + 1;
  if (ticket == static_cast<int>(gridDim.x) - 1) tickets[0] = tickets[1] = 0;
}

/// CUDA Programming Guide, "Atomic Functions": any operation by atomicCAS, which tells whether the word is still what a
/// plain load has found.
__global__ void sums_by_compare_and_swap(int* a, int* b, int* c, int) {
  int old = sum_of_all, expected;
  do {
    expected = old;
    old = atomicCAS(&sum_of_all, expected, expected + a[thread_of_grid()]);
  } while (old != expected);
  __threadfence();
  __syncthreads();
  if (threadIdx.x > 0 || atomicAdd(&c[0], 1) != static_cast<int>(gridDim.x) - 1) return;
  b[0] = atomicExch(&sum_of_all, 0);
}

__global__ void copies_of_a_device_variable(int* a, int* b, int*, int) {
  __shared__ __align__(16) int s[64];
  const int t = threadIdx.x;
  table_of_all[t] = a[t];
  __syncthreads();
  if (t < 16) cp_async<16>(&s[4 * t], &table_of_all[60 - 4 * t], 16);
  cp_async_commit_group();
  cp_async_wait_group<0>();
  __syncthreads();
  b[t] = s[t];
}

/// Counted up by all blocks, which wait for the last one.
LAPIDARY_DEVICE void grid_barrier(int* arrivals, int round) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(arrivals, 1);
    while (*static_cast<volatile int*>(arrivals) < static_cast<int>(gridDim.x) * round) {
    }
    __threadfence();
  }
  __syncthreads();
}

/// Each block reads what its neighbour has written, over and over.
__global__ void barrier_of_a_grid(int* a, int* b, int* c, int n) {
  int* const data = &c[32];
  const int i = thread_of_grid(), threads = gridDim.x * blockDim.x;
  int value = a[i];
  for (int round = 0; round < n; ++round) {
    data[i] = value;
    grid_barrier(&c[0], 2 * round + 1);
    value = data[(i + static_cast<int>(blockDim.x)) % threads];
    grid_barrier(&c[0], 2 * round + 2);
  }
  b[i] = value;
}

/// What all blocks have read is written behind the barrier.
__global__ void grid_overwrites_what_all_have_read(int* a, int* b, int* c, int) {
  b[thread_of_grid()] = a[0];
  grid_barrier(&c[0], 1);
  if (blockIdx.x == 1 && threadIdx.x == 0) a[0] = 5;
  grid_barrier(&c[0], 2);
  b[thread_of_grid()] += a[0];
}

/// Each block's prefix is its predecessor's and its own sum: Merrill and Garland, "Single-pass Parallel Prefix Scan
/// with Decoupled Look-back".
__global__ void decoupled_look_back(int* a, int* b, int* c, int) {
  enum { nothing, sum_of_block, prefix };
  volatile int* const status = &c[0];
  int *const sums = &c[32], *const prefixes = &c[64];
  const int block = blockIdx.x;
  sums[block] = a[block];
  __threadfence();
  status[block] = sum_of_block;
  int before = 0;
  for (int other = block - 1; other >= 0; --other) {
    int found;
    while ((found = status[other]) == nothing) {
    }
    before += found == prefix ? prefixes[other] : sums[other];
    if (found == prefix) break;
  }
  b[block] = prefixes[block] = before + a[block];
  __threadfence();
  status[block] = prefix;
}

/// Blocks are numbered by who comes first.
__global__ void blocks_numbered_by_an_atomic(int* a, int* b, int* c, int) {
  __shared__ int number;
  if (threadIdx.x == 0) number = atomicAdd(&c[0], 1);
  __syncthreads();
  const int i = number * blockDim.x + threadIdx.x;
  b[i] = a[i];
}

/// Words are volatile, so that nothing but they themselves need be ordered.
__global__ void volatile_data_without_an_order(int*, int* b, int* c, int) {
  volatile int* const words = c;
  words[0] = 1;
  b[thread_of_grid()] = words[0];
}

__global__ void single_bytes_of_neighbours(int* a, int* b, int*, int) {
  auto* const bytes = reinterpret_cast<unsigned char*>(b);
  bytes[thread_of_grid()] = static_cast<unsigned char>(a[thread_of_grid() / 4]);
}

// ---------------------------------------------------------------- asynchronous copies

__global__ void double_buffered_cp_async(int* a, int* b, int*, int n) {
  __shared__ int s[2][64];
  const int t = threadIdx.x;
  const auto load = [&](int i) {
    if (i < n) cp_async<4>(&s[i % 2][t], &a[i * 64 + t], 4);
    cp_async_commit_group();
  };
  load(0);
  for (int i = 0; i < n; ++i) {
    load(i + 1);
    cp_async_wait_group<1>();
    __syncthreads();
    b[i * 64 + t] = s[i % 2][63 - t];
    __syncthreads();
  }
}

struct RingStorage {
  SharedArray<int, 2 * 64> data;
  SharedArray<Mbarrier, 2> full, empty;
};

/// A warp fills stages by ordinary stores; its lanes arrive each for itself.
__global__ void ring_filled_by_threads(int* a, int* b, int*, int n) {
  auto& [data, full, empty] = shared_storage<RingStorage>();
  const int t = threadIdx.x % 32;
  if (threadIdx.x < 2) {
    mbarrier_init(full[threadIdx.x], 32);
    mbarrier_init(empty[threadIdx.x], 1);
  }
  __syncthreads();
  RingPosition<2> p;
  for (int i = 0; i < n; ++i, p.advance()) {
    if (threadIdx.x < 32) {
      wait(empty[p.stage], p.phase ^ 1);
      data[p.stage * 64 + t] = a[i * 32 + t];
      mbarrier_arrive(full[p.stage]);
    } else {
      while (!mbarrier_test_wait(full[p.stage], p.phase)) {
      }
      b[i * 32 + t] = data[p.stage * 64 + 31 - t];
      __syncwarp();
      if (t == 0) mbarrier_arrive(empty[p.stage]);
    }
  }
}

/// One thread fills stages by bulk copies; the others pass what they read on by bulk stores from elsewhere.
__global__ void ring_filled_by_bulk_copies(int* a, int* b, int*, int n) {
  auto& [data, full, empty] = shared_storage<RingStorage>();
  const Pipeline<2> pipeline{&full[0], &empty[0]};
  RingPosition<2> p;
  const int t = threadIdx.x - 32;
  if (threadIdx.x == 0) {
    pipeline.init(2);
    fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 0; i < n; ++i, p.advance()) {
      pipeline.wait_empty(p);
      pipeline.expect(p, 256);
      cp_async_bulk_load(&data[p.stage * 64], &a[i * 64], 256, pipeline.full(p));
    }
  }
  if (threadIdx.x < 32) return;
  for (int i = 0; i < n; ++i, p.advance()) {
    pipeline.wait_full(p);
    b[i * 64 + t] = data[p.stage * 64 + 63 - t];
    __syncwarp();
    if (t % 32 == 0) pipeline.release(p);
  }
}

__global__ void bulk_store_of_what_all_have_written(int* a, int* b, int*, int) {
  auto& [data, full, empty] = shared_storage<RingStorage>();
  const int t = threadIdx.x;
  for (int i = 0; i < 2; ++i) {
    data[t] = a[i * 64 + 63 - t];
    fence_proxy_async();
    __syncthreads();
    if (t == 0) {
      cp_async_bulk_store(&b[i * 64], &data[0], 256);
      cp_async_bulk_commit_group();
      cp_async_bulk_wait_group_read<0>();
    }
    __syncthreads();
  }
}

/// What the kernel before has written is read behind the wait; shared memory may be used before.
__global__ void launch_that_overlaps(int* a, int* b, int* c, int) {
  __shared__ int s[64];
  const int t = threadIdx.x;
  s[t] = t;
  __syncthreads();
  grid_launch_dependents();
  grid_wait();
  c[t] = a[t];
  __syncthreads();
  b[t] = c[s[63 - t]];
}

// ---------------------------------------------------------------- clusters

struct ClusterStorage {
  SharedArray<int, 64> data;
  SharedArray<int, 1> word;
};

__global__ void peers_read_shared_memory(int* a, int* b, int*, int) {
  auto& [data, word] = shared_storage<ClusterStorage>();
  const unsigned peer = cluster_ctarank() ^ 1;
  data[threadIdx.x] = a[thread_of_grid()];
  barrier_cluster_arrive();
  barrier_cluster_wait();
  b[thread_of_grid()] = mapa(&data[0], peer)[63 - threadIdx.x];
  barrier_cluster_arrive();
  barrier_cluster_wait();
}

/// Work of its own stands between a block's arrival and its wait.
__global__ void cluster_barrier_in_two_parts(int* a, int* b, int*, int) {
  auto& [data, word] = shared_storage<ClusterStorage>();
  const unsigned peer = cluster_ctarank() ^ 1;
  barrier_cluster_arrive();
  barrier_cluster_wait();
  mapa(&data[0], peer)[threadIdx.x] = a[thread_of_grid()];
  barrier_cluster_arrive();
  const int more = a[threadIdx.x];
  barrier_cluster_wait();
  b[thread_of_grid()] = data[threadIdx.x] + more;
}

__global__ void peers_add_by_atomics(int* a, int* b, int*, int) {
  auto& [data, word] = shared_storage<ClusterStorage>();
  if (threadIdx.x == 0) word[0] = 0;
  barrier_cluster_arrive();
  barrier_cluster_wait();
  atomicAdd(mapa(&word[0], 0), a[thread_of_grid()]);
  barrier_cluster_arrive();
  barrier_cluster_wait();
  if (thread_of_grid() == 0) b[0] = word[0];
}

/// A block spins on a word of its own, which its peer writes.
__global__ void peer_writes_a_volatile_word(int* a, int* b, int*, int) {
  auto& [data, word] = shared_storage<ClusterStorage>();
  const int t = threadIdx.x;
  if (t == 0) word[0] = 0;
  barrier_cluster_arrive();
  barrier_cluster_wait();
  if (cluster_ctarank() == 1) {
    mapa(&data[0], 0)[t] = a[t];
    __threadfence();
    __syncthreads();
    if (t == 0) *static_cast<volatile int*>(mapa(&word[0], 0)) = 1;
  } else {
    spin_until(&word[0], 1);
    b[t] = data[63 - t];
  }
  barrier_cluster_arrive();
  barrier_cluster_wait();
}

// ---------------------------------------------------------------- what they leave

constexpr int sum_of(int first, int count, int step = 1) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += input(first + i * step);
  return sum;
}
constexpr int reversed(int i, int length) { return input(i / length * length + length - 1 - i % length); }
constexpr int odd_of(int count) {
  int odd = 0;
  for (int i = 0; i < count; ++i) odd += input(i) % 2;
  return odd;
}
constexpr int in_bin(int bin, int count) {
  int found = 0;
  for (int i = 0; i < count; ++i) found += input(i) % 8 == bin;
  return found;
}

template <auto kernel>
constexpr RightKernel right(const char* name, const Extent3& grid, const Extent3& block, int n, int results,
                            int (*expected)(int), unsigned shared_bytes = 0, const Extent3& cluster = {},
                            bool overlaps = false) {
  RightKernel made{entry<kernel>(name, grid, block, shared_bytes), n, results, expected};
  made.kernel.shape.cluster = cluster;
  made.kernel.shape.overlaps = overlaps;
  return made;
}
#define RIGHT(kernel, ...) right<kernel>(#kernel, __VA_ARGS__)
constexpr unsigned ring_bytes = sizeof(RingStorage), cluster_bytes = sizeof(ClusterStorage);

constexpr RightKernel right_table[] = {
    RIGHT(named_barriers_of_two_buffers, 1, 64, 7, 7 * 32, [](int i) { return reversed(i, 32); }),
    RIGHT(named_barriers_of_pairs, 1, 128, 3, 128, [](int i) { return input(i ^ 32); }),
    RIGHT(threads_exit_before_barriers, 1, 128, 45, 45, [](int i) { return input(44 - i); }),
    RIGHT(warps_exit_one_by_one, 1, 128, 0, 128, [](int i) { return input(127 - i); }),
    RIGHT(barriers_that_count, 1, 96, 0, 96, [](int) { return odd_of(96) + 3000; }),
    RIGHT(tree_with_barriers_then_syncwarp, 1, 128, 0, 1, [](int) { return sum_of(0, 128); }),
    RIGHT(work_handed_out_through_shared_memory, 3, 32, 200, 224, input),
    RIGHT(shuffles_in_both_branches, 1, 32, 0, 32, [](int i) { return input(i ^ 2); }),
    RIGHT(sums_of_tiles_of_a_warp, 1, 32, 0, 32, [](int i) { return sum_of(i / 8 * 8, 8); }),
    RIGHT(lanes_found_by_a_ballot, 1, 32, 0, 32, [](int i) { return i % 3 == 1 ? input(i == 1 ? 31 : i - 3) : 0; }),
    RIGHT(atomics_by_the_leader_of_a_warp, 2, 64, 0, 64, [](int) { return 1; }),
    RIGHT(volatile_word_within_a_warp, 1, 32, 0, 32, [](int) { return input(31); }),
    RIGHT(volatile_word_in_shared_memory, 1, 64, 0, 32, [](int i) { return input(31 - i); }),
    RIGHT(atomic_word_in_shared_memory, 1, 64, 0, 32, [](int i) { return input(63 - i); }),
    RIGHT(volatile_word_to_and_fro, 1, 64, 5, 160, [](int i) { return reversed(i, 32); }),
    RIGHT(lock_of_warps, 1, 128, 3, 1, [](int) { return 12; }),
    RIGHT(lock_of_threads, 1, 64, 0, 1, [](int) { return 64; }),
    RIGHT(lock_that_is_open_at_first, 1, 64, 0, 1, [](int) { return sum_of(0, 64); }),
    RIGHT(counter_that_who_has_waited_resets, 1, 64, 3, 192, [](int i) { return reversed(i, 64); }),
    RIGHT(histogram_by_atomics, 4, 64, 0, 8, [](int i) { return in_bin(i, 256); }),
    RIGHT(later_block_waits_for_an_earlier_one, 4, 64, 0, 64, [](int i) { return input(63 - i); }),
    RIGHT(earlier_block_waits_for_a_later_one, 4, 64, 0, 64, [](int i) { return input(63 - i); }),
    RIGHT(waits_with_nanosleep, 3, 1, 0, 1, [](int) { return input(0); }),
    RIGHT(chain_of_three_blocks, 3, 1, 0, 1, [](int) { return input(0); }),
    RIGHT(queue_between_blocks, 2, 1, 20, 20, input),
    RIGHT(split_k_by_atomics, 4, 64, 0, 64, [](int i) { return sum_of(i, 4, 64); }),
    RIGHT(split_k_in_turn, 4, 64, 0, 64, [](int i) { return sum_of(i, 4, 64); }),
    RIGHT(word_that_is_waited_for_is_read_again, 2, 64, 0, 64, [](int i) { return input(63 - i); }),
    RIGHT(word_that_another_block_has_waited_for, 3, 1, 0, 1, [](int) { return input(1); }),
    RIGHT(last_block_sums_up, 5, 64, 0, 1, [](int) { return sum_of(0, 5); }),
    RIGHT(last_block_sums_up_for_all_threads, 4, 64, 0, 64, [](int i) { return sum_of(i, 4, 64); }),
    RIGHT(last_block_of_each_tile, 8, 1, 3, 4, [](int i) { return i < 3 ? sum_of(2 * i, 2) : 0; }),
    RIGHT(last_block_by_a_device_variable, 6, 1, 0, 6, input),
    RIGHT(ticket_lock_in_device_variables, 6, 1, 0, 1, [](int) { return sum_of(0, 6); }),
    RIGHT(sums_by_compare_and_swap, 4, 64, 0, 1, [](int) { return sum_of(0, 256); }),
    RIGHT(copies_of_a_device_variable, 1, 64, 0, 64, [](int i) { return input(i / 4 * -4 + 60 + i % 4); }),
    RIGHT(barrier_of_a_grid, 4, 64, 3, 256, [](int i) { return input((i + 3 * 64) % 256); }),
    RIGHT(grid_overwrites_what_all_have_read, 4, 32, 0, 128, [](int) { return input(0) + 5; }),
    RIGHT(decoupled_look_back, 8, 1, 0, 8, [](int i) { return sum_of(0, i + 1); }),
    RIGHT(blocks_numbered_by_an_atomic, 4, 32, 0, 128, input),
    RIGHT(volatile_data_without_an_order, 3, 64, 0, 192, [](int) { return 1; }),
    RIGHT(single_bytes_of_neighbours, 3, 64, 0, 48, [](int i) { return input(i) * 0x01010101; }),
    RIGHT(double_buffered_cp_async, 1, 64, 4, 256, [](int i) { return reversed(i, 64); }),
    RIGHT(
        ring_filled_by_threads, 1, 64, 6, 192, [](int i) { return reversed(i, 32); }, ring_bytes),
    RIGHT(
        ring_filled_by_bulk_copies, 1, 96, 5, 320, [](int i) { return reversed(i, 64); }, ring_bytes),
    RIGHT(
        bulk_store_of_what_all_have_written, 1, 64, 0, 128, [](int i) { return reversed(i, 64); }, ring_bytes),
    RIGHT(
        launch_that_overlaps, 1, 64, 0, 64, [](int i) { return input(63 - i); }, 0, {}, true),
    RIGHT(
        peers_read_shared_memory, 4, 64, 0, 256, [](int i) { return reversed(i ^ 64, 64); }, cluster_bytes, 2),
    RIGHT(
        cluster_barrier_in_two_parts, 4, 64, 0, 256, [](int i) { return input(i ^ 64) + input(i % 64); }, cluster_bytes,
        2),
    RIGHT(
        peers_add_by_atomics, 2, 64, 0, 1, [](int) { return sum_of(0, 128); }, cluster_bytes, 2),
    RIGHT(
        peer_writes_a_volatile_word, 2, 64, 0, 64, [](int i) { return input(63 - i); }, cluster_bytes, 2),
};
#undef RIGHT

RightKernels right_kernels() { return right_table; }

}  // namespace lapidary::test::inline LAPIDARY_BUILD
