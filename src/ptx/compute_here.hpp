#pragma once
#include <cstdint>

#include "ptx/cuda.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// Has the compiler compute a value in front of what follows, by instructions that have an effect, and not where it is
/// used: asm volatile is not moved past other such (CUDA, "Inline PTX Assembly").
LAPIDARY_DEVICE void compute_here([[maybe_unused]] std::int32_t& value) {
#if defined(__CUDACC__)
  asm volatile("" : "+r"(value));
#endif
}

}  // namespace lapidary::inline LAPIDARY_BUILD
