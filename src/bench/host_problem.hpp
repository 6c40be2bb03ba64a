#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "bench/parallel.hpp"
#include "core/problem.hpp"
#include "core/types.hpp"

namespace lapidary::bench {

/// The standard deviation of random data: 1, but for integers, which would have next to no bits.
template <class T>
constexpr float spread = std::is_same_v<T, std::int8_t> ? 32 : 1;

/// Elements by which the base pointers are moved off their alignment to 256 bytes.
struct Displacement {
  std::int64_t A = 0, B = 0, C = 0, D = 0;  ///< D's only if D is not C

  constexpr bool operator==(const Displacement&) const = default;
  std::int64_t operator[](Matrix matrix) const;
};
constexpr Displacement displaced_by(std::int64_t elements) { return {elements, elements, elements, elements}; }

/// A problem, and the random data and factors that it is tried with. What the problem says of alpha, beta and alignment
/// follows from them, and resolve() fills it in.
struct RandomProblem {
  Problem problem = {.M = 256, .N = 256, .K = 256};
  float alpha = 1, beta = 0;
  std::uint64_t seed = 1;
  Displacement displacement = {};
  /// With a beta of 0 a device that finds wrong accesses is given no C, so that it names the line that reads it. This
  /// gives it one of NaNs, as every other device has: a kernel may ask for beta alone whether C counts.
  bool unread_c = false;
  /// Where groups end, as kernels are given it: a number for each of problem.groups.
  std::vector<std::int64_t> group_ends = {};
};

/// The rows of a resolved problem as those of so many groups, whose B follow one another: in equal parts, or in parts
/// at random, by the seed.
RandomProblem in_groups(RandomProblem spec, int groups, bool at_random);

/// The rows where groups end as kernels have to read `group_ends`: they do not decrease and are of D.
std::vector<std::int64_t> legal_ends(const RandomProblem& spec);

std::int64_t& leading_dimension(Problem& problem, Matrix matrix);

/// Lines and matrices of a batch that are further apart than this, in elements, are so in device memory alone, where
/// nothing is between them: their offsets are what a problem is tried with, and the host keeps them without gaps.
constexpr std::int64_t far_apart = std::int64_t{1} << 27;
bool is_far(const MatrixShape& shape);
/// The problem as the host keeps it.
Problem without_far_gaps(Problem problem);

/// The same with a problem that is complete: leading dimensions, alpha and beta, and bases that are aligned to 256
/// bytes but for the displacement. D goes by C: with `in_place`, a missing ldd is ldc.
/// @throws InvalidArgument if a size or a leading dimension is not legal, or alpha or beta is not finite
RandomProblem resolve(RandomProblem spec);

/// "M = 1, N = 2, K = 3"
std::string sizes_of(const Problem& problem);

/// A matrix in host memory, laid out as a kernel sees it: lines, which are its rows or its columns, that begin every ld
/// elements; exactly (lines - 1) * ld + the length of a line elements, none if it has no rows or no columns. The
/// elements between the lines belong to nobody.
///
/// A new matrix is poisoned: every element is one certain NaN that no arithmetic produces. What is still poisoned later
/// was never written.
class HostMatrix {
 public:
  HostMatrix() = default;
  HostMatrix(Type type, std::int64_t rows, std::int64_t cols, std::int64_t ld, Order order = Order::row_major);
  explicit HostMatrix(const MatrixShape& shape)
      : HostMatrix(shape.type, shape.rows, shape.cols, shape.ld, shape.order) {}

  Type type() const { return type_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  std::int64_t ld() const { return ld_; }
  Order order() const { return order_; }

  /// Elements from one to the next of a column, and of a row.
  std::int64_t row_stride() const { return order_ == Order::row_major ? ld_ : 1; }
  std::int64_t col_stride() const { return order_ == Order::row_major ? 1 : ld_; }

  std::int64_t offset(std::int64_t row, std::int64_t col) const { return row * row_stride() + col * col_stride(); }

  /// Elements in memory, those between the lines included.
  std::int64_t extent() const { return static_cast<std::int64_t>(memory_.size()) / size_of(type_); }
  std::size_t bytes() const { return memory_.size(); }
  std::byte* data() { return memory_.data(); }
  const std::byte* data() const { return memory_.data(); }

  /// The elements as T, which has to be the C++ type of `type()`.
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(memory_.data());
  }
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(memory_.data());
  }

  /// Element (row, col), exactly.
  double at(std::int64_t row, std::int64_t col) const;
  /// Sets element (row, col) to the value rounded to the element type.
  void set(std::int64_t row, std::int64_t col, float value);
  /// Whether the element at an offset, 0 <= offset < extent(), is the poison, bit for bit.
  bool poisoned(std::int64_t offset) const;

 private:
  Type type_ = Type::f32;
  std::int64_t rows_ = 0, cols_ = 0, ld_ = 0;
  Order order_ = Order::row_major;
  std::vector<std::byte> memory_;
};

/// The inputs of a problem. Matrices whose lines are far apart have none of the gaps between them.
struct HostProblem {
  RandomProblem spec;  ///< resolved
  HostMatrix A;        ///< M x K
  HostMatrix B;        ///< K x N
  HostMatrix C;        ///< M x N
};

/// Fills A, B and C with normal random numbers (mean 0, see `spread`) rounded to the element type. Element (i, j)
/// depends on the seed and on its place in the matrix alone, neither on how that lies in memory nor on the number of
/// threads. With beta == 0, when no kernel may read it, C stays poisoned.
/// @throws InvalidArgument as `resolve` does
HostProblem make_problem(const RandomProblem& spec, const OnProgress& progress = {});

}  // namespace lapidary::bench
