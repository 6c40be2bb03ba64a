#pragma once
#include <cstdint>

#include "ptx/cuda.hpp"

#if defined(__CUDACC__)
namespace lapidary::inline LAPIDARY_BUILD {

/// %smid (PTX ISA, "Special Registers"): the multiprocessor that runs the thread. The emulated machine has none.
LAPIDARY_DEVICE std::uint32_t multiprocessor() {
  std::uint32_t id;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
}

}  // namespace lapidary::inline LAPIDARY_BUILD
#endif
