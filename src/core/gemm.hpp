#pragma once
#include <cstdint>

#include "core/batch.hpp"
#include "core/build.hpp"
#include "core/problem.hpp"

namespace lapidary {

/// What a kernel is given of D = alpha * A * B + beta * C, as Problem has it: with beta == 0, C is not read and may be
/// null; of a K that is split, K is that of a part.
template <class T, class R = T>
struct Gemm {
  std::int64_t M, N, K;
  float alpha;
  const T* A;
  std::int64_t lda;
  const T* B;
  std::int64_t ldb;
  float beta;
  const R* C;
  std::int64_t ldc;
  R* D;
  std::int64_t ldd;
};

}  // namespace lapidary

namespace lapidary::inline LAPIDARY_BUILD {

/// Of a resolved problem, without its operands.
template <class T, class R = T>
Gemm<T, R> gemm_of(const Problem& p) {
  return {p.M, p.N, part_of_k(p), 1, nullptr, p.lda, nullptr, p.ldb, 0, nullptr, p.ldc, nullptr, p.ldd};
}

/// The same with its operands.
template <class T, class R = T>
Gemm<T, R> gemm_of(const Problem& p, const Operands& o) {
  return {p.M,
          p.N,
          p.K,
          o.alpha,
          static_cast<const T*>(o.A),
          p.lda,
          static_cast<const T*>(o.B),
          p.ldb,
          o.beta,
          static_cast<const R*>(o.C),
          p.ldc,
          static_cast<R*>(o.D),
          p.ldd};
}

}  // namespace lapidary::inline LAPIDARY_BUILD
