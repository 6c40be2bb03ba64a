#pragma once
#include <cstdint>
#include <type_traits>

#include "layout/access.hpp"
#include "tile/global_tile.hpp"
#include "tile/mma_tile.hpp"
#include "tile/tma_tile.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// A tile of A or B as TmaTile has it in shared memory, by lines: a warp takes 128 bytes of one at a time, each lane
/// two neighbours.
template <class T_, Major major, int MN, int BK, int producers>
struct LoadedTile : TmaTile<T_, major, MN, BK> {
  using Boxes = TmaTile<T_, major, MN, BK>;
  using T = T_;
  using Boxes::k_major, Boxes::span, Boxes::slab, Boxes::slabs, Boxes::layout, Boxes::length;
  struct Map {};  // threads have the matrix itself
  static Map map(const Problem&, Matrix) { return {}; }
  static constexpr int warps = producers / 32, lines = slab / warps;  // of each warp, in a slab
  static_assert(span == 64 && slab % warps == 0);

  /// A thread's elements of a tile, on their way: the bits of two neighbours, or of each in a register of its own. As
  /// halves of one register they took 16 % longer on an H200, in the mean of 64 products.
  struct Pairs {
    std::uint32_t low[slabs][lines], high[slabs][lines];
  };
  LAPIDARY_HD static constexpr int line(int thread, int i) { return thread / 32 % warps + i * warps; }
  LAPIDARY_HD static constexpr int along(int thread) { return thread % 32 * 2; }
  LAPIDARY_HD static constexpr int place(int thread, int s, int i) {
    return k_major ? offset_in<layout>(line(thread, i), s, along(thread))
                   : offset_in<layout>(s, along(thread), line(thread, i));
  }
  static_assert(wavefronts(warp_access<T, 2>([](int lane) { return place(lane, 0, 0); }), true) == 1, "the minimum");

  /// Those of the tile at (mn, k) of a matrix of so many `mn_size` x `k_size`; zeros beyond its edges.
  LAPIDARY_DEVICE static void load(Pairs& pairs, const T* matrix, std::int64_t ld, std::int64_t mn_size,
                                   std::int64_t k_size, std::int64_t mn, std::int64_t k, int thread) {
    const std::int64_t first = (k_major ? mn : k) + line(thread, 0), begin = (k_major ? k : mn) + along(thread);
    const std::int64_t size = k_major ? k_size : mn_size;
    const int lines_left = left_in_tile(k_major ? mn_size : k_size, first, slab);
    const int left = left_in_tile(size, begin, length - along(thread));
    const T* const from = matrix + first * ld + begin;
    const auto load_each = [&](auto in_pairs) {
      constexpr int span = Boxes::span;
#pragma unroll
      for (int s = 0; s < slabs; ++s)
#pragma unroll
        for (int i = 0; i < lines; ++i) {
          const T* const two = from + i * warps * ld + s * span;
          const bool inside = i * warps < lines_left;
          std::uint32_t low = 0, high = 0;
          if constexpr (in_pairs.value) {
            if (inside && s * span < left) low = as<std::uint32_t>(*two);
          } else {
            if (inside && s * span < left) low = as<std::uint16_t>(two[0]);
            if (inside && s * span + 1 < left) high = as<std::uint16_t>(two[1]);
          }
          pairs.low[s][i] = low;
          pairs.high[s][i] = high;
        }
    };
    if (size % 2 == 0 && in_pairs(matrix, ld))
      load_each(std::true_type());
    else
      load_each(std::false_type());
  }

  LAPIDARY_DEVICE static void write(const Pairs& pairs, T* tile, int thread) {
#pragma unroll
    for (int s = 0; s < slabs; ++s)
#pragma unroll
      for (int i = 0; i < lines; ++i)
        as<std::uint32_t>(tile[place(thread, s, i)]) = pairs.low[s][i] | pairs.high[s][i] << 16;
  }
};

}  // namespace lapidary::inline LAPIDARY_BUILD
