#pragma once
#include <cstdint>

#include "ptx/cuda.hpp"

#if defined(__CUDACC__)
namespace lapidary::inline LAPIDARY_BUILD {

/// %globaltimer (PTX ISA, "Special Registers"): nanoseconds that all multiprocessors count alike, in steps of up to a
/// microsecond, whatever their clock is. The emulated machine has no time.
LAPIDARY_DEVICE std::int64_t global_nanoseconds() {
  std::int64_t time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
}

}  // namespace lapidary::inline LAPIDARY_BUILD
#endif
