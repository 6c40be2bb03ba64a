#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "layout/access.hpp"
#include "layout/layout.hpp"

// What a warp does to a tile, by the indices of elements: the same access in any layout of the tile.

namespace lapidary::inline LAPIDARY_BUILD {

struct TileAccess {
  enum Kind : std::uint8_t { read, write, ldmatrix };
  using Index = std::array<std::int64_t, Layout::max_rank>;

  Kind kind;
  int bits;  ///< of a lane's access; 128 for ldmatrix
  std::uint32_t active;
  std::array<Index, 32> index;  ///< of the first element of each active lane; 0 in the others
};

namespace tile_access_detail {

inline std::int64_t offset_of(const Layout& layout, const TileAccess::Index& i) {
  switch (layout.rank()) {
    case 1: return layout(i[0]);
    case 2: return layout(i[0], i[1]);
    case 3: return layout(i[0], i[1], i[2]);
    default: return layout(i[0], i[1], i[2], i[3]);
  }
}

/// Whether the `count` elements from `first` on, along the layout's contiguous mode, lie side by side.
inline bool is_contiguous(const Layout& layout, TileAccess::Index first, int count) {
  if (count == 1) return true;
  int mode = 0;
  while (mode < layout.rank() && (layout.stride(mode) != 1 || layout.shape(mode) == 1)) ++mode;
  if (mode == layout.rank()) return false;
  const std::int64_t start = offset_of(layout, first);
  std::int64_t& index = first[static_cast<std::size_t>(mode)];
  if (index + count > layout.shape(mode)) return false;
  for (int e = 1; e < count; ++e) {
    ++index;
    if (offset_of(layout, first) != start + e) return false;
  }
  return true;
}

}  // namespace tile_access_detail

/// The byte addresses of the lanes in a layout of the tile, counted from the tile's first element. They may be
/// misaligned.
inline WarpAccess addresses(const TileAccess& access, const Layout& layout, int element_bytes) {
  WarpAccess result{{}, access.active, access.bits / 8};
  for (int lane = 0; lane < 32; ++lane) {
    if ((access.active >> lane & 1) == 0) continue;
    const std::int64_t at = tile_access_detail::offset_of(layout, access.index[static_cast<std::size_t>(lane)]);
    result.address[lane] = static_cast<std::uint64_t>(at) * static_cast<std::uint64_t>(element_bytes);
  }
  return result;
}

/// The lanes that access more than one element, and in this layout not the tile's neighbours.
inline std::uint32_t torn_lanes(const TileAccess& access, const Layout& layout, int element_bytes) {
  const int count = access.bits / 8 / element_bytes;
  std::uint32_t torn = 0;
  for (int lane = 0; lane < 32; ++lane) {
    if ((access.active >> lane & 1) == 0) continue;
    if (!tile_access_detail::is_contiguous(layout, access.index[static_cast<std::size_t>(lane)], count))
      torn |= std::uint32_t{1} << lane;
  }
  return torn;
}

}  // namespace lapidary::inline LAPIDARY_BUILD
