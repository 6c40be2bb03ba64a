#pragma once
#include <cmath>
#include <type_traits>

#include "core/problem.hpp"
#include "ptx/cuda.hpp"
#include "ptx/math.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// x times the logistic function 1 / (1 + 2^-s), where s grows with x. Nothing is cancelled, however far x is from 0.
/// 2^60 is finite in all products; where it counts the true result is next to 0, and so is that of -64.
struct Logistic {
  static constexpr float most = 60, least = -64;

  LAPIDARY_DEVICE static float power(float minus_s) { return ex2_approx(fminf(minus_s, most)); }
  LAPIDARY_DEVICE static float times(float x, float reciprocal) { return max_nan(x, least) * reciprocal; }
};

/// -s of the activations that are x times a logistic function.
///
/// D. Hendrycks and K. Gimpel, "Gaussian Error Linear Units (GELUs)", arXiv:1606.08415: x times the normal
/// distribution's share below x, and its approximation x (1 + tanh(u)) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3),
/// which is x times the logistic function of 2 u; SiLU is x times that of x.
template <Activation activation>
LAPIDARY_DEVICE float minus_exponent(float x) {
  constexpr float log2_e = 1.44269504f, twice = 2 * 0.79788456f * log2_e;
  if constexpr (activation == Activation::silu) return -log2_e * x;
  return x * fmaf(-twice * 0.044715f, x * x, -twice);
}
template <Activation activation>
constexpr bool is_logistic = activation == Activation::gelu_tanh || activation == Activation::silu;

/// An activation of a number. NaN stays NaN.
template <Activation activation>
LAPIDARY_DEVICE float activated(float x) {
  if constexpr (activation == Activation::relu) return x < 0 ? 0 : x;
  if constexpr (activation == Activation::gelu_erf) return x * (0.5f * erfcf(-0.70710678f * x));
  if constexpr (is_logistic<activation>)
    return Logistic::times(x, rcp_approx(1 + Logistic::power(minus_exponent<activation>(x))));
  return x;
}

/// The same of two numbers, of which each is rounded as the other one is too, and no more: reciprocals take longest,
/// and one serves both.
template <Activation activation>
LAPIDARY_DEVICE void activate(float& x, float& y) {
  if constexpr (is_logistic<activation>) {
    const float of_x = Logistic::power(minus_exponent<activation>(x)),
                of_y = 1 + Logistic::power(minus_exponent<activation>(y)), r = rcp_approx(fmaf(of_x, of_y, of_y));
    x = Logistic::times(x, of_y * r);
    y = Logistic::times(y, fmaf(of_x, r, r));
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
