#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "core/refusal.hpp"
#include "core/types.hpp"

// D = alpha * A * B + beta * C: what is to be computed (Problem), and where it is (Operands).

namespace lapidary {

/// Which elements of a matrix are neighbours in memory: those of a row, or those of a column.
enum class Order : std::uint8_t { row_major, column_major };

/// What a product is made of: the types of its matrices, and how A and B lie in memory.
struct GemmKind {
  Type type;    ///< of A and B
  Type result;  ///< of C and D: f32, f16 or bf16, or of products of s8 s32
  Order a, b;

  constexpr GemmKind(Type type_ = Type::f32) : GemmKind(type_, is_result(type_) ? type_ : Type::f32) {}
  constexpr GemmKind(Type type_, Type result_, Order a_ = Order::row_major, Order b_ = Order::row_major)
      : type(type_), result(result_), a(a_), b(b_) {}
  constexpr bool operator==(const GemmKind&) const = default;
};

/// A matrix of a problem.
enum class Matrix : std::uint8_t { A, B, C, D };
constexpr Matrix all_matrices[] = {Matrix::A, Matrix::B, Matrix::C, Matrix::D};

/// What is known of alpha or beta before a launch. With a beta that is zero, C is not read.
enum class Factor : std::uint8_t { zero, one, any, in_device_memory };
constexpr Factor factor_of(float value) { return value == 0 ? Factor::zero : value == 1 ? Factor::one : Factor::any; }

/// What every matrix's base is known to be a multiple of, in bytes: powers of two.
struct Alignments {
  int A = 256, B = 256, C = 256, D = 256;
  constexpr bool operator==(const Alignments&) const = default;
};

/// So many products of one shape. Strides are elements from a matrix to the next one; 0 for one that all share.
struct Batch {
  std::int64_t count = 1;
  std::int64_t stride_a = 0, stride_b = 0, stride_c = 0, stride_d = 0, stride_residual = 0;
  constexpr bool operator==(const Batch&) const = default;
};

/// Functions of one number; kernels/activation.cuh has them.
enum class Activation : std::uint8_t { none, relu, gelu_erf, gelu_tanh, silu };
/// An addend for each column, or for each row, of D.
enum class Bias : std::uint8_t { none, of_columns, of_rows };

/// What is done to t = alpha * A * B + beta * C before it is stored:
///
///   D = clamp(scale * activation(t + bias) + residual)
struct Epilogue {
  Bias bias = Bias::none;
  Activation activation = Activation::none;
  bool scale = false;
  bool residual = false;  ///< a matrix of the shape, type and order of D, which may be D
  bool clamp = false;     ///< to what lies between two numbers; NaN stays NaN
  constexpr bool operator==(const Epilogue&) const = default;
};

/// Factors of A and B beside alpha, in device memory: one for each matrix; one for each row of A and column of B; one
/// for each square of 128 x 128 elements of B and each 128 of a row of A.
enum class Scaling : std::uint8_t { none, matrices, rows_and_columns, blocks };

/// D = alpha * A * B + beta * C.
///
/// A is M x K, B is K x N, C and D are M x N. C and D are row-major: element (i, j) of D is D[i * ldd + j]. So are A
/// and B unless the kind says that they are column-major: element (i, j) of A is then A[j * lda + i]. Sizes may be
/// zero. Leading dimensions count elements and are at least the length of a line, a row or of column-major matrices a
/// column; 0 stands for just that. D may be C with the same leading dimension; it may overlap neither A nor B. Where C
/// and D are of s32, D is A * B modulo 2^32: alpha is known to be 1 and beta to be 0, and no epilogue follows.
struct Problem {
  GemmKind kind = Type::f32;
  std::int64_t M = 0, N = 0, K = 0;
  std::int64_t lda = 0, ldb = 0, ldc = 0, ldd = 0, ldr = 0;  ///< ldr: of the residual
  Factor alpha = Factor::one, beta = Factor::zero;
  bool in_place = false;  ///< D is C
  Alignments aligned = {};

  // What few kernels take, or none: a problem that asks one of the others for it is refused by name
  // (kernels/registry.hpp).
  Order order_d = Order::row_major;  ///< of C and D
  Batch batch = {};
  /// Products that have rows of A, C and D each, one below the other as far as numbers in device memory say, and a B
  /// each, which begin every batch.stride_b elements; 0: one, that has all of M.
  int groups = 0;
  Epilogue epilogue = {};
  Scaling scaling = Scaling::none;
  /// Parts of K that are added up apart: where it is not 1, each product of the batch, of which there are as many, is
  /// of one part of the K of the same A and B (core/batch.hpp, part_of_k()).
  int split = 1;

  bool reads_c() const;  ///< beta is not 0
  constexpr bool operator==(const Problem&) const = default;
};

/// Where a problem's matrices are, in device memory, and its factors. C may be null if beta is 0. What the problem does
/// not ask for does not count.
struct Operands {
  const void* A = nullptr;
  const void* B = nullptr;
  const void* C = nullptr;
  void* D = nullptr;
  float alpha = 1, beta = 0;
  const float *device_alpha = nullptr, *device_beta = nullptr;  ///< of a factor in device memory, where it is: not in D
  const void *bias = nullptr, *residual = nullptr;  ///< of the type of D; the bias one number after the other
  const void *prepared_a = nullptr,
             *prepared_b = nullptr;  ///< copies that were made before, for plans that ask for them
  float scale = 1;
  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();  ///< of a clamp
  /// Of each group the row behind its last one; the next one begins there, the first one at row 0. In device memory,
  /// and read when a kernel runs. They do not decrease, and are at most M: what lies outside of that counts as the
  /// nearest number that does not. Rows from the last one on are not written.
  const std::int64_t* group_ends = nullptr;

  const void* operator[](Matrix matrix) const;
};

/// One of a problem's matrices as it lies in memory: lines, which are its rows or its columns, that begin every `ld`
/// elements.
struct MatrixShape {
  Type type;
  std::int64_t rows, cols, ld;
  Order order;

  bool empty() const;
  std::int64_t lines() const;
  std::int64_t length() const;
  /// Elements from the first to the last one, or 0 if it has none: (lines - 1) * ld + length.
  std::int64_t extent() const;
  std::int64_t bytes() const;
};
MatrixShape shape_of(const Problem& problem, Matrix matrix);
MatrixShape shape_of_residual(const Problem& problem);
/// How many numbers a bias has; 0 if there is none.
std::int64_t bias_length(const Problem& problem);

/// The same with every leading dimension filled in, that of a residual only if there is one; with `in_place`, a missing
/// one of D is that of C and the other way round.
Problem resolved(Problem problem);

/// Whether every line of every matrix that is touched can be walked in aligned 128-bit vectors without a remainder:
/// bases on 16 bytes, leading dimensions and lengths multiples of a vector. Of resolved problems.
bool vectorizable(const Problem& problem);

/// Checks types, sizes and leading dimensions, of a resolved problem. Those of C count only if beta is not 0.
/// @throws InvalidArgument naming the rule, the value and what is legal
void validate(const Problem& problem);

/// What a resolved problem asks for that no kernel does; nothing if a kernel may do it.
/// @param finishes  whether it is one that does what an epilogue asks for
/// @param batches  whether it is one that does all products of a batch, and those of the parts of a K
/// @param groups  whether it is one that does groups of products
std::optional<BrokenRule> unsupported(const Problem& problem, bool finishes = false, bool batches = false,
                                      bool groups = false);

/// Checks where a valid, resolved problem's matrices are: those that are read or written are not null and aligned as
/// the problem says, at least to an element; alpha and beta are what it says; D is C if it says so, shares no element
/// with A, B, a bias or a factor in device memory, and none with C or a residual either unless it is that matrix. D may
/// lie between the lines of the others. With a beta of 0, C may be anywhere.
/// @throws InvalidArgument naming the rule, the value and what is legal
void validate(const Problem& problem, const Operands& operands);

/// What is known of operands, as a problem has it: alpha and beta unless they are in device memory, in_place and
/// aligned.
Problem with_known(Problem problem, const Operands& operands);

/// "bf16": types of A and B and of C and D alike, all row-major; "bf16/f32": results of f32; "bf16 RC": A row-major, B
/// column-major.
std::string to_string(const GemmKind& kind);
/// "none", or its parts in their order: "bias_of_columns-gelu_tanh-scale-residual-clamp".
std::string to_string(const Epilogue& epilogue);
const char* name_of(Matrix matrix);
const char* name_of(Factor factor);

/// @throws InvalidArgument naming those there are
Type parse_type(std::string_view name);
/// What to_string() makes of a kind: "bf16", "bf16/f32", "bf16 RC".
/// @throws InvalidArgument saying how it is written
GemmKind parse_kind(std::string_view text);
/// What to_string() makes of an epilogue. @throws InvalidArgument saying how it is written
Epilogue parse_epilogue(std::string_view text);

}  // namespace lapidary
