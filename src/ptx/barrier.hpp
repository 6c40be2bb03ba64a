#pragma once
#include "ptx/call_site.hpp"
#include "ptx/cuda.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

#if defined(__CUDACC__)

/// barrier.sync (PTX ISA, "bar, barrier"): waits until `threads` threads of the block, a multiple of 32, have come to
/// barrier `id`, 0 to 15, of which __syncthreads is number 0. All lanes of a warp call it together.
LAPIDARY_DEVICE void barrier_sync(unsigned id, unsigned threads) {
  asm volatile("barrier.sync.aligned %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/// barrier.arrive: counts as having come to the barrier, and does not wait. What the warp did before is seen by those
/// who wait.
LAPIDARY_DEVICE void barrier_arrive(unsigned id, unsigned threads) {
  asm volatile("barrier.arrive.aligned %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

#else

LAPIDARY_DEVICE void barrier_sync(unsigned id, unsigned threads, CallSite where = std::source_location::current()) {
  emulator::abi::barrier_sync(id, threads, where);
}

LAPIDARY_DEVICE void barrier_arrive(unsigned id, unsigned threads, CallSite where = std::source_location::current()) {
  emulator::abi::barrier_arrive(id, threads, where);
}

#endif

}  // namespace lapidary::inline LAPIDARY_BUILD
