#pragma once
#include <vector>

namespace lapidary::pages {

/// Neighbouring cells of a grid that hold the same value.
struct Rectangle {
  int row, col, rows, cols;
  int value;
};

/// Covers a grid of `rows` times `cols` cells, given row by row, with rectangles of one value each: every one reaches
/// as far to the right as it can, then as far down.
std::vector<Rectangle> rectangles(int rows, int cols, const std::vector<int>& cells);

}  // namespace lapidary::pages
