#pragma once
#include <cstdint>

#include "ptx/cuda.hpp"
#include "tile/vector.hpp"

// Copies by 128 bits of lines of elements of 8, 16 or 32 bits that begin anywhere.

namespace lapidary::inline LAPIDARY_BUILD {

/// 128 bits of a line in registers. Elements of them would be moved one by one.
using Words = Vector<std::uint32_t, 4>;

/// The first `left` elements are element(e), the others 0.
template <class T, class Element>
LAPIDARY_DEVICE Words gather_words(std::int64_t left, Element&& element) {
  constexpr int bits = 8 * sizeof(T);
  Words to{};
#pragma unroll
  for (int e = 0; e < packed<T>; ++e)
    if (e < left) to.element[e * bits / 32] |= std::uint32_t{element(e)} << e * bits % 32;
  return to;
}

/// The elements from `from` on, of which `left` can be read, as `before` can that precede them: by the words that they
/// lie in if all of these can be, shifted together, and by elements otherwise.
template <class T>
LAPIDARY_DEVICE Words load_words(const T* from, std::int64_t before, std::int64_t left) {
  constexpr int word = 4 / sizeof(T);
  const int off = static_cast<int>(reinterpret_cast<std::uintptr_t>(from) % 4 / sizeof(T));
  if (off > before || left < packed<T> + (word - off) % word)
    return gather_words<T>(left, [&](int e) { return from[e]; });
  std::uint32_t covering[5];
#pragma unroll
  for (int i = 0; i < 5; ++i) covering[i] = i < 4 || off != 0 ? as<std::uint32_t>(from[i * word - off]) : 0;
  Words to;
#pragma unroll
  for (int i = 0; i < 4; ++i) to.element[i] = __funnelshift_r(covering[i], covering[i + 1], off * 32 / word);
  return to;
}

/// Stores the first `left` elements: by one access if that is all of them and `aligned`. That is named (PTX ISA,
/// st.global.wb), as nvcc merges plain ones with the stores of single elements of 32 bits.
template <class T>
LAPIDARY_DEVICE void store_words(const Words& from, T* to, bool aligned, std::int64_t left) {
  constexpr int bits = 8 * sizeof(T);
  if (aligned && left >= packed<T>) {
    AccessOf<16> all;
    __builtin_memcpy(static_cast<void*>(&all), from.element, sizeof(all));
    return __stwb(&as<AccessOf<16>>(*to), all);
  }
#pragma unroll
  for (int e = 0; e < packed<T>; ++e)
    if (e < left) to[e] = static_cast<T>(from.element[e * bits / 32] >> e * bits % 32);
}

}  // namespace lapidary::inline LAPIDARY_BUILD
