#pragma once
#include "ptx/call_site.hpp"
#include "ptx/cuda.hpp"

// Kernels of one stream that overlap (PTX ISA, "griddepcontrol", sm_90; CUDA Programming Guide, "Programmatic Dependent
// Launch"). LaunchShape::overlaps says of a kernel that it may begin before the one in front of it has ended.

// In code for older cards both do nothing: no kernel overlaps there.
#if defined(__CUDACC__) && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900)
#define LAPIDARY_HAS_GRIDDEPCONTROL 1
#else
#define LAPIDARY_HAS_GRIDDEPCONTROL 0
#endif

namespace lapidary::inline LAPIDARY_BUILD {

/// griddepcontrol.launch_dependents: the next kernel of the stream may begin, if it is launched to overlap, once all
/// blocks have come by here or have exited.
LAPIDARY_DEVICE void grid_launch_dependents() {
#if LAPIDARY_HAS_GRIDDEPCONTROL
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// griddepcontrol.wait: until the kernels in front of this one have ended, and what they have written is seen. Each
/// thread that accesses global memory calls it before; in a kernel that does not overlap it returns at once.
LAPIDARY_DEVICE void grid_wait() {
#if LAPIDARY_HAS_GRIDDEPCONTROL
  asm volatile("griddepcontrol.wait;" ::: "memory");
#elif !defined(__CUDACC__)
  emulator::abi::grid_wait();
#endif
}

}  // namespace lapidary::inline LAPIDARY_BUILD
