#pragma once
#include <cstdint>

#include "core/build.hpp"
#include "core/types.hpp"

namespace lapidary {

/// D = alpha * A * B + beta * C.
///
/// All four matrices are row-major in device memory: A is M x K, B is K x N, C and D are M x N. Element (i, j) of A is
/// A[i * lda + j]; leading dimensions count elements and are at least the length of a row. Sizes may be zero. With
/// beta == 0, C is not read and may be null. D may be C with the same leading dimension; it may overlap neither A nor
/// B.
template <class T>
struct Gemm {
  std::int64_t M, N, K;
  float alpha;
  const T* A;
  std::int64_t lda;
  const T* B;
  std::int64_t ldb;
  float beta;
  const T* C;
  std::int64_t ldc;
  T* D;
  std::int64_t ldd;
};

/// The same with the element type as a value, for code that picks a kernel at run time.
struct GemmProblem {
  Type type;
  std::int64_t M, N, K;
  float alpha;
  const void* A;
  std::int64_t lda;
  const void* B;
  std::int64_t ldb;
  float beta;
  const void* C;
  std::int64_t ldc;
  void* D;
  std::int64_t ldd;
};

}  // namespace lapidary

namespace lapidary::inline LAPIDARY_BUILD {

template <class T>
Gemm<T> typed(const GemmProblem& p) {
  return {p.M,
          p.N,
          p.K,
          p.alpha,
          static_cast<const T*>(p.A),
          p.lda,
          static_cast<const T*>(p.B),
          p.ldb,
          p.beta,
          static_cast<const T*>(p.C),
          p.ldc,
          static_cast<T*>(p.D),
          p.ldd};
}

/// Whether every row of every matrix can be walked in aligned 128-bit vectors without a remainder: bases on 16 bytes,
/// leading dimensions and row lengths multiples of a vector.
template <class T>
bool vectorizable(const Gemm<T>& g) {
  constexpr std::int64_t lanes = 16 / sizeof(T);
  const auto aligned = [](const void* base) { return reinterpret_cast<std::uintptr_t>(base) % 16 == 0; };
  const bool bases = aligned(g.A) && aligned(g.B) && aligned(g.D) && (g.beta == 0 || aligned(g.C));
  const bool pitches = g.lda % lanes == 0 && g.ldb % lanes == 0 && g.ldd % lanes == 0 &&
                       (g.beta == 0 || g.ldc % lanes == 0);
  return bases && pitches && g.K % lanes == 0 && g.N % lanes == 0;
}

}  // namespace lapidary::inline LAPIDARY_BUILD
