#pragma once
#include "ptx/call_site.hpp"
#include "ptx/cuda.hpp"

// Kernels of one stream that overlap (PTX ISA, "griddepcontrol", sm_90; CUDA Programming Guide, "Programmatic Dependent
// Launch"). LaunchShape::overlaps says of a kernel that it may begin before the one in front of it has ended.

namespace lapidary::inline LAPIDARY_BUILD {

/// griddepcontrol.launch_dependents: the next kernel of the stream may begin, if it is launched to overlap, once all
/// blocks have come by here or have exited.
LAPIDARY_DEVICE void grid_launch_dependents() {
#if defined(__CUDACC__)
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// griddepcontrol.wait: until the kernels in front of this one have ended, and what they have written is seen. Each
/// thread that accesses global memory calls it before; in a kernel that does not overlap it returns at once.
LAPIDARY_DEVICE void grid_wait() {
#if defined(__CUDACC__)
  asm volatile("griddepcontrol.wait;" ::: "memory");
#else
  emulator::abi::grid_wait();
#endif
}

}  // namespace lapidary::inline LAPIDARY_BUILD
