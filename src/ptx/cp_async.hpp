#pragma once
#include "ptx/cuda.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// cp.async.ca / .cg (PTX ISA, "cp.async", sm_80): copies `source_bytes` bytes of global memory to shared memory, and
/// zeros up to `bytes`, without passing registers. Both addresses are aligned to `bytes`, which is 4, 8 or 16; 16 bytes
/// pass by the L1 cache. What it writes may be read after cp_async_wait_group by this thread, and after a barrier that
/// follows by others.
template <int bytes>
LAPIDARY_DEVICE void cp_async(void* shared, const void* global, int source_bytes) {
  static_assert(bytes == 4 || bytes == 8 || bytes == 16, "cp.async moves 4, 8 or 16 bytes");
#if defined(__CUDACC__)
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  if constexpr (bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(global), "r"(source_bytes)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(address), "l"(global), "n"(bytes),
                 "r"(source_bytes)
                 : "memory");
#else
  emulator::abi::async_copy(shared, global, bytes, static_cast<unsigned>(source_bytes));
#endif
}

/// cp.async.commit_group: this thread's copies since the last commit become one group.
LAPIDARY_DEVICE void cp_async_commit_group() {
#if defined(__CUDACC__)
  asm volatile("cp.async.commit_group;" ::: "memory");
#else
  emulator::abi::async_commit_group();
#endif
}

/// cp.async.wait_group: waits until at most `pending` of this thread's newest groups are not complete.
template <int pending>
LAPIDARY_DEVICE void cp_async_wait_group() {
#if defined(__CUDACC__)
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
#else
  emulator::abi::async_wait_group(pending);
#endif
}

}  // namespace lapidary::inline LAPIDARY_BUILD
