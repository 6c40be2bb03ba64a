#pragma once
#include <cstdint>

#include "ptx/cuda.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// Asks the compiler to compute a value here and not where it is used: asm volatile is not moved past other such (CUDA,
/// "Inline PTX Assembly"), and may be past all else. Whether it was heard, the machine code tells.
LAPIDARY_DEVICE void compute_here([[maybe_unused]] std::int32_t& value) {
#if defined(__CUDACC__)
  asm volatile("" : "+r"(value));
#endif
}

}  // namespace lapidary::inline LAPIDARY_BUILD
