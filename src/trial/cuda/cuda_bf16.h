#pragma once
// CUDA's bfloat16 for kernels that `lapidary try` compiles: arithmetic is that of f32, rounded after each operation, as
// in cuda_fp16.h.
#include <cuda_runtime.h>
#include "core/types.hpp"

inline namespace LAPIDARY_BUILD {

struct __nv_bfloat16 {
  lapidary::bf16 value;
  __nv_bfloat16() = default;
  LAPIDARY_WRAPPER __nv_bfloat16(float from) : value(lapidary::from_float<lapidary::bf16>(from)) {}
  LAPIDARY_WRAPPER __nv_bfloat16(double from) : __nv_bfloat16(static_cast<float>(from)) {}
  LAPIDARY_WRAPPER __nv_bfloat16(int from) : __nv_bfloat16(static_cast<float>(from)) {}
  LAPIDARY_WRAPPER operator float() const { return lapidary::to_float(value); }
};
using nv_bfloat16 = __nv_bfloat16;

#define LAPIDARY_BFLOAT16_OPERATOR(op)                                                \
  LAPIDARY_WRAPPER __nv_bfloat16 operator op(__nv_bfloat16 a, __nv_bfloat16 b) {      \
    return __nv_bfloat16(float(a) op float(b));                                       \
  }                                                                                   \
  LAPIDARY_WRAPPER __nv_bfloat16& operator op##=(__nv_bfloat16& a, __nv_bfloat16 b) { \
    return a = __nv_bfloat16(float(a) op float(b));                                   \
  }
LAPIDARY_BFLOAT16_OPERATOR(+)
LAPIDARY_BFLOAT16_OPERATOR(-)
LAPIDARY_BFLOAT16_OPERATOR(*)
LAPIDARY_BFLOAT16_OPERATOR(/)
#undef LAPIDARY_BFLOAT16_OPERATOR

LAPIDARY_WRAPPER __nv_bfloat16 __float2bfloat16(float a) { return __nv_bfloat16(a); }
LAPIDARY_WRAPPER __nv_bfloat16 __float2bfloat16_rn(float a) { return __nv_bfloat16(a); }
LAPIDARY_WRAPPER float __bfloat162float(__nv_bfloat16 a) { return a; }

}  // namespace LAPIDARY_BUILD
