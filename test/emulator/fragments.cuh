#pragma once
// Elements into and out of the registers that hold them, several to one.
#include "ptx/cuda.hpp"

namespace lapidary::test::inline LAPIDARY_BUILD {

/// Puts the elements that element(index, e) gives into registers, low bits first.
template <class T, int packed, class Register, int count, class Element>
LAPIDARY_DEVICE void gather(Register (&registers)[count], Element&& element) {
#pragma unroll
  for (int i = 0; i < count; ++i) {
    T elements[packed];
#pragma unroll
    for (int e = 0; e < packed; ++e) elements[e] = element(i, e);
    __builtin_memcpy(&registers[i], elements, sizeof(Register));
  }
}

/// The reverse: element(index, e) is where an element goes.
template <class T, int packed, class Register, int count, class Element>
LAPIDARY_DEVICE void scatter(const Register (&registers)[count], Element&& element) {
#pragma unroll
  for (int i = 0; i < count; ++i) {
    T elements[packed];
    __builtin_memcpy(elements, &registers[i], sizeof(Register));
#pragma unroll
    for (int e = 0; e < packed; ++e) element(i, e) = elements[e];
  }
}

}  // namespace lapidary::test::inline LAPIDARY_BUILD
