#pragma once
#include <cstdint>

#include "ptx/call_site.hpp"
#include "ptx/cuda.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

#if defined(__CUDACC__)

namespace ldmatrix_detail {
template <bool transposed>
struct Suffix {
  static constexpr const char text[] = "";
};
template <>
struct Suffix<true> {
  static constexpr const char text[] = ".trans";
};
}  // namespace ldmatrix_detail

/// ldmatrix (PTX ISA, "ldmatrix", sm_75): loads `count`, 1, 2 or 4, matrices of 8 x 8 elements of 16 bits from shared
/// memory. Lane 8 j + i gives the address of row i of matrix j, 16 bytes aligned to as many; register j of a lane gets
/// two neighbours of one row of matrix j, or `transposed` of one column (layout/fragment.hpp: ldmatrix_element). All
/// lanes of the warp execute it together.
template <int count, bool transposed = false>
LAPIDARY_DEVICE void ldmatrix(std::uint32_t (&d)[count], const void* row) {
  static_assert(count == 1 || count == 2 || count == 4, "ldmatrix loads 1, 2 or 4 matrices");
  using Suffix = ldmatrix_detail::Suffix<transposed>;
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  if constexpr (count == 1)
    asm volatile("ldmatrix.sync.aligned.m8n8.x1%2.shared.b16 {%0}, [%1];"
                 : "=r"(d[0])
                 : "r"(address), "C"(Suffix::text)
                 : "memory");
  else if constexpr (count == 2)
    asm volatile("ldmatrix.sync.aligned.m8n8.x2%3.shared.b16 {%0, %1}, [%2];"
                 : "=r"(d[0]), "=r"(d[1])
                 : "r"(address), "C"(Suffix::text)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4%5.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                 : "r"(address), "C"(Suffix::text)
                 : "memory");
}

/// stmatrix (PTX ISA, "stmatrix", sm_90): stores such matrices likewise.
template <int count, bool transposed = false>
LAPIDARY_DEVICE void stmatrix(void* row, const std::uint32_t (&a)[count]) {
  static_assert(count == 1 || count == 2 || count == 4, "stmatrix stores 1, 2 or 4 matrices");
  using Suffix = ldmatrix_detail::Suffix<transposed>;
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  if constexpr (count == 1)
    asm volatile("stmatrix.sync.aligned.m8n8.x1%2.shared.b16 [%0], {%1};" ::"r"(address), "r"(a[0]), "C"(Suffix::text)
                 : "memory");
  else if constexpr (count == 2)
    asm volatile("stmatrix.sync.aligned.m8n8.x2%3.shared.b16 [%0], {%1, %2};" ::"r"(address), "r"(a[0]), "r"(a[1]),
                 "C"(Suffix::text)
                 : "memory");
  else
    asm volatile("stmatrix.sync.aligned.m8n8.x4%5.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(a[0]),
                 "r"(a[1]), "r"(a[2]), "r"(a[3]), "C"(Suffix::text)
                 : "memory");
}

#else

namespace ldmatrix_detail {
template <int count, bool transposed>
constexpr emulator::abi::MatrixForm form = {count, transposed};
}

template <int count, bool transposed = false>
LAPIDARY_DEVICE void ldmatrix(std::uint32_t (&d)[count], const void* row,
                              CallSite where = std::source_location::current()) {
  static_assert(count == 1 || count == 2 || count == 4, "ldmatrix loads 1, 2 or 4 matrices");
  emulator::abi::ldmatrix(ldmatrix_detail::form<count, transposed>, d, row, where);
}

template <int count, bool transposed = false>
LAPIDARY_DEVICE void stmatrix(void* row, const std::uint32_t (&a)[count],
                              CallSite where = std::source_location::current()) {
  static_assert(count == 1 || count == 2 || count == 4, "stmatrix stores 1, 2 or 4 matrices");
  emulator::abi::stmatrix(ldmatrix_detail::form<count, transposed>, row, a, where);
}

#endif

}  // namespace lapidary::inline LAPIDARY_BUILD
