#pragma once
#include <cmath>

#include "core/problem.hpp"
#include "ptx/cuda.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// x / (1 + exp(-s)): x times the logistic function of s. Nothing is cancelled, however far s is from 0.
LAPIDARY_DEVICE float times_logistic(float x, float s) { return x / (1 + expf(-s)); }

/// An activation of one number. NaN stays NaN.
///
/// D. Hendrycks and K. Gimpel, "Gaussian Error Linear Units (GELUs)", arXiv:1606.08415: x times the normal
/// distribution's share below x, and its approximation by a hyperbolic tangent, where (1 + tanh(u)) / 2 is the logistic
/// function of 2 u; SiLU is x times that of x.
LAPIDARY_DEVICE float activated(Activation activation, float x) {
  switch (activation) {
    case Activation::none: break;
    case Activation::relu: return x < 0 ? 0 : x;
    case Activation::gelu_erf: return 0.5f * x * erfcf(-0.70710678f * x);
    case Activation::gelu_tanh: return times_logistic(x, 1.5957691f * (x + 0.044715f * x * x * x));
    case Activation::silu: return times_logistic(x, x);
  }
  return x;
}

}  // namespace lapidary::inline LAPIDARY_BUILD
