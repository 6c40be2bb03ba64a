#pragma once
#include <cstdint>
#include <type_traits>

#include "layout/access.hpp"
#include "layout/layout.hpp"
#include "tile/async_copy.hpp"
#include "tile/operand_tile.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// A tile of an operand, X by K, where X is M for A and N for B: in shared memory as (BK, BX). What lies along K is
/// copied element by element, which turns it; what lies along X, 16 bytes at a time where it is aligned.
template <Major major, int BX, int BK, int threads>
struct AsyncOperand {
  static constexpr bool turned = along_k<major>;
  static constexpr Layout layout = turned ? Layout({BK, BX}, {BX + 4, 1}) : row_major(BK, BX);
  static constexpr int size = layout.cosize();  // of one stage

  template <int width>
  using Global =
      std::conditional_t<turned, GlobalTile<float, BX, BK, threads>, GlobalTile<float, BK, BX, threads, width>>;
  static_assert(!Global<4>::ragged && !Global<1>::ragged, "copies are compared with the matrix's end, not the tile's");
  template <int width>
  LAPIDARY_DEVICE static Global<width> begin(const float* matrix, std::int64_t ld, std::int64_t x, std::int64_t k,
                                             int thread) {
    return {matrix, ld, turned ? x : k, turned ? k : x, thread};
  }
  template <int width>
  LAPIDARY_HD static constexpr int write(int thread, int v) {
    const RowCol<int> at = Global<width>::element(thread, v);
    return turned ? offset_in<layout>(at.col, at.row) : offset_in<layout>(at.row, at.col);
  }
  /// Starts the copies of a tile, and moves on to the next one along K.
  template <bool whole, int width>
  LAPIDARY_DEVICE static void copy(Global<width>& from, std::int64_t ld, int x_left, int k_left, float* to,
                                   int thread) {
    copy_tile_async<whole>(from, turned ? x_left : k_left, turned ? k_left : x_left,
                           [&](int v) -> float& { return to[write<width>(thread, v)]; });
    from.advance(turned ? BK : BK * ld);
  }
};
template <class Operand>
constexpr int write_wavefronts = wavefronts(warp_access<float, Operand::turned ? 1 : 4>([](int lane) {
  return Operand::template write<4>(lane, 0);
}));

}  // namespace lapidary::inline LAPIDARY_BUILD
