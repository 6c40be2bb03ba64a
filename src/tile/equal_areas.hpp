#pragma once
#include <algorithm>
#include <cstdint>

#include "core/math.hpp"
#include "tile/raster.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// A tile of D: its row among tiles, and its columns among elements.
struct WideTile {
  int row, col, width;
};

/// Strips of rows, one cluster high, cut at the same columns, of which every other group of 8 is walked from the right.
struct Strips : TileRaster {
  static constexpr int narrowest = 30, widest = 32;  // in units of 8 columns
  static constexpr int most_cut = (1 << 16) - 1;     // more tiles of a strip are all as wide: their products overflow
  int first, first_group;                            ///< how many are in front of them
  int units, rest;                                   ///< of D's columns, divided by `cols` tiles

  static Strips of(int first, int first_group, int count, int cols, int columns) {
    Strips strips = {{count, cols, 8}, first, first_group, columns / cols, columns % cols};
    if (columns < cols * narrowest) strips.units = narrowest, strips.rest = 0;  // the last tile hangs over D's edge
    if (cols > most_cut) strips.units = widest, strips.rest = 0;
    return strips;
  }
  /// Where tile c of a strip begins: with more or less units than its neighbours as the rest comes out.
  LAPIDARY_HD constexpr int begin(int c) const {
    return 8 * (c * units +
                static_cast<int>(static_cast<unsigned>(c) * static_cast<unsigned>(rest) / static_cast<unsigned>(cols)));
  }
  LAPIDARY_HD constexpr WideTile wide_tile(int number) const {
    const auto [row, col] = tile(number);
    const int c = (first_group + row / group) % 2 == 0 ? col : cols - 1 - col;
    return {first + row, begin(c), begin(c + 1) - begin(c)};
  }
};

/// All tiles of D: as many as clusters compute in the rounds that the widest ones alone would take, if they are no
/// narrower than the narrowest. Some strips have one more than the others, which come first.
struct EqualAreas {
  Strips few, many;

  static EqualAreas over(std::int64_t M, std::int64_t N, const TileShape& tile, int clusters) {
    const auto strips = static_cast<int>(ceil_div<std::int64_t>(M, 2 * tile.m)),
               columns = static_cast<int>(ceil_div<std::int64_t>(N, 8));
    const int least = ceil_div(columns, Strips::widest),
              most = std::max(least, std::min(columns / Strips::narrowest, Strips::most_cut));
    const int places = round_up(strips * least, clusters), tiles = std::min(places, strips * most);
    const int count = tiles / strips, longer = tiles % strips, shorter = strips - longer;
    return {Strips::of(0, 0, shorter, count, columns),
            Strips::of(shorter, ceil_div(shorter, 8), longer, count + 1, columns)};
  }
  LAPIDARY_HD constexpr int tiles() const { return few.tiles() + many.tiles(); }
  LAPIDARY_HD constexpr WideTile tile(int number) const {
    return number < few.tiles() ? few.wide_tile(number) : many.wide_tile(number - few.tiles());
  }
};

}  // namespace lapidary::inline LAPIDARY_BUILD
