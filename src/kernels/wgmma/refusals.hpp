#pragma once
#include <string>
#include <utility>

#include "core/problem.hpp"
#include "tile/tma_tile.hpp"

// Which problems kernels do not take whose tiles are copied or stored in bulk: the rule, the value and what is legal.

namespace lapidary::inline LAPIDARY_BUILD {

/// What keeps the Tensor Memory Accelerator from copying boxes of a matrix: its base and its lines must begin at
/// multiples of 16 bytes, and lines less than 2^40 bytes apart. Empty if nothing does.
inline std::string refusal_by_tma(const Problem& problem, Matrix matrix, int aligned) {
  const MatrixShape shape = shape_of(problem, matrix);
  const int size = size_of(shape.type);
  // Texts take longer to write than all else here, and most problems are taken.
  const auto ld = [&] { return std::string(name_of(matrix)) + "'s leading dimension is " + std::to_string(shape.ld); };
  if (aligned % 16 != 0)
    return std::string(name_of(matrix)) + " is known to be aligned to " + std::to_string(aligned) +
           " bytes; bulk copies begin at multiples of 16";
  if (shape.lines() == 1) return {};
  if (shape.ld * size % 16 != 0)
    return ld() + "; lines that are copied in bulk begin at multiples of 16 bytes, " + std::to_string(16 / size) +
           " elements";
  if (shape.ld * size >= most_map_pitch)
    return ld() + "; lines that are copied in bulk begin less than 2^40 bytes apart, " +
           std::to_string(most_map_pitch / size) + " elements";
  return {};
}

/// Why results of `size` bytes cannot be stored in bulk: their rows are whole multiples of 16 bytes. Empty if they can
/// be.
inline std::string refusal_by_bulk_stores(const Problem& problem, int size) {
  if (problem.N * size % 16 != 0)
    return "N is " + std::to_string(problem.N) + "; results that are stored in bulk are in multiples of 16 bytes, " +
           std::to_string(16 / size) + " elements";
  return refusal_by_tma(problem, Matrix::D, problem.aligned.D);
}

/// Why kernels that copy A and B in bulk do not take a problem.
inline std::string refusal_of_operands(const Problem& problem) {
  if (problem.K == 0) return "K is 0; a matrix that is copied in bulk has elements";
  // Coordinates of boxes are of 31 bits, also those of boxes that hang over the edges.
  constexpr std::int64_t most = (std::int64_t{1} << 31) - 1024;
  for (const auto& [name, size] : {std::pair{"M", problem.M}, std::pair{"N", problem.N}, std::pair{"K", problem.K}})
    if (size > most)
      return std::string(name) + " is " + std::to_string(size) + "; bulk copies count elements in 31 bits, to " +
             std::to_string(most);
  const std::string a = refusal_by_tma(problem, Matrix::A, problem.aligned.A);
  return a.empty() ? refusal_by_tma(problem, Matrix::B, problem.aligned.B) : a;
}

}  // namespace lapidary::inline LAPIDARY_BUILD
