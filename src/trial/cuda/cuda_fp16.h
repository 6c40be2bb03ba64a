#pragma once
// CUDA's half precision for kernels that `lapidary try` compiles: arithmetic is that of f32, rounded after each
// operation, which is exact for one addition or multiplication.
#include <cuda_runtime.h>
#include "core/types.hpp"

inline namespace LAPIDARY_BUILD {

struct __half {
  lapidary::f16 value;
  __half() = default;
  LAPIDARY_WRAPPER __half(float from) : value(lapidary::from_float<lapidary::f16>(from)) {}
  LAPIDARY_WRAPPER __half(double from) : __half(static_cast<float>(from)) {}
  LAPIDARY_WRAPPER __half(int from) : __half(static_cast<float>(from)) {}
  LAPIDARY_WRAPPER operator float() const { return lapidary::to_float(value); }
};
using half = __half;

#define LAPIDARY_HALF_OPERATOR(op)                                                         \
  LAPIDARY_WRAPPER half operator op(half a, half b) { return half(float(a) op float(b)); } \
  LAPIDARY_WRAPPER half& operator op##=(half& a, half b) { return a = half(float(a) op float(b)); }
LAPIDARY_HALF_OPERATOR(+)
LAPIDARY_HALF_OPERATOR(-)
LAPIDARY_HALF_OPERATOR(*)
LAPIDARY_HALF_OPERATOR(/)
#undef LAPIDARY_HALF_OPERATOR

struct alignas(4) __half2 {
  half x, y;
  __half2() = default;
  LAPIDARY_WRAPPER __half2(half x_, half y_) : x(x_), y(y_) {}
  LAPIDARY_WRAPPER __half2(const __half2& from) { move(this, &from); }
  LAPIDARY_WRAPPER __half2& operator=(const __half2& from) {
    move(this, &from);
    return *this;
  }

 private:
  LAPIDARY_WRAPPER static void move(void* to, const void* from) {
    typedef unsigned Moved __attribute__((may_alias));
    *static_cast<Moved*>(to) = *static_cast<const Moved*>(from);
  }
};
using half2 = __half2;

LAPIDARY_WRAPPER half __float2half(float a) { return half(a); }
LAPIDARY_WRAPPER half __float2half_rn(float a) { return half(a); }
LAPIDARY_WRAPPER float __half2float(half a) { return a; }
LAPIDARY_WRAPPER half __hadd(half a, half b) { return a + b; }
LAPIDARY_WRAPPER half __hsub(half a, half b) { return a - b; }
LAPIDARY_WRAPPER half __hmul(half a, half b) { return a * b; }
// The product of two halves is exact in f32; double holds the sum too.
LAPIDARY_WRAPPER half __hfma(half a, half b, half c) {
  return half(static_cast<float>(double(float(a)) * double(float(b)) + double(float(c))));
}
LAPIDARY_WRAPPER half2 __halves2half2(half a, half b) { return half2(a, b); }
LAPIDARY_WRAPPER half2 make_half2(half a, half b) { return half2(a, b); }
LAPIDARY_WRAPPER half2 __half2half2(half a) { return half2(a, a); }
LAPIDARY_WRAPPER half2 __float2half2_rn(float a) { return half2(half(a), half(a)); }
LAPIDARY_WRAPPER half2 __floats2half2_rn(float a, float b) { return half2(half(a), half(b)); }
LAPIDARY_WRAPPER half2 __float22half2_rn(float2 a) { return half2(half(a.x), half(a.y)); }
LAPIDARY_WRAPPER float2 __half22float2(half2 a) { return float2(a.x, a.y); }
LAPIDARY_WRAPPER half __low2half(half2 a) { return a.x; }
LAPIDARY_WRAPPER half __high2half(half2 a) { return a.y; }
LAPIDARY_WRAPPER float __low2float(half2 a) { return a.x; }
LAPIDARY_WRAPPER float __high2float(half2 a) { return a.y; }
LAPIDARY_WRAPPER half2 __hadd2(half2 a, half2 b) { return half2(a.x + b.x, a.y + b.y); }
LAPIDARY_WRAPPER half2 __hmul2(half2 a, half2 b) { return half2(a.x * b.x, a.y * b.y); }
LAPIDARY_WRAPPER half2 __hfma2(half2 a, half2 b, half2 c) {
  return half2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));
}

}  // namespace LAPIDARY_BUILD
