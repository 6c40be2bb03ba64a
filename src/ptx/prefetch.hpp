#pragma once
#include "ptx/cuda.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// prefetch.global.L1 and .L2 (PTX ISA): bring the line of global memory that an address lies in to L1, or to L2. They
/// are no access: the emulated machine, which has no caches, does nothing.
LAPIDARY_DEVICE void prefetch_l1([[maybe_unused]] const void* address) {
#if defined(__CUDACC__)
  asm volatile("prefetch.global.L1 [%0];" ::"l"(address));
#endif
}
LAPIDARY_DEVICE void prefetch_l2([[maybe_unused]] const void* address) {
#if defined(__CUDACC__)
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
#endif
}

}  // namespace lapidary::inline LAPIDARY_BUILD
