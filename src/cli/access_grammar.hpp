#pragma once
#include <string>
#include <string_view>

#include "layout/layout.hpp"
#include "layout/tile_access.hpp"

namespace lapidary::cli {

/// A layout as a user writes it, and what its elements are.
struct TypedLayout {
  Layout layout;
  std::string type;   ///< "f32" where nothing was written
  int element_bytes;  ///< 1, 2, 4 or 8
};

/// The grammars, with examples, for --help.
extern const char* const layout_grammar;
extern const char* const access_grammar;

/// Both throw InvalidArgument for text outside of the grammar, for layouts that Layout refuses and for indices outside
/// of the tile; the message ends in the text and a line with a caret below the character where it went wrong.
TypedLayout parse_layout(std::string_view text);
TileAccess parse_access(std::string_view text, const TypedLayout& tile);

}  // namespace lapidary::cli
