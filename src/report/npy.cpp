#include "report/npy.hpp"

#include <fmt/format.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "core/error.hpp"

namespace lapidary::report {

// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html. NumPy has no bf16: the name of 16 bits
// without a meaning is what the package ml_dtypes writes for it.
void write_npy(const std::filesystem::path& path, Type type, std::int64_t rows, std::int64_t cols, std::int64_t ld,
               const void* data, Order order) {
  static_assert(std::endian::native == std::endian::little, "'<f4' and '<f2' are little-endian");
  constexpr std::size_t prefix = 10, alignment = 64;  // magic, version and length; where the data begin
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': ({}, {}), }}",
                                   type == Type::f32   ? "<f4"
                                   : type == Type::f16 ? "<f2"
                                                       : "<V2",
                                   order == Order::row_major ? "False" : "True", rows, cols);
  header.append(alignment - 1 - (prefix + header.size()) % alignment, ' ');
  header += '\n';

  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file.write("\x93NUMPY\x01\x00", 8);
  file.put(static_cast<char>(header.size() & 0xff)).put(static_cast<char>(header.size() >> 8));
  file << header;
  const std::int64_t lines = order == Order::row_major ? rows : cols, length = order == Order::row_major ? cols : rows;
  for (std::int64_t i = 0; length > 0 && i < lines; ++i) {
    file.write(static_cast<const char*>(data) + i * ld * size_of(type), length * size_of(type));
  }
  file.close();
  if (!file) throw InvalidArgument(fmt::format("cannot write {}: {}", path.string(), std::strerror(errno)));
}

}  // namespace lapidary::report
