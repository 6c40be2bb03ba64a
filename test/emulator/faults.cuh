#pragma once
// Kernels with one fault each, for the emulated machine alone. A kernel with the parameter `sound` does what it does
// rightly if that is true, and otherwise lacks one synchronisation. Its line is where the fault is; of a race, where
// the two accesses are.
#include "core/gemm.hpp"
#include "core/types.hpp"
#include "device/shared.hpp"
#include "emulator/assertion.hpp"
#include "ptx/barrier.hpp"
#include "ptx/cp_async.hpp"
#include "register.hpp"
#include "tile/epilogue.hpp"

namespace lapidary::test::inline LAPIDARY_BUILD {

/// The thread that does wrong.
LAPIDARY_DEVICE bool culprit() { return blockIdx.x == 1 && threadIdx.x == 37; }

LAPIDARY_DEVICE int thread_of_grid() { return blockIdx.x * blockDim.x + threadIdx.x; }

/// Gives an array of shared memory, one element a thread, a first value.
LAPIDARY_DEVICE void initialize(float* s) {
  s[threadIdx.x] = 0;
  __syncthreads();
}

struct Storage {
  SharedArray<float, 64> x, y;
};

// ---------------------------------------------------------------- single accesses

constexpr int global_load_line = __LINE__ + 2;
__global__ void global_load(float* a, float*, float* c, int n) {
  if (culprit()) c[0] = a[n];
}

constexpr int global_store_line = __LINE__ + 2;
__global__ void global_store(float* a, float*, float*, int n) {
  if (culprit()) a[n] = 1;
}

/// By a part of tile/, in a function within a function.
constexpr int store_by_tile_line = __LINE__ + 7;
__global__ void store_by_tile(float* a, float*, float*, int n) {
  Gemm<float> g = {};
  g.M = 1;
  g.N = n + 1;
  g.D = a;
  const auto store = [&](int col) {
    if (culprit()) store_result(g, 0, col, 1.0f);
  };
  store(n);
}

constexpr int global_vector_line = __LINE__ + 2;
__global__ void global_vector(float* a, float*, float* c, int n) {
  if (culprit()) as<float4>(c[0]) = as<float4>(a[n]);
}

constexpr int read_only_line = __LINE__ + 3;
__global__ void read_only(float* a, float* b, float* c, int n) {
  if (n == 0) b[thread_of_grid()] = 1;
  if (culprit()) c[0] = __ldg(&b[thread_of_grid()]) + __ldg(&a[37]);
}

constexpr int read_only_load_line = __LINE__ + 2;
__global__ void read_only_load(float* a, float*, float* c, int n) {
  if (culprit()) c[0] = __ldg(&a[n]);
}

constexpr int trap_line = __LINE__ + 2;
__global__ void trap(float*, float*, float*, int) {
  if (culprit()) lapidary::emulator::abi::trap();
}

constexpr int division_line = __LINE__ + 2;
__global__ void division(float*, float*, float* c, int n) {
  if (culprit()) c[0] = static_cast<float>(7 / n);
}

constexpr int recursion_line = __LINE__ + 1;
[[gnu::noinline]] float sum_to_zero(const float* c, int n) { return c[n] == 0 ? 0 : c[n] + sum_to_zero(c, n % 64) + 1; }
__global__ void recursion(float* a, float*, float* c, int n) {
  if (culprit()) c[0] = sum_to_zero(a, n);
}

constexpr int global_atomic_line = __LINE__ + 2;
__global__ void global_atomic(int* a, int*, int*, int n) {
  if (culprit()) atomicAdd(&a[n], 1);
}

constexpr int shared_load_line = __LINE__ + 5;
__global__ void shared_load(float* a, float*, float* c, int n) {
  auto& [x, y] = shared_storage<Storage>();
  x[threadIdx.x] = y[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  if (culprit()) c[0] = x[n];
}

constexpr int shared_store_line = __LINE__ + 3;
__global__ void shared_store(float*, float*, float*, int n) {
  auto& [x, y] = shared_storage<Storage>();
  if (culprit()) x[n] = 1;
}

constexpr int shared_vector_line = __LINE__ + 5;
__global__ void shared_vector(float* a, float*, float* c, int n) {
  auto& [x, y] = shared_storage<Storage>();
  x[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  if (culprit()) as<float4>(c[0]) = as<float4>(x[n]);
}

constexpr int unwritten_line = __LINE__ + 5;
__global__ void unwritten(float*, float*, float* c, int n) {
  auto& [x, y] = shared_storage<Storage>();
  if (static_cast<int>(threadIdx.x) != n) x[threadIdx.x] = 1;
  __syncthreads();
  if (culprit()) c[0] = x[n];
}

constexpr int unwritten_static_line = __LINE__ + 5;
__global__ void unwritten_static(float*, float*, float* c, int n) {
  __shared__ float s[64];
  if (static_cast<int>(threadIdx.x) != n || blockIdx.x == 0) s[threadIdx.x] = 1;
  __syncthreads();
  if (culprit()) c[0] = s[n];
}

// ---------------------------------------------------------------- races on shared memory

constexpr int read_too_early_line = __LINE__ + 5;
template <bool sound>
__global__ void read_too_early(float* a, float*, float* c, int) {
  __shared__ float s[64];
  initialize(s);
  s[threadIdx.x] = a[threadIdx.x];
  if (sound) __syncthreads();
  c[thread_of_grid()] = s[threadIdx.x ^ 32];
}

constexpr int written_too_early_line = __LINE__ + 6;
template <bool sound>
__global__ void written_too_early(float* a, float*, float*, int) {
  __shared__ float s[64];
  s[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  const float other = s[threadIdx.x ^ 32];
  if (sound) __syncthreads();
  s[threadIdx.x] = other;
}

constexpr int two_writers_line = __LINE__ + 4;
template <bool sound>
__global__ void two_writers(float*, float*, float*, int) {
  __shared__ float s[1];
  if (threadIdx.x == 0) s[0] = 1;
  if (sound) __syncthreads();
  if (threadIdx.x == 37) s[0] = 2;
}

enum class Between { nothing, shuffle, vote, fence, syncwarp_of_halves, syncwarp_of_pairs, syncwarp };

constexpr int within_a_warp_line = __LINE__ + 5, within_a_warp_other_line = within_a_warp_line + 8;
template <Between between>
__global__ void within_a_warp(float* a, float*, float* c, int) {
  __shared__ float s[64];
  initialize(s);
  s[threadIdx.x] = a[threadIdx.x];
  float zero = 0;
  if (between == Between::shuffle) zero = __shfl_xor_sync(0xffffffffu, zero, 1);
  if (between == Between::vote) zero = static_cast<float>(__any_sync(0xffffffffu, 0));
  if (between == Between::fence) __threadfence_block();
  if (between == Between::syncwarp_of_halves) __syncwarp(threadIdx.x % 32 < 16 ? 0x0000ffffu : 0xffff0000u);
  if (between == Between::syncwarp_of_pairs) __syncwarp(0x00010001u << threadIdx.x % 16);
  if (between == Between::syncwarp) __syncwarp();
  c[thread_of_grid()] = s[threadIdx.x ^ 16] + zero;
}

/// Two halves of a warp hand over within themselves, by a __syncwarp of 16 lanes or none.
constexpr int within_half_a_warp_line = __LINE__ + 5;
template <bool sound>
__global__ void within_half_a_warp(float* a, float*, float* c, int) {
  __shared__ float s[64];
  initialize(s);
  s[threadIdx.x] = a[threadIdx.x];
  if (sound) __syncwarp(threadIdx.x % 32 < 16 ? 0x0000ffffu : 0xffff0000u);
  c[thread_of_grid()] = s[threadIdx.x ^ 1];
}

/// Lane 0 reads a word, which lane 16 of its warp overwrites. It knows of the reading by lane 15, which has waited for
/// lane 0, or has not.
constexpr int handed_on_line = __LINE__ + 6;
template <bool sound>
__global__ void handed_on(float*, float*, float* c, int) {
  __shared__ float s[64];
  initialize(s);
  const unsigned lane = threadIdx.x % 32;
  if (lane == 0) c[thread_of_grid()] = s[threadIdx.x / 32];
  if (lane < 16 && (sound || lane > 7)) __syncwarp(sound ? 0x0000ffffu : 0x0000ff00u);
  if (lane == 15 || lane == 16) __syncwarp(0x00018000u);
  if (lane == 16) s[threadIdx.x / 32] = 1;
}

constexpr int named_barrier_line = __LINE__ + 6;
template <bool sound>
__global__ void named_barrier(float* a, float*, float* c, int) {
  __shared__ float s[64];
  initialize(s);
  if (threadIdx.x < 32) {
    s[threadIdx.x] = a[threadIdx.x];
    barrier_arrive(1, 64);
  } else {
    if (sound) barrier_sync(1, 64);
    c[thread_of_grid()] = s[threadIdx.x - 32];
    if (!sound) barrier_sync(1, 64);
  }
}

constexpr int atomic_and_load_line = __LINE__ + 6;
template <bool sound>
__global__ void atomic_and_load(float*, float*, float* c, int) {
  __shared__ float s[1];
  if (threadIdx.x == 0) s[0] = 0;
  __syncthreads();
  atomicAdd(&s[0], 1.0f);
  if (sound) __syncthreads();
  c[thread_of_grid()] = s[0];
}

/// Who comes last finds what all others have written, and has not waited for them.
constexpr int counter_of_the_last_line = __LINE__ + 6;
template <bool sound>
__global__ void counter_of_the_last(float*, float*, float* c, int) {
  __shared__ float s[1];
  if (threadIdx.x == 0) s[0] = 0;
  __syncthreads();
  atomicAdd(&s[0], 1.0f);
  if (sound) __syncthreads();
  if (threadIdx.x == blockDim.x - 1) c[thread_of_grid()] = s[0];
}

/// Of two atomic accesses one alone is ordered after a store, by its thread.
constexpr int atomic_hides_store_line = __LINE__ + 6;
template <bool sound>
__global__ void atomic_hides_store(float*, float*, float*, int) {
  __shared__ float s[1];
  if (threadIdx.x == 0) s[0] = 0;
  __syncthreads();
  if (threadIdx.x == 0) s[0] = 1;
  if (sound) __syncthreads();
  if (threadIdx.x == 0) atomicAdd(&s[0], 1.0f);
  if (threadIdx.x == 37) atomicAdd(&s[0], 1.0f);
}

/// Neighbours in one 32-bit word belong to different threads; or, if not sound, each half to two.
constexpr int halves_of_a_word_line = __LINE__ + 4;
template <bool sound>
__global__ void halves_of_a_word(float*, float*, float* c, int) {
  __shared__ f16 s[64];
  s[sound ? threadIdx.x : threadIdx.x / 2].bits = static_cast<std::uint16_t>(threadIdx.x);
  __syncthreads();
  c[thread_of_grid()] = to_float(s[threadIdx.x / 2]);
}

// ---------------------------------------------------------------- races on global memory

constexpr int global_between_threads_line = __LINE__ + 4;
template <bool sound>
__global__ void global_between_threads(float* a, float* b, float* c, int) {
  if (blockIdx.x > 0) return;
  b[threadIdx.x] = a[threadIdx.x];
  if (sound) __syncthreads();
  c[thread_of_grid()] = b[threadIdx.x ^ 32];
}

constexpr int global_between_blocks_line = __LINE__ + 3;
template <bool sound>
__global__ void global_between_blocks(float*, float*, float* c, int) {
  c[sound ? thread_of_grid() : threadIdx.x] = 1;
}

constexpr int global_read_by_other_block_line = __LINE__ + 6;
template <bool sound>
__global__ void global_read_by_other_block(float* a, float*, float* c, int) {
  if (sound || blockIdx.x == 0)
    c[thread_of_grid()] = a[threadIdx.x];
  else
    a[threadIdx.x] = 1;
}

/// Two warps read a word that a third one writes after a barrier. Before it the two have synchronised more often.
constexpr int global_many_readers_line = __LINE__ + 8;
template <bool sound>
__global__ void global_many_readers(float* a, float*, float* c, int) {
  if (threadIdx.x < 64) {
    __syncwarp();
    c[thread_of_grid()] = a[blockIdx.x];
  }
  if (sound) __syncthreads();
  if (threadIdx.x == 64) a[blockIdx.x] = 1;
}

/// As halves_of_a_word, and nothing but the halves tells the blocks apart.
constexpr int halves_between_blocks_line = __LINE__ + 3;
template <bool sound>
__global__ void halves_between_blocks(f16*, f16*, f16* c, int) {
  c[2 * threadIdx.x + (sound ? blockIdx.x : 0)].bits = static_cast<std::uint16_t>(threadIdx.x);
}

constexpr int global_atomic_and_load_line = __LINE__ + 3;
template <bool sound>
__global__ void global_atomic_and_load(float*, float* b, float* c, int) {
  atomicAdd(&b[0], 1.0f);
  if (!sound) c[thread_of_grid()] = b[0];
}

/// Each byte of a word belongs to another thread; or, if not sound, each to two.
constexpr int bytes_between_threads_line = __LINE__ + 4;
template <bool sound>
__global__ void bytes_between_threads(float*, float*, float* c, int) {
  if (blockIdx.x > 0) return;
  reinterpret_cast<unsigned char*>(c)[sound ? threadIdx.x : threadIdx.x / 2] = 1;
}

// ---------------------------------------------------------------- words that threads wait for

enum class Publishes { rightly, without_fence, to_its_block_alone };

/// Block 0 publishes data, which block 1 reads when it has seen the word.
constexpr int published_line = __LINE__ + 13, published_other_line = published_line - 7;
template <Publishes how>
__global__ void published(int*, int* b, int* c, int) {
  volatile int* const word = &b[1];
  if (threadIdx.x > 0) return;
  if (blockIdx.x == 0) {
    b[0] = 7;
    if (how == Publishes::rightly) __threadfence();
    if (how == Publishes::to_its_block_alone) __threadfence_block();
    *word = 2;
  } else {
    while (*word != 2) {
    }
    c[0] = b[0];
  }
}

constexpr int plain_word_line = __LINE__ + 8, plain_word_other_line = plain_word_line - 3;
__global__ void plain_word(int*, int* b, int*, int) {
  if (threadIdx.x > 0) return;
  if (blockIdx.x == 0) {
    __threadfence();
    b[0] = 2;
  } else {
    volatile int* const word = &b[0];
    while (*word != 2) {
    }
  }
}

/// The critical section is left without a fence.
constexpr int lock_without_fence_line = __LINE__ + 6;
template <bool sound>
__global__ void lock_without_fence(int*, int* b, int* c, int n) {
  if (threadIdx.x > 0) return;
  while (atomicCAS(&b[0], n, 0) != n) {
  }
  c[0] += 1;
  if (sound) __threadfence();
  atomicExch(&b[0], n);
}

/// Nobody writes what it waits for.
constexpr int spin_on_a_volatile_word_line = __LINE__ + 3;
__global__ void spin_on_a_volatile_word(int*, int* b, int*, int) {
  if (culprit())
    while (*static_cast<volatile int*>(&b[0]) != 5) {
    }
  __syncthreads();
}
constexpr int spin_on_an_atomic_line = __LINE__ + 3;
__global__ void spin_on_an_atomic(int*, int* b, int*, int) {
  if (culprit())
    while (atomicAdd(&b[0], 0) != 5) {
    }
  __syncthreads();
}

/// A compiler that takes loops to end would leave this one out.
constexpr int spin_on_a_plain_word_line = __LINE__ + 5;
__global__ void spin_on_a_plain_word(int*, int*, int*, int) {
  __shared__ int flag[64];
  flag[threadIdx.x] = 0;
  __syncthreads();
  if (threadIdx.x == 0) flag[0] = 1;
  if (threadIdx.x == 37) {
    while (!flag[0]) {
    }
  }
}

/// A ring of one stage, which is filled again when all of 64 threads are done with it, or when half of them are.
constexpr int ring_of_words_line = __LINE__ + 19, ring_of_words_other_line = ring_of_words_line - 6;
template <bool sound>
__global__ void ring_of_words(float*, float*, float* c, int n) {
  __shared__ float s[1];
  __shared__ volatile int filled[1];
  __shared__ int done[1];
  const int t = threadIdx.x;
  if (t == 0) filled[0] = done[0] = 0;
  __syncthreads();
  for (int round = 0; round < n; ++round) {
    if (t == 0) {
      while (atomicAdd(&done[0], 0) < 64 * round - (sound ? 0 : 32)) {
      }
      s[0] = static_cast<float>(round);
      __threadfence_block();
      filled[0] = round + 1;
    } else if (t >= 32) {
      while (filled[0] <= round) {
      }
      c[t] += s[0];
      __threadfence_block();
      atomicAdd(&done[0], 1);
    }
  }
}

constexpr int plain_loop_line = __LINE__ + 3;
__global__ void plain_loop(float*, float* b, float* c, int) {
  if (!culprit()) return;
  for (int i = 0; b[i] == 1; i = (i + 1) % 64) c[i] += 1;
}

constexpr int silent_loop_line = __LINE__ + 4;
__global__ void silent_loop(float*, float*, float* c, int) {
  if (!culprit()) return;
  unsigned sum = 0;
  for (unsigned i = 1; i != 0; i = i * 2 % 7) sum += i;  // 1, 2, 4, 1 ...
  c[0] = static_cast<float>(sum);
}

constexpr int barrier_loop_line = __LINE__ + 3;
__global__ void barrier_loop(float*, float* b, float*, int) {
  while (b[0] == 1) {
    __syncthreads();
  }
}

// ---------------------------------------------------------------- cp.async

enum class Lacks { nothing, wait, barrier, barrier_before_reuse };

constexpr int async_line = __LINE__ + 5;
template <Lacks lacks>
__global__ void async(float* a, float*, float* c, int) {
  __shared__ float s[64];
  initialize(s);
  cp_async<4>(&s[threadIdx.x], &a[threadIdx.x], 4);
  cp_async_commit_group();
  if (lacks != Lacks::wait) cp_async_wait_group<0>();
  if (lacks != Lacks::barrier) __syncthreads();
  c[thread_of_grid()] = s[threadIdx.x ^ (lacks == Lacks::wait ? 0 : 32)];
  if (lacks != Lacks::barrier_before_reuse) __syncthreads();
  if (lacks == Lacks::nothing || lacks == Lacks::barrier_before_reuse) {
    cp_async<4>(&s[threadIdx.x], &a[threadIdx.x], 4);
    cp_async_commit_group();
    cp_async_wait_group<0>();
  }
}

// ---------------------------------------------------------------- misuse of barriers and collectives

constexpr int divergent_barriers_line = __LINE__ + 3;
__global__ void divergent_barriers(float*, float*, float*, int n) {
  if (static_cast<int>(threadIdx.x % 32) < n)
    __syncthreads();
  else
    __syncthreads();
}

constexpr int barriers_on_a_line_line = __LINE__ + 4;
__global__ void barriers_on_a_line(float*, float*, float*, int) {
  const int lane = threadIdx.x % 32;
  // clang-format off
  if (lane < 5) __syncthreads(); else __syncthreads();
  // clang-format on
}

constexpr int barrier_counts_line = __LINE__ + 5;
__global__ void barrier_counts(float*, float*, float*, int) {
  if (threadIdx.x < 32)
    barrier_sync(2, 64);
  else
    barrier_sync(2, 96);
}

constexpr int left_out_line = __LINE__ + 1;
__global__ void left_out(float*, float*, float*, int) { __syncwarp(0x7fffffffu); }

constexpr int two_collectives_line = __LINE__ + 3;
__global__ void two_collectives(float* a, float*, float*, int) {
  if (threadIdx.x % 32 < 31)
    __syncwarp();
  else
    a[threadIdx.x] = static_cast<float>(__any_sync(0xffffffffu, 1));
}

constexpr int other_shuffle_line = __LINE__ + 4;
__global__ void other_shuffle(float* a, float*, float*, int) {
  const unsigned lane = threadIdx.x % 32;
  if (lane < 5)
    a[threadIdx.x] = __shfl_up_sync(0xffffffffu, 1.0f, 1);
  else
    a[threadIdx.x] = __shfl_down_sync(0xffffffffu, 1.0f, 1);
}

/// What parts of a warp may do apart from each other, and its lanes at several places.
__global__ void parts_of_a_warp(float* a, float* b, float* c, int) {
  const unsigned t = threadIdx.x, lane = t % 32, half = lane < 16 ? 0x0000ffffu : 0xffff0000u,
                 pair = 3u << lane / 2 * 2;
  float value = a[t];
  // Two halves at two places, each by a mask of its own.
  if (lane < 16)
    value += __shfl_xor_sync(0x0000ffffu, value, 1);
  else
    value += __shfl_down_sync(0xffff0000u, value, 1, 16);
  if (lane % 2)
    __syncwarp();
  else
    __syncwarp();
  // One half alone, while the other one already waits for all; then 16 pairs.
  if (lane < 16) value += static_cast<float>(__popc(__ballot_sync(half, lane % 3 == 0)));
  __syncwarp();
  value += __shfl_xor_sync(pair, value, 1);
  if (lane % 4 == 0) {
    const unsigned mask = __activemask();
    value += __shfl_sync(mask, value, __ffs(mask) - 1);
  }
  if (lane % 4 == 1) value += static_cast<float>(__reduce_add_sync(0x22222222u, lane));
  b[t] = static_cast<float>(__match_any_sync(half, lane % 3));
  // As many as come are counted at once.
  if (lane % 5 < 3) {
    const unsigned mask = __activemask();
    if (static_cast<int>(lane) == __ffs(mask) - 1) atomicAdd(&c[0], static_cast<float>(__popc(mask)));
  }
  if (value < 0) c[1] = value;
}

// ---------------------------------------------------------------- deadlocks

constexpr int warp_missing_line = __LINE__ + 3;
__global__ void warp_missing(float*, float*, float*, int) {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    barrier_sync(1, 64);
  }
}

constexpr int lane_missing_line = __LINE__ + 3;
__global__ void lane_missing(float*, float*, float*, int) {
  if (threadIdx.x % 32 != 7) {
    __syncwarp();
  }
  __syncthreads();
}

constexpr int threads_missing_line = __LINE__ + 3;
__global__ void threads_missing(float*, float*, float*, int) {
  if (threadIdx.x < 32) return;
  barrier_sync(3, 96);
}

constexpr unsigned storage = sizeof(Storage);
constexpr TestKernel fault_table[] = {
    entry<global_load>("global_load", 2, 64, 0, global_load_line),
    entry<global_store>("global_store", 2, 64, 0, global_store_line),
    entry<store_by_tile>("store_by_tile", 2, 64, 0, store_by_tile_line),
    entry<global_vector>("global_vector", 2, 64, 0, global_vector_line),
    entry<read_only>("read_only", 2, 64, 0, read_only_line, read_only_line - 1),
    entry<read_only_load>("read_only_load", 2, 64, 0, read_only_load_line),
    entry<trap>("trap", 2, 64, 0, trap_line),
    entry<division>("division", 2, 64, 0, division_line),
    entry<recursion>("recursion", 2, 64, 0, recursion_line),
    entry<global_atomic>("global_atomic", 2, 64, 0, global_atomic_line),
    entry<shared_load>("shared_load", 2, 64, storage, shared_load_line),
    entry<shared_store>("shared_store", 2, 64, storage, shared_store_line),
    entry<shared_vector>("shared_vector", 2, 64, storage, shared_vector_line),
    entry<unwritten>("unwritten", 2, 64, storage, unwritten_line),
    entry<unwritten_static>("unwritten_static", 2, 64, 0, unwritten_static_line),
    entry<read_too_early<false>>("read_too_early", 2, 64, 0, read_too_early_line, read_too_early_line + 2),
    entry<written_too_early<false>>("written_too_early", 2, 64, 0, written_too_early_line, written_too_early_line + 2),
    entry<two_writers<false>>("two_writers", 2, 64, 0, two_writers_line, two_writers_line + 2),
    entry<within_a_warp<Between::nothing>>("no_syncwarp", 2, 64, 0, within_a_warp_line, within_a_warp_other_line),
    entry<within_a_warp<Between::shuffle>>("shuffle", 2, 64, 0, within_a_warp_line, within_a_warp_other_line),
    entry<within_a_warp<Between::vote>>("vote", 2, 64, 0, within_a_warp_line, within_a_warp_other_line),
    entry<within_a_warp<Between::fence>>("fence_in_a_warp", 2, 64, 0, within_a_warp_line, within_a_warp_other_line),
    entry<within_a_warp<Between::syncwarp_of_halves>>("syncwarp_of_halves", 2, 64, 0, within_a_warp_line,
                                                      within_a_warp_other_line),
    entry<handed_on<false>>("handed_on", 2, 64, 0, handed_on_line, handed_on_line + 3),
    entry<within_half_a_warp<false>>("within_half_a_warp", 2, 64, 0, within_half_a_warp_line,
                                     within_half_a_warp_line + 2),
    entry<named_barrier<false>>("named_barrier", 2, 64, 0, named_barrier_line, named_barrier_line + 4),
    entry<atomic_and_load<false>>("atomic_and_load", 2, 64, 0, atomic_and_load_line, atomic_and_load_line + 2),
    entry<counter_of_the_last<false>>("counter_of_the_last", 2, 64, 0, counter_of_the_last_line,
                                      counter_of_the_last_line + 2),
    entry<atomic_hides_store<false>>("atomic_hides_store", 2, 64, 0, atomic_hides_store_line,
                                     atomic_hides_store_line + 3),
    entry<halves_of_a_word<false>>("halves_of_a_word", 2, 64, 0, halves_of_a_word_line, halves_of_a_word_line),
    entry<global_between_threads<false>>("global_between_threads", 2, 64, 0, global_between_threads_line,
                                         global_between_threads_line + 2),
    entry<global_between_blocks<false>>("global_between_blocks", 2, 64, 0, global_between_blocks_line),
    entry<halves_between_blocks<false>>("halves_between_blocks", 2, 64, 0, halves_between_blocks_line),
    entry<global_read_by_other_block<false>>("global_read_by_other_block", 2, 64, 0, global_read_by_other_block_line,
                                             global_read_by_other_block_line - 2),
    entry<global_many_readers<false>>("global_many_readers", 2, 96, 0, global_many_readers_line,
                                      global_many_readers_line - 3),
    entry<global_atomic_and_load<false>>("global_atomic_and_load", 2, 64, 0, global_atomic_and_load_line,
                                         global_atomic_and_load_line + 1),
    entry<bytes_between_threads<false>>("bytes_between_threads", 2, 64, 0, bytes_between_threads_line),
    entry<published<Publishes::without_fence>>("published_without_fence", 2, 64, 0, published_line,
                                               published_other_line),
    entry<published<Publishes::to_its_block_alone>>("published_to_its_block_alone", 2, 64, 0, published_line,
                                                    published_other_line),
    entry<plain_word>("plain_word", 2, 64, 0, plain_word_line, plain_word_other_line),
    entry<lock_without_fence<false>>("lock_without_fence", 2, 64, 0, lock_without_fence_line),
    entry<spin_on_a_volatile_word>("spin_on_a_volatile_word", 2, 64, 0, spin_on_a_volatile_word_line,
                                   spin_on_a_volatile_word_line + 2),
    entry<spin_on_an_atomic>("spin_on_an_atomic", 2, 64, 0, spin_on_an_atomic_line, spin_on_an_atomic_line + 2),
    entry<spin_on_a_plain_word>("spin_on_a_plain_word", 2, 64, 0, spin_on_a_plain_word_line,
                                spin_on_a_plain_word_line + 2),
    entry<ring_of_words<false>>("ring_of_words", 1, 96, 0, ring_of_words_line, ring_of_words_other_line),
    entry<plain_loop>("plain_loop", 2, 64, 0, plain_loop_line),
    entry<silent_loop>("silent_loop", 2, 64, 0, silent_loop_line),
    entry<barrier_loop>("barrier_loop", 2, 64, 0, barrier_loop_line),
    entry<async<Lacks::wait>>("async_without_wait", 2, 64, 0, async_line + 4),
    entry<async<Lacks::barrier>>("async_without_barrier", 2, 64, 0, async_line, async_line + 4),
    entry<async<Lacks::barrier_before_reuse>>("async_over_a_load", 2, 64, 0, async_line + 4, async_line + 7),
    entry<divergent_barriers>("divergent_barriers", 2, 64, 0, divergent_barriers_line + 2, divergent_barriers_line),
    entry<barrier_counts>("barrier_counts", 2, 64, 0, barrier_counts_line),
    entry<barriers_on_a_line>("barriers_on_a_line", 2, 64, 0, barriers_on_a_line_line),
    entry<other_shuffle>("other_shuffle", 2, 64, 0, other_shuffle_line, other_shuffle_line + 2),
    entry<left_out>("left_out", 2, 64, 0, left_out_line),
    entry<two_collectives>("two_collectives", 2, 64, 0, two_collectives_line, two_collectives_line + 2),
    entry<warp_missing>("warp_missing", 2, 64, 0, warp_missing_line, warp_missing_line + 2),
    entry<lane_missing>("lane_missing", 2, 64, 0, lane_missing_line, lane_missing_line + 2),
    entry<threads_missing>("threads_missing", 2, 96, 0, threads_missing_line),
};

constexpr TestKernel sound_table[] = {
    entry<read_too_early<true>>("read_too_early", 2, 64),
    entry<written_too_early<true>>("written_too_early", 2, 64),
    entry<two_writers<true>>("two_writers", 2, 64),
    entry<within_a_warp<Between::syncwarp>>("within_a_warp", 2, 64),
    entry<within_a_warp<Between::syncwarp_of_pairs>>("syncwarp_of_pairs", 2, 64),
    entry<handed_on<true>>("handed_on", 2, 64),
    entry<within_half_a_warp<true>>("within_half_a_warp", 2, 64),
    entry<named_barrier<true>>("named_barrier", 2, 64),
    entry<atomic_and_load<true>>("atomic_and_load", 2, 64),
    entry<counter_of_the_last<true>>("counter_of_the_last", 2, 64),
    entry<atomic_hides_store<true>>("atomic_hides_store", 2, 64),
    entry<halves_of_a_word<true>>("halves_of_a_word", 2, 64),
    entry<global_between_threads<true>>("global_between_threads", 2, 64),
    entry<global_between_blocks<true>>("global_between_blocks", 2, 64),
    entry<halves_between_blocks<true>>("halves_between_blocks", 2, 64),
    entry<global_read_by_other_block<true>>("global_read_by_other_block", 2, 64),
    entry<global_many_readers<true>>("global_many_readers", 2, 96),
    entry<global_atomic_and_load<true>>("global_atomic_and_load", 2, 64),
    entry<bytes_between_threads<true>>("bytes_between_threads", 2, 64),
    entry<published<Publishes::rightly>>("published", 2, 64),
    entry<ring_of_words<true>>("ring_of_words", 1, 96),
    entry<async<Lacks::nothing>>("async", 2, 64),
    entry<parts_of_a_warp>("parts_of_a_warp", 1, 64),
};

TestKernels faulty_kernels() { return {fault_table, std::size(fault_table)}; }
TestKernels sound_kernels() { return {sound_table, std::size(sound_table)}; }

}  // namespace lapidary::test::inline LAPIDARY_BUILD
