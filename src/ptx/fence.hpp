#pragma once
#include "ptx/cuda.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// fence.proxy.async (PTX ISA, "membar, fence", sm_90): what this thread has written to shared memory by ordinary
/// stores is seen by bulk copies and wgmma that are ordered after it. Each thread that has written executes it, before
/// the barrier that the copy's thread waits at.
LAPIDARY_DEVICE void fence_proxy_async() {
#if defined(__CUDACC__)
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#else
  emulator::abi::fence_proxy_async();
#endif
}

}  // namespace lapidary::inline LAPIDARY_BUILD
