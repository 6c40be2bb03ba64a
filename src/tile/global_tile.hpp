#pragma once
#include <cstdint>

#include "core/math.hpp"
#include "ptx/cuda.hpp"
#include "tile/grid.hpp"
#include "tile/vector.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// What is left of a matrix from `begin` on, as far as a tile of `extent` reaches: 0 to extent.
LAPIDARY_DEVICE int left_in_tile(std::int64_t size, std::int64_t begin, int extent) {
  const std::int64_t left = size - begin;
  return left < extent ? static_cast<int>(left) : extent;
}

/// One thread's part of a ROWS x COLS tile of a row-major matrix in global memory. The tile is cut into accesses of
/// `width` neighbouring elements, and neighbouring threads take neighbouring ones, row by row: what a warp accesses at
/// a time are whole rows, or long runs of one. The thread keeps a pointer and moves it on from tile to tile, so that no
/// index is computed again.
template <class T, int ROWS, int COLS, int threads, int width = 1>
class GlobalTile {
 public:
  static_assert(COLS % width == 0 && threads % (COLS / width) == 0, "a thread stays in its column");
  static constexpr int rows_a_step = threads / (COLS / width);
  /// How many accesses are this thread's.
  static constexpr int count = ceil_div(ROWS, rows_a_step);

  /// Where in the tile thread's access number v is.
  LAPIDARY_HD static constexpr RowCol<int> element(int thread, int v) {
    return {thread / (COLS / width) + v * rows_a_step, thread % (COLS / width) * width};
  }

  LAPIDARY_DEVICE GlobalTile(const T* matrix, std::int64_t ld, std::int64_t row, std::int64_t col, int thread)
      : row_(element(thread, 0).row),
        col_(element(thread, 0).col),
        step_(rows_a_step * ld),
        from_(matrix + (row + row_) * ld + col + col_) {}

  /// Moves to the tile that begins `elements` further on in memory.
  LAPIDARY_DEVICE void advance(std::int64_t elements) { from_ += elements; }

  /// Whether access v begins within the tile's first `rows` rows and `cols` columns, which are those in the matrix.
  LAPIDARY_DEVICE bool inside(int v, int rows, int cols) const { return row_ + v * rows_a_step < rows && col_ < cols; }

  /// Its address; not to be read from if it is outside.
  LAPIDARY_DEVICE const T* address(int v) const { return from_ + v * step_; }

  /// Its element, for width 1; zero if it is outside, which adds nothing to a sum.
  LAPIDARY_DEVICE T load(int v, int rows, int cols) const {
    static_assert(width == 1);
    return inside(v, rows, cols) ? from_[v * step_] : T{};
  }

  /// Its elements, zeros for those outside: by one access if `vectorized`, which asks for a problem that is
  /// `vectorizable`, so that a vector lies inside as a whole or not at all; by single ones otherwise.
  template <bool vectorized>
  LAPIDARY_DEVICE Vector<T, width> load_vector(int v, int rows, int cols) const {
    Vector<T, width> vector{};
    if constexpr (vectorized) {
      if (inside(v, rows, cols)) vector = lapidary::load_vector<width>(from_[v * step_]);
    } else {
#pragma unroll
      for (int e = 0; e < width; ++e)
        if (inside(v, rows, cols - e)) vector.element[e] = from_[v * step_ + e];
    }
    return vector;
  }

  /// Whether the last access may lie below the tile, because its rows do not come out even.
  static constexpr bool ragged = ROWS % rows_a_step != 0;

 private:
  int row_, col_;
  std::int64_t step_;
  const T* from_;
};

/// Copies a tile into shared memory, zeros past the edges, and moves on to the one that begins `step` elements further
/// on; `place(i, j)` is where the tile's element (i, j) goes.
template <class T, int ROWS, int COLS, int threads, class Place>
LAPIDARY_DEVICE void copy_tile(GlobalTile<T, ROWS, COLS, threads>& tile, int thread, int rows, int cols,
                               std::int64_t step, Place&& place) {
  using Tile = GlobalTile<T, ROWS, COLS, threads>;
#pragma unroll
  for (int v = 0; v < Tile::count; ++v) {
    const RowCol<int> at = Tile::element(thread, v);
    if (Tile::ragged && at.row >= ROWS) break;
    place(at.row, at.col) = tile.load(v, rows, cols);
  }
  tile.advance(step);
}

}  // namespace lapidary::inline LAPIDARY_BUILD
