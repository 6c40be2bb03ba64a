#pragma once
#include <cmath>
#include <type_traits>

#include "core/problem.hpp"
#include "ptx/cuda.hpp"
#include "ptx/math.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// -s of the activations that are x times a logistic function.
///
/// D. Hendrycks and K. Gimpel, "Gaussian Error Linear Units (GELUs)", arXiv:1606.08415: x times the normal
/// distribution's share below x, and its approximation x (1 + tanh(u)) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3),
/// which is x times the logistic function 1 / (1 + 2^-s) of s = 2 u log2(e); SiLU is x times that of s = x log2(e).
/// Nothing is cancelled, however far x is from 0.
template <Activation activation>
LAPIDARY_DEVICE float minus_exponent(float x) {
  constexpr float log2_e = 1.44269504f, twice = 2 * 0.79788456f * log2_e;
  if constexpr (activation == Activation::silu) return -log2_e * x;
  return x * fmaf(-twice * 0.044715f, x * x, -twice);
}
template <Activation activation>
constexpr bool is_logistic = activation == Activation::gelu_tanh || activation == Activation::silu;

/// Below it x counts as it: 2^-s is at most 2^60 then, finite in all products, and what is exact lies next to 0, as
/// x 2^-60 does.
template <Activation activation>
constexpr float least_logistic = activation == Activation::silu ? -41 : -7.4f;

/// An activation of a number. NaN stays NaN.
template <Activation activation>
LAPIDARY_DEVICE float activated(float x) {
  if constexpr (activation == Activation::relu) return x < 0 ? 0 : x;
  if constexpr (activation == Activation::gelu_erf) return x * (0.5f * erfcf(-0.70710678f * x));
  if constexpr (is_logistic<activation>) {
    x = max_nan(x, least_logistic<activation>);
    return x * rcp_approx(1 + ex2_approx(minus_exponent<activation>(x)));
  }
  return x;
}

/// The same of two numbers, of which each is rounded as the other one is too, and no more: reciprocals take longest,
/// and one serves both.
template <Activation activation>
LAPIDARY_DEVICE void activate(float& x, float& y) {
  if constexpr (is_logistic<activation>) {
    x = max_nan(x, least_logistic<activation>);
    y = max_nan(y, least_logistic<activation>);
    const float of_x = ex2_approx(minus_exponent<activation>(x)), of_y = 1 + ex2_approx(minus_exponent<activation>(y)),
                r = rcp_approx(fmaf(of_x, of_y, of_y));
    x *= of_y * r;
    y *= fmaf(of_x, r, r);
  } else {
    x = activated<activation>(x);
    y = activated<activation>(y);
  }
}

/// Calls call(std::integral_constant) for an activation that is known when the kernel runs.
template <class Call>
LAPIDARY_DEVICE void with_activation(Activation activation, Call&& call) {
  using enum Activation;
  switch (activation) {
    case none: break;
    case relu: call(std::integral_constant<Activation, relu>()); break;
    case gelu_erf: call(std::integral_constant<Activation, gelu_erf>()); break;
    case gelu_tanh: call(std::integral_constant<Activation, gelu_tanh>()); break;
    case silu: call(std::integral_constant<Activation, silu>()); break;
  }
}

}  // namespace lapidary::inline LAPIDARY_BUILD
