#pragma once
#include <algorithm>
#include <array>
#include <cstddef>

#include "kernels/rung.hpp"

// Of which kinds and tiles the rungs of wgmma have kernels.

namespace lapidary::inline LAPIDARY_BUILD {

/// The kinds that every rung of wgmma has a kernel of. The first is TN, as the BLAS calls it: A and B are K-major.
constexpr auto wgmma_kinds = [] {
  constexpr Order row = Order::row_major, column = Order::column_major;
  return std::array{GemmKind(Type::bf16, Type::bf16, row, column), GemmKind(Type::bf16, Type::bf16, row, row),
                    GemmKind(Type::bf16, Type::bf16, column, row), GemmKind(Type::bf16, Type::bf16, column, column),
                    GemmKind(Type::f16, Type::f16, row, column),   GemmKind(Type::bf16, Type::f32, row, column),
                    GemmKind(Type::f16, Type::f32, row, column)};
}();

/// Of both types of 16 bits: with results of the same type, and of f32.
constexpr auto kinds_of_16_bits(Order a, Order b) {
  return std::array{GemmKind(Type::bf16, Type::bf16, a, b), GemmKind(Type::f16, Type::f16, a, b)};
}
constexpr auto kinds_with_f32(Order a, Order b) {
  return std::array{GemmKind(Type::bf16, Type::f32, a, b), GemmKind(Type::f16, Type::f32, a, b)};
}

/// A tile for each kind of some lists.
template <std::size_t... counts>
constexpr auto of_kinds(const TileShape& tile, int stages, const std::array<GemmKind, counts>&... lists) {
  std::array<KernelTraits, (counts + ...)> all{};
  auto next = all.begin();
  const auto add = [&](const auto& kinds) {
    for (const GemmKind& kind : kinds) *next++ = {.tile = tile, .kind = kind, .stages = stages};
  };
  (add(lists), ...);
  return all;
}
/// Lists, one after the other.
template <class T, std::size_t... counts>
constexpr auto joined(const std::array<T, counts>&... lists) {
  std::array<T, (counts + ...)> all{};
  auto next = all.begin();
  ((next = std::copy(lists.begin(), lists.end(), next)), ...);
  return all;
}

/// Those of 16 bits, results of the same type, of which A or B is not K-major.
constexpr auto kinds_of_other_orders = joined(kinds_of_16_bits(Order::row_major, Order::row_major),
                                              kinds_of_16_bits(Order::column_major, Order::row_major),
                                              kinds_of_16_bits(Order::column_major, Order::column_major));

/// A tile of a menu: of BM x BN results, staged in `slices` at a time of `cols` columns of each warpgroup's, for
/// clusters of down x across blocks.
struct MenuTile {
  int BM, BN, slices, cols, down = 1, across = 1;
};
/// Every tile of a menu for each of some kinds, by traits of(kind, tile).
template <class Of, std::size_t kinds, std::size_t tiles>
constexpr auto menu_of(Of of, const std::array<GemmKind, kinds>& for_each, const MenuTile (&menu)[tiles]) {
  std::array<KernelTraits, kinds * tiles> all{};
  auto next = all.begin();
  for (const MenuTile& tile : menu)
    for (const GemmKind& kind : for_each) *next++ = of(kind, tile);
  return all;
}

}  // namespace lapidary::inline LAPIDARY_BUILD
