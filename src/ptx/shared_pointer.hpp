#pragma once
#include "ptx/cuda.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// The same pointer, of which the compiler knows from here on that it is to shared memory. Where it does not see that
/// by itself, it loads and stores by instructions that look up for each address which memory it is in, and in the order
/// of the program, as a store might be to what is loaded next (docs/tuning-log.md, "Which memory an address is in").
template <class T>
LAPIDARY_DEVICE T* to_shared(T* pointer) {
#if defined(__CUDACC__)
  __builtin_assume(__isShared(pointer));
#endif
  return pointer;
}

}  // namespace lapidary::inline LAPIDARY_BUILD
