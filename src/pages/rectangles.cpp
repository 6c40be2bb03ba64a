#include "pages/rectangles.hpp"

#include <cstddef>

namespace lapidary::pages {

std::vector<Rectangle> rectangles(int rows, int cols, const std::vector<int>& cells) {
  std::vector<Rectangle> found;
  std::vector<bool> covered(cells.size());
  const auto index = [&](int row, int col) {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(cols) + static_cast<std::size_t>(col);
  };
  const auto is_free = [&](int row, int col, int value) {
    return !covered[index(row, col)] && cells[index(row, col)] == value;
  };
  for (int row = 0; row < rows; ++row) {
    for (int col = 0; col < cols; ++col) {
      if (covered[index(row, col)]) continue;
      Rectangle r{row, col, 1, 1, cells[index(row, col)]};
      while (col + r.cols < cols && is_free(row, col + r.cols, r.value)) ++r.cols;
      const auto row_is_free = [&](int at) {
        for (int c = col; c < col + r.cols; ++c)
          if (!is_free(at, c, r.value)) return false;
        return true;
      };
      while (row + r.rows < rows && row_is_free(row + r.rows)) ++r.rows;
      for (int i = row; i < row + r.rows; ++i)
        for (int c = col; c < col + r.cols; ++c) covered[index(i, c)] = true;
      found.push_back(r);
    }
  }
  return found;
}

}  // namespace lapidary::pages
