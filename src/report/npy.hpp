#pragma once
#include <cstdint>
#include <filesystem>

#include "core/gemm.hpp"
#include "core/types.hpp"

namespace lapidary::report {

/// Writes a matrix as a NumPy array file, format version 1.0, of type '<f4', '<f2' or (bf16) '<V2' and shape (rows,
/// cols), in its order. The rows, or columns, follow one another in the file, whatever the leading dimension is in
/// memory.
/// @param data  element (i, j) is at data[i * ld + j], of a column-major matrix at data[j * ld + i]; not read if there
///              are no elements
/// @throws InvalidArgument if the file cannot be written, with the reason
void write_npy(const std::filesystem::path& path, Type type, std::int64_t rows, std::int64_t cols, std::int64_t ld,
               const void* data, Order order = Order::row_major);

}  // namespace lapidary::report
