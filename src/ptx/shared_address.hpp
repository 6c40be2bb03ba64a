#pragma once
#include "ptx/cuda.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// The 32-bit address that instructions have of the block's shared memory: the offset there in its lower 24 bits, the
/// block's rank in its cluster above.
LAPIDARY_DEVICE unsigned shared_address(const void* shared) {
#if defined(__CUDACC__)
  return static_cast<unsigned>(__cvta_generic_to_shared(shared));
#else
  return emulator::abi::shared_offset(shared);
#endif
}

}  // namespace lapidary::inline LAPIDARY_BUILD
