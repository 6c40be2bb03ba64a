#include "report/npy.hpp"

#include <fmt/format.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "core/error.hpp"

namespace lapidary::report {

// NumPy has no bf16 and no e4m3: the names of bits without a meaning are what the package ml_dtypes writes for them.
static const char* descr(Type type) {
  switch (type) {
    case Type::f32:
    case Type::tf32: return "<f4";
    case Type::f16: return "<f2";
    case Type::bf16: return "<V2";
    case Type::s8: return "|i1";
    case Type::s32: return "<i4";
    case Type::e4m3: break;
  }
  return "|V1";
}

// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html.
void write_npy(const std::filesystem::path& path, Type type, std::int64_t rows, std::int64_t cols, std::int64_t ld,
               const void* data, Order order) {
  static_assert(std::endian::native == std::endian::little, "'<f4' and '<f2' are little-endian");
  constexpr std::size_t prefix = 10, alignment = 64;  // magic, version and length; where the data begin
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': ({}, {}), }}", descr(type),
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
