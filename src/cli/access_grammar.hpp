#pragma once
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "layout/access.hpp"
#include "layout/layout.hpp"

namespace lapidary::cli {

/// A layout as a user writes it, and what its elements are.
struct TypedLayout {
  Layout layout;
  std::string type;   ///< "f32" where nothing was written
  int element_bytes;  ///< 1, 2, 4 or 8
};

/// What a warp does to a tile, as a user writes it.
struct TileAccess {
  enum Kind : std::uint8_t { read, write, ldmatrix };
  using Index = std::array<std::int64_t, Layout::max_rank>;

  Kind kind;
  int bits;  ///< of a lane's access; 128 for ldmatrix
  std::uint32_t active;
  std::array<Index, 32> index;  ///< of the first element of each active lane; 0 in the others

  /// Lanes that are served together.
  int lanes_per_group(const WarpAccess& access) const {
    return kind == ldmatrix ? 8 : access_detail::lanes_per_group(access);
  }
};

/// The grammars, with examples, for --help.
extern const char* const layout_grammar;
extern const char* const access_grammar;

/// Both throw InvalidArgument for text outside of the grammar, for layouts that Layout refuses and for indices outside
/// of the tile; the message ends in the text and a line with a caret below the character where it went wrong.
TypedLayout parse_layout(std::string_view text);
TileAccess parse_access(std::string_view text, const TypedLayout& tile);

/// The byte addresses of the lanes in a layout of the same shape, counted from the tile's first element. They may be
/// misaligned.
WarpAccess addresses(const TileAccess& access, const Layout& layout, int element_bytes);

}  // namespace lapidary::cli
