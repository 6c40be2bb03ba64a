#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/host_problem.hpp"
#include "device/device.hpp"
#include "trial/element.hpp"

namespace lapidary::trial {

/// Which matrices are column-major; D is stored as C is.
struct Layouts {
  bool a = false, b = false, c = false;
  friend bool operator==(const Layouts&, const Layouts&) = default;
};

/// Three letters for A, B and C, R for row-major and C for column-major; or two in the way of BLAS for A and B, where
/// everything is column-major and T stands for transposed: TN is RCC.
/// @throws InvalidArgument saying so
Layouts parse_layouts(std::string_view text);
std::string to_string(const Layouts& layouts);

/// How a kernel has a matrix in memory.
struct Storage {
  Element element = Element::f32;
  bool column_major = false;
  std::int64_t ld = 0;  ///< elements from one row to the next, or from one column to the next
};

/// The least leading dimension of a matrix.
constexpr std::int64_t least_ld(bool column_major, std::int64_t rows, std::int64_t cols) {
  return column_major ? rows : cols;
}

/// Rounds the elements of a matrix to a type that may be narrower than its own.
void round_to(bench::HostMatrix& matrix, Element element);

/// The memory of a matrix as a kernel has it: exactly (n - 1) * ld + length elements for n rows or columns of that
/// length. Elements that the matrix has poisoned are poison here, a certain NaN that arithmetic never passes on; those
/// between the rows or columns are another. Of lines that are far apart (bench::far_apart) what is between them is not
/// there.
class MatrixImage {
 public:
  /// @param matrix  whose elements the type holds
  MatrixImage(const bench::HostMatrix& matrix, const Storage& storage);

  /// Device memory for it.
  DeviceBuffer allocate(Device& device, const char* name) const;
  void upload(Device& device, void* to) const;
  void download(Device& device, const void* from);

  double at(std::int64_t row, std::int64_t col) const { return value(place(row, col)); }
  /// The matrix in a type of the host's, without gaps; what is still poison is poisoned there.
  bench::HostMatrix matrix(Type type) const;
  /// How many elements between the rows or columns are no longer what they were.
  std::int64_t changed_between() const;
  /// How many elements of the memory, those between the rows or columns included, are not bit for bit another's of the
  /// same shape.
  std::int64_t changed_from(const MatrixImage& other) const;

 private:
  std::int64_t lines() const { return storage_.column_major ? cols_ : rows_; }
  std::int64_t length() const { return storage_.column_major ? rows_ : cols_; }
  /// Elements of the matrix with so many from one line to the next.
  std::int64_t extent(std::int64_t ld) const {
    return lines() == 0 || length() == 0 ? 0 : (lines() - 1) * ld + length();
  }
  std::int64_t place(std::int64_t row, std::int64_t col) const {
    return storage_.column_major ? col * kept_ld_ + row : row * kept_ld_ + col;
  }
  /// copy(bytes from the matrix's beginning on the device, bytes from that of `memory_`, bytes)
  template <class Copy>
  void for_each_run(Copy&& copy) const;
  double value(std::int64_t place) const;
  void set(std::int64_t place, double value);
  void set_bits(std::int64_t place, std::uint64_t bits);  ///< of the type's size, the low ones
  bool has_bits(std::int64_t place, std::uint64_t bits) const;

  Storage storage_;
  std::int64_t rows_, cols_;
  std::int64_t kept_ld_;  ///< in `memory_`
  std::vector<std::byte> memory_;
};

}  // namespace lapidary::trial
