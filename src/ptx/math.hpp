#pragma once
#include <cmath>

#include "ptx/cuda.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

// Approximations are made by the multifunction units, of which a multiprocessor has 16 lanes; subnormal operands and
// results are 0. The emulated machine rounds what they approximate.

/// ex2.approx.ftz.f32 (PTX ISA): 2^x, to 2 units in the last place.
LAPIDARY_DEVICE float ex2_approx(float x) {
#if defined(__CUDACC__)
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  const float y = std::exp2(x);
  return y < 0x1p-126f ? 0 : y;
#endif
}

/// rcp.approx.ftz.f32 (PTX ISA): 1 / x, to 1 unit in the last place.
LAPIDARY_DEVICE float rcp_approx(float x) {
#if defined(__CUDACC__)
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  const auto flushed = [](float value) { return std::fabs(value) < 0x1p-126f ? std::copysign(0.0f, value) : value; };
  return flushed(1 / flushed(x));
#endif
}

/// max.NaN.f32 and min.NaN.f32 (PTX ISA, sm_80): of two numbers the larger and the smaller one, NaN if one is NaN.
LAPIDARY_DEVICE float max_nan(float x, float y) {
#if defined(__CUDACC__)
  float z;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
  return z;
#else
  return std::isnan(x) || std::isnan(y) ? NAN : std::fmax(x, y);
#endif
}
LAPIDARY_DEVICE float min_nan(float x, float y) {
#if defined(__CUDACC__)
  float z;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
  return z;
#else
  return std::isnan(x) || std::isnan(y) ? NAN : std::fmin(x, y);
#endif
}

}  // namespace lapidary::inline LAPIDARY_BUILD
