#pragma once
// CUDA's bfloat16 for kernels that `lapidary try` compiles.
#include <cuda_runtime.h>
#include "trial/cuda/narrow_float.hpp"

inline namespace LAPIDARY_BUILD {

struct __nv_bfloat16 : lapidary_narrow_float<__nv_bfloat16, lapidary::bf16> {
  using lapidary_narrow_float::lapidary_narrow_float;
};
using nv_bfloat16 = __nv_bfloat16;

struct __nv_bfloat162 : lapidary_narrow_pair<__nv_bfloat162, __nv_bfloat16> {
  using lapidary_narrow_pair::lapidary_narrow_pair;
};
using nv_bfloat162 = __nv_bfloat162;

LAPIDARY_NARROW_CONVERSIONS(__nv_bfloat16, __nv_bfloat162, bfloat16, bfloat162)

}  // namespace LAPIDARY_BUILD
