#pragma once
#include <cstddef>
#include <new>

#include "ptx/cuda.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

#if defined(LAPIDARY_INSTRUMENTED)
/// Memory that no kernel may touch. As long as all banks, so that what follows keeps its bank.
struct alignas(16) RedZone {
  RedZone() { emulator::abi::red_zone(this, sizeof(*this)); }
  unsigned char bytes[128];
};
#endif

/// An array in a kernel's shared storage. In the instrumented build a red zone follows it, so that running over its end
/// is found even where another array comes next.
template <class T, int count, int alignment = 16>
struct SharedArray {
  alignas(alignment) T data[count];
#if defined(LAPIDARY_INSTRUMENTED)
  RedZone after;
#endif
  LAPIDARY_DEVICE T& operator[](int index) { return data[index]; }
};

/// The block's shared memory as the kernel's own `Storage`, a struct of SharedArrays without constructors. The launch
/// must ask for `sizeof(Storage)` bytes of dynamic shared memory: static shared memory ends at 48 KiB. Aligned to 1024
/// bytes.
template <class Storage>
LAPIDARY_DEVICE Storage& shared_storage() {
#if defined(__CUDACC__)
  extern __shared__ __align__(1024) unsigned char lapidary_dynamic_shared[];
  return *reinterpret_cast<Storage*>(lapidary_dynamic_shared);
#else
  void* const memory = emulator::abi::dynamic_shared();
  // Constructs the red zones alone: arrays of a SharedArray are left as they are.
  if (emulator::abi::first_in_block()) return *::new (memory) Storage;
  return *static_cast<Storage*>(memory);
#endif
}

/// One element as an access of `Vector`'s width, such as float4. The address must be aligned to it.
template <class Vector, class T>
LAPIDARY_DEVICE Vector& as(T& element) {
  return *reinterpret_cast<Vector*>(&element);
}
template <class Vector, class T>
LAPIDARY_DEVICE const Vector& as(const T& element) {
  return *reinterpret_cast<const Vector*>(&element);
}

}  // namespace lapidary::inline LAPIDARY_BUILD
