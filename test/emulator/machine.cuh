#pragma once
// Sound kernels, each of which stands on one ability of a warp or a block. The same for all builds.
#include "device/shared.hpp"
#include "ptx/barrier.hpp"
#include "register.hpp"

namespace lapidary::test::inline LAPIDARY_BUILD {

constexpr unsigned all_lanes = 0xffffffffu;

LAPIDARY_DEVICE int block_number() { return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z); }
LAPIDARY_DEVICE int thread_number() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
LAPIDARY_DEVICE int threads_of_block() { return blockDim.x * blockDim.y * blockDim.z; }

/// a: every thread's coordinates; b: the lanes of its warp.
__global__ void indices(int* a, int* b, int*, int) {
  const int thread = block_number() * threads_of_block() + thread_number();
  a[thread] = threadIdx.x | threadIdx.y << 10 | threadIdx.z << 20;
  b[thread] = static_cast<int>(__ballot_sync(__activemask(), 1));
}

/// Reverses the first n elements of a into b; the other threads return before the barrier.
__global__ void early_return(int* a, int* b, int*, int n) {
  __shared__ int s[1024];
  const int t = threadIdx.x;
  if (t >= n) return;
  s[t] = a[t];
  __syncthreads();
  b[t] = s[n - 1 - t];
}

/// b: of a's elements, how many are not 0; c: whether any (1) and all (2) are.
__global__ void block_votes(int* a, int* b, int* c, int) {
  const int t = threadIdx.x;
  b[t] = __syncthreads_count(a[t]);
  const int any = __syncthreads_or(a[t]) != 0, all = __syncthreads_and(a[t]) != 0;
  c[t] = any | all << 1;
}

/// One warp fills a buffer, another one empties it, n times: b = 2 a.
__global__ void producer_consumer(int* a, int* b, int*, int n) {
  __shared__ int s[32];
  constexpr int full = 1, empty = 2;
  const int lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    for (int i = 0; i < n; ++i) {
      if (i > 0) barrier_sync(empty, 64);
      s[lane] = a[i * 32 + lane];
      barrier_arrive(full, 64);
    }
  } else {
    for (int i = 0; i < n; ++i) {
      barrier_sync(full, 64);
      b[i * 32 + lane] = 2 * s[31 - lane];
      if (i + 1 < n) barrier_arrive(empty, 64);
    }
  }
}

/// Reverses a's 33 elements into b by a barrier for 64 threads: two warps, of which the second has one lane.
__global__ void short_warp(int* a, int* b, int*, int) {
  __shared__ int s[33];
  const int t = threadIdx.x;
  s[t] = a[t];
  barrier_sync(1, 64);
  b[t] = s[32 - t];
}

/// Shuffles a's elements among the lanes in four modes; b[0] is the operand, n the width.
__global__ void shuffles(int* a, int* b, int* c, int n) {
  const int lane = threadIdx.x, operand = b[0], value = a[lane];
  c[lane] = __shfl_sync(all_lanes, value, operand, n);
  c[32 + lane] = __shfl_up_sync(all_lanes, value, operand, n);
  c[64 + lane] = __shfl_down_sync(all_lanes, value, operand, n);
  c[96 + lane] = __shfl_xor_sync(all_lanes, value, operand, n);
}

/// Rotates 64-bit elements of a by n lanes into b; c gets the sum of the warp's elements as doubles.
__global__ void wide_shuffles(long long* a, long long* b, long long* c, int n) {
  const int lane = threadIdx.x;
  b[lane] = __shfl_sync(all_lanes, a[lane], lane + n);
  double sum = static_cast<double>(a[lane]);
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(all_lanes, sum, distance);
  c[lane] = static_cast<long long>(sum);
}

/// The two halves of a warp vote apart from each other: b the ballot, c whether any (1) and all (2) lanes' a is not 0.
__global__ void half_warp_votes(int* a, int* b, int* c, int) {
  const int lane = threadIdx.x;
  if (lane < 16) {
    b[lane] = static_cast<int>(__ballot_sync(0x0000ffffu, a[lane]));
    c[lane] = __any_sync(0x0000ffffu, a[lane]) | __all_sync(0x0000ffffu, a[lane]) << 1;
  } else {
    b[lane] = static_cast<int>(__ballot_sync(0xffff0000u, a[lane]));
    c[lane] = __any_sync(0xffff0000u, a[lane]) | __all_sync(0xffff0000u, a[lane]) << 1;
  }
}

/// What lanes with an even and with an odd element of a find apart from each other, at two places: b the lanes with the
/// same element, those that are active, and whether all elements are the same; c the elements' sum, least, greatest,
/// the bits of all and of any, and those of an odd number.
__global__ void parts_of_a_warp(int* a, int* b, int* c, int) {
  const int lane = threadIdx.x, value = a[lane];
  const unsigned odd = __ballot_sync(all_lanes, value & 1);
  const auto find = [&](unsigned mask) {
    int all;
    __match_all_sync(mask, value, &all);
    b[lane] = static_cast<int>(__match_any_sync(mask, value));
    b[64 + lane] = all;
    c[lane] = __reduce_add_sync(mask, value);
    c[32 + lane] = __reduce_min_sync(mask, value);
    c[64 + lane] = __reduce_max_sync(mask, value);
    const unsigned bits = static_cast<unsigned>(value);
    c[96 + lane] = static_cast<int>(__reduce_and_sync(mask, bits));
    c[128 + lane] = static_cast<int>(__reduce_or_sync(mask, bits));
    c[160 + lane] = static_cast<int>(__reduce_xor_sync(mask, bits));
  };
  if (value & 1) {
    b[32 + lane] = static_cast<int>(__activemask());
    find(odd);
  } else {
    b[32 + lane] = static_cast<int>(__activemask());
    find(~odd);
  }
}

/// Each warp reverses its 32 elements of a into b through shared memory, n times over, ordered by __syncwarp alone.
__global__ void warp_exchange(int* a, int* b, int*, int n) {
  __shared__ int s[1024];
  const int t = threadIdx.x, mirror = t ^ 31;
  int value = a[t];
  for (int i = 0; i < n; ++i) {
    s[t] = value;
    __syncwarp();
    value = s[mirror];
    __syncwarp();
  }
  b[t] = value;
}

/// Lanes 0 to 15 alone reverse their elements, ordered by a __syncwarp of their own.
__global__ void half_warp_exchange(int* a, int* b, int*, int) {
  __shared__ int s[16];
  const int t = threadIdx.x;
  if (t >= 16) return;
  s[t] = a[t];
  __syncwarp(0x0000ffffu);
  b[t] = s[15 - t];
}

/// Every atomic operation on one word of b each, by all threads of the grid; the words begin with the values of a test.
__global__ void global_atomics(int* a, int* b, int* c, int) {
  const int thread = block_number() * threads_of_block() + thread_number();
  const int value = a[thread];
  atomicAdd(&b[0], value);
  atomicMin(&b[1], value);
  atomicMax(&b[2], value);
  atomicOr(&b[3], 1 << value % 31);
  atomicAnd(&b[4], ~(1 << value % 31));
  atomicXor(&b[5], value);
  for (int old = b[6];;) {  // the same as an addition
    const int seen = atomicCAS(&b[6], old, old + value);
    if (seen == old) break;
    old = seen;
  }
  atomicAdd(reinterpret_cast<float*>(&b[7]), 0.5f);
  atomicAdd(reinterpret_cast<unsigned long long*>(&b[8]), 1ull << 31);
  c[atomicAdd(&b[10], 1)] = thread;  // each thread gets a place of its own
}

/// A histogram of a's elements, which are below 32, in shared memory first; n elements a thread.
__global__ void histogram(int* a, int* b, int*, int n) {
  __shared__ int bins[32];
  const int t = threadIdx.x;
  if (t < 32) bins[t] = 0;
  __syncthreads();
  for (int i = 0; i < n; ++i) atomicAdd(&bins[a[(blockIdx.x * n + i) * blockDim.x + t]], 1);
  __syncthreads();
  if (t < 32) atomicAdd(&b[t], bins[t]);
}

/// A kernel for blocks of at most so many threads.
template <int threads>
__global__ __launch_bounds__(2 * threads, 1) void bounded(int*, int* b, int*, int) {
  b[threadIdx.x] = threads;
}

struct TransposeStorage {
  SharedArray<int, 32 * 33> tile;
  SharedArray<int, 32> last_row;
};

/// Transposes the 32 x 32 tiles of an n x n matrix a into b through dynamic shared memory; c gets each tile's last row.
__global__ void transpose(int* a, int* b, int* c, int n) {
  auto& [tile, last_row] = shared_storage<TransposeStorage>();
  const int x = threadIdx.x, row = blockIdx.y * 32, col = blockIdx.x * 32;
  for (int y = threadIdx.y; y < 32; y += blockDim.y) tile[y * 33 + x] = a[(row + y) * n + col + x];
  if (threadIdx.y == 0) last_row[x] = a[(row + 31) * n + col + x];
  __syncthreads();
  for (int y = threadIdx.y; y < 32; y += blockDim.y) b[(col + y) * n + row + x] = tile[x * 33 + y];
  if (threadIdx.y == 0) c[(blockIdx.y * gridDim.x + blockIdx.x) * 32 + x] = last_row[x];
}

/// b: what dynamic shared memory holds before anything is written to it. Then it is filled. Not sound.
__global__ void shared_content(int*, int* b, int*, int) {
  int* const s = &shared_storage<TransposeStorage>().tile[0];
  b[blockIdx.x * blockDim.x + threadIdx.x] = s[threadIdx.x];
  s[threadIdx.x] = 1;
}

/// b: how many blocks had begun before each.
__global__ void order_of_blocks(int* a, int* b, int*, int) { b[blockIdx.x] = atomicAdd(&a[0], 1); }

constexpr TestKernel machine_table[] = {
    entry<indices>("indices", {2, 3, 2}, {5, 10, 20}),
    entry<early_return>("early_return", 1, 1000),
    entry<block_votes>("block_votes", 1, 96),
    entry<producer_consumer>("producer_consumer", 1, 64),
    entry<short_warp>("short_warp", 1, 33),
    entry<shuffles>("shuffles", 1, 32),
    entry<wide_shuffles>("wide_shuffles", 1, 32),
    entry<half_warp_votes>("half_warp_votes", 1, 32),
    entry<parts_of_a_warp>("parts_of_a_warp", 1, 32),
    entry<warp_exchange>("warp_exchange", 1, 256),
    entry<half_warp_exchange>("half_warp_exchange", 1, 32),
    entry<global_atomics>("global_atomics", {8, 8}, {16, 4}),
    entry<histogram>("histogram", 64, 96),
    entry<order_of_blocks>("order_of_blocks", 10, 1),
    entry<bounded<24>>("bounded", 1, 48),
    entry<transpose>("transpose", {4, 4}, {32, 8}, sizeof(TransposeStorage)),
    entry<shared_content>("shared_content", 16, 64, sizeof(TransposeStorage)),
};

TestKernels machine_kernels() { return {machine_table, std::size(machine_table)}; }

}  // namespace lapidary::test::inline LAPIDARY_BUILD
