#pragma once
#include <cstdint>

#include "ptx/cuda.hpp"
#include "tile/vector.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// A matrix by its rows, or one row that stands for all with an `ld` of 0, of which vectors of `width` are accessed.
template <class T, int width>
struct Rows {
  T* first = nullptr;
  std::int64_t ld = 0;
  bool aligned = false;  ///< all of them are to vectors

  Rows() = default;
  Rows(T* data, std::int64_t pitch)
      : first(data),
        ld(pitch),
        aligned(reinterpret_cast<std::uintptr_t>(data) % (width * sizeof(T)) == 0 && pitch % width == 0) {}
  LAPIDARY_DEVICE T* at(std::int64_t row, std::int64_t col) const { return first + row * ld + col; }
};

/// Neighbours of a row, of which `left` are there; the others are 0.
template <class T, int width>
LAPIDARY_DEVICE void read(float (&to)[width], const Rows<const T, width>& rows, std::int64_t row, std::int64_t col,
                          int left) {
  const T* const from = rows.at(row, col);
  if (rows.aligned && left >= width) {
    const Vector<T, width> vector = load_vector<width>(*from);
#pragma unroll
    for (int i = 0; i < width; ++i) to[i] = to_float(vector.element[i]);
  } else {
#pragma unroll
    for (int i = 0; i < width; ++i) to[i] = i < left ? to_float(from[i]) : 0;
  }
}

}  // namespace lapidary::inline LAPIDARY_BUILD
