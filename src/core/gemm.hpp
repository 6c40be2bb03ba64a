#pragma once
#include <cstdint>

#include "core/build.hpp"
#include "core/types.hpp"

namespace lapidary {

/// Which elements of a matrix are neighbours in memory: those of a row, or those of a column.
enum class Order : std::uint8_t { row_major, column_major };

/// What a product is made of: the types of its matrices, and how A and B lie in memory. C and D are row-major.
struct GemmKind {
  Type type;    ///< of A and B
  Type result;  ///< of C and D: that of A and B, or f32
  Order a, b;

  constexpr GemmKind(Type type_ = Type::f32) : GemmKind(type_, is_result(type_) ? type_ : Type::f32) {}
  constexpr GemmKind(Type type_, Type result_, Order a_ = Order::row_major, Order b_ = Order::row_major)
      : type(type_), result(result_), a(a_), b(b_) {}
  constexpr bool operator==(const GemmKind&) const = default;
};

/// D = alpha * A * B + beta * C.
///
/// A is M x K, B is K x N, C and D are M x N, in device memory. C and D are row-major: element (i, j) of D is
/// D[i * ldd + j]. So are A and B unless a GemmKind says that they are column-major: element (i, j) of A is then
/// A[j * lda + i]. Leading dimensions count elements and are at least the length of a row, or of a column. Sizes may be
/// zero. With beta == 0, C is not read and may be null. D may be C with the same leading dimension; it may overlap
/// neither A nor B.
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

/// The same with types and orders as values, for code that picks a kernel at run time.
struct GemmProblem {
  GemmKind kind;
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

/// D = A * B with matrices whose lines follow one another, and no pointers yet.
constexpr GemmProblem dense_problem(const GemmKind& kind, std::int64_t M, std::int64_t N, std::int64_t K) {
  return {.kind = kind,
          .M = M,
          .N = N,
          .K = K,
          .alpha = 1,
          .A = nullptr,
          .lda = kind.a == Order::row_major ? K : M,
          .B = nullptr,
          .ldb = kind.b == Order::row_major ? N : K,
          .beta = 0,
          .C = nullptr,
          .ldc = N,
          .D = nullptr,
          .ldd = N};
}

}  // namespace lapidary

namespace lapidary::inline LAPIDARY_BUILD {

template <class T, class R = T>
Gemm<T, R> typed(const GemmProblem& p) {
  return {p.M,
          p.N,
          p.K,
          p.alpha,
          static_cast<const T*>(p.A),
          p.lda,
          static_cast<const T*>(p.B),
          p.ldb,
          p.beta,
          static_cast<const R*>(p.C),
          p.ldc,
          static_cast<R*>(p.D),
          p.ldd};
}

/// Whether every row (or column, by its order) of every matrix can be walked in aligned 128-bit vectors without a
/// remainder: bases on 16 bytes, leading dimensions and lengths multiples of a vector.
template <class T, class R>
bool vectorizable(const Gemm<T, R>& g, Order a = Order::row_major, Order b = Order::row_major) {
  const auto walkable = [](const auto* base, std::int64_t ld, std::int64_t length) {
    constexpr std::int64_t lanes = 16 / sizeof(*base);
    return reinterpret_cast<std::uintptr_t>(base) % 16 == 0 && ld % lanes == 0 && length % lanes == 0;
  };
  return walkable(g.A, g.lda, a == Order::row_major ? g.K : g.M) &&
         walkable(g.B, g.ldb, b == Order::row_major ? g.N : g.K) && walkable(g.D, g.ldd, g.N) &&
         (g.beta == 0 || walkable(g.C, g.ldc, g.N));
}

}  // namespace lapidary::inline LAPIDARY_BUILD
