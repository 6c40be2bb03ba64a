#pragma once
#include <cstdint>
#include <type_traits>

#include "core/types.hpp"
#include "device/shared.hpp"
#include "ptx/cuda.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// The type whose copy is one access of that many bytes, on both machines.
template <int bytes>
using AccessOf = std::conditional_t<
    bytes == 16, float4, std::conditional_t<bytes == 8, float2, std::conditional_t<bytes == 4, float, std::uint16_t>>>;

/// `count` neighbouring elements in registers.
template <class T, int count>
struct Vector {
  T element[count];
};

/// How many elements one 128-bit access moves.
template <class T>
constexpr int packed = 16 / sizeof(T);

/// `count` elements from `from` on by one access, to which the address must be aligned.
template <int count, class T>
LAPIDARY_DEVICE Vector<T, count> load_vector(const T& from) {
  Vector<T, count> vector;
  const AccessOf<count * sizeof(T)> bits = as<AccessOf<count * sizeof(T)>>(from);
  __builtin_memcpy(&vector, &bits, sizeof(vector));
  return vector;
}

/// Stores them likewise.
template <int count, class T>
LAPIDARY_DEVICE void store_vector(T& to, const T* elements) {
  AccessOf<count * sizeof(T)> bits;
  __builtin_memcpy(static_cast<void*>(&bits), elements, sizeof(bits));
  as<AccessOf<count * sizeof(T)>>(to) = bits;
}

/// Stores them to global memory, where nobody reads them again soon. By name of the instruction (PTX ISA:
/// st.global.cs): nvcc splits a plain store of a vector in four where it has merged the stores of two branches.
template <int count, class T>
LAPIDARY_DEVICE void store_global(T& to, const T* elements) {
  AccessOf<count * sizeof(T)> bits;
  __builtin_memcpy(static_cast<void*>(&bits), elements, sizeof(bits));
  __stcs(&as<AccessOf<count * sizeof(T)>>(to), bits);
}

/// Reads `count` elements of shared memory into registers, `width` of them by one access; `place(i)` is the i-th
/// element. Those that are read together must be neighbours, aligned to the size of the access.
template <int width, int count, class Place>
LAPIDARY_DEVICE void read_shared(float (&to)[count], Place&& place) {
#pragma unroll
  for (int i = 0; i < count; i += width) {
    const auto vector = load_vector<width>(place(i));
#pragma unroll
    for (int e = 0; e < width; ++e) to[i + e] = to_float(vector.element[e]);
  }
}

/// Writes the elements of a vector to shared memory likewise.
template <int width, class T, int count, class Place>
LAPIDARY_DEVICE void write_shared(const Vector<T, count>& from, Place&& place) {
#pragma unroll
  for (int i = 0; i < count; i += width) store_vector<width>(place(i), &from.element[i]);
}

}  // namespace lapidary::inline LAPIDARY_BUILD
