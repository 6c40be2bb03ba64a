#include <cmath>

#include "lapidary/gemm.hpp"
#include "library/plan_data.hpp"

namespace lapidary {

// N. J. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd edition, section 3.1: of a sum of K products,
// each rounded to a relative error of u and added with one, the error is at most about K u times the sum of their
// absolute values. Tensor cores multiply exactly, and cut off what they add, at the last bit that they keep of the
// largest of an instruction's terms, with which the sum so far counts as one more; the number of these is taken twice,
// as an instruction has 4 products at least.
ErrorBound Plan::error_bound() const {
  constexpr double u = 0x1p-24;
  const Problem& p = problem();
  if (p.kind.result == Type::s32) return {};  // sums of integers as they are
  const auto K = static_cast<double>(p.alpha == Factor::zero ? 0 : p.K);
  ErrorBound bound;
  switch (p.kind.type) {
    case Type::f32: bound.products = K * u; break;
    case Type::f16:
    case Type::bf16:
    case Type::tf32: bound.products = 2 * K * 2 * u; break;
    case Type::e4m3: bound.products = 2 * K * 0x1p-13; break;
    case Type::s8: bound.products = u; break;  // integers, which are exact until they are scaled
    case Type::s32: break;
  }
  // Alpha times the sum, and beta times C to that.
  bound.products += 2 * u;
  bound.addend = 2 * u;
  switch (p.kind.result) {
    case Type::f16:
      bound.rounding = 0x1p-11;
      bound.least = 0x1p-25;
      break;
    case Type::bf16:
      bound.rounding = 0x1p-8;
      bound.least = 0x1p-134;
      break;
    default: bound.least = std::ldexp(1, -150);
  }
  return bound;
}

}  // namespace lapidary
