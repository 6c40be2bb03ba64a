#pragma once
// CUDA's half precision for kernels that `lapidary try` compiles.
#include <cuda_runtime.h>
#include "trial/cuda/narrow_float.hpp"

inline namespace LAPIDARY_BUILD {

struct __half : lapidary_narrow_float<__half, lapidary::f16> {
  using lapidary_narrow_float::lapidary_narrow_float;
};
using half = __half;

struct __half2 : lapidary_narrow_pair<__half2, __half> {
  using lapidary_narrow_pair::lapidary_narrow_pair;
};
using half2 = __half2;

LAPIDARY_NARROW_CONVERSIONS(__half, __half2, half, half2)

}  // namespace LAPIDARY_BUILD
