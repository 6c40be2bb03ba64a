#pragma once

namespace lapidary {

/// A row and a column: of an element in a matrix or in a tile, or of a tile of D among the others.
template <class Index>
struct RowCol {
  Index row, col;
  constexpr bool operator==(const RowCol&) const = default;
};

}  // namespace lapidary
