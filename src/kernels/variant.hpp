#pragma once
#include <type_traits>

#include "core/types.hpp"
#include "device/launch.hpp"
#include "kernels/rung.hpp"
#include "tile/grid.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// What a configuration is for: Config::Element, and unless they are missing Config::Result, Config::a_order and
/// Config::b_order.
template <class Config>
constexpr GemmKind kind_of() {
  GemmKind kind = TypeOf<typename Config::Element>::value;
  if constexpr (requires { typename Config::Result; }) kind.result = TypeOf<typename Config::Result>::value;
  if constexpr (requires { Config::a_order; }) kind.a = Config::a_order;
  if constexpr (requires { Config::b_order; }) kind.b = Config::b_order;
  return kind;
}

/// Where a configuration's blocks go through tiles in an order of their own: Config::tile_at(position, M, N), the row
/// and the column of the first element of the tile at a position (kernels/rung.hpp), and Config::there_and_back.
template <class Config>
constexpr TileOrder order_of() {
  TileOrder order;
  if constexpr (requires(std::int64_t size) { Config::tile_at(size, size, size); })
    order.at = [](std::int64_t position, std::int64_t M, std::int64_t N) {
      const auto origin = Config::tile_at(position, M, N);
      return TileOrder::Corner{origin.row, origin.col};
    };
  if constexpr (requires { Config::there_and_back; }) order.there_and_back = Config::there_and_back;
  return order;
}

/// The entry of one configuration in a rung's list, `variants`. Such a list is a template of nothing in particular:
/// what it names is then compiled where the rung is registered alone, and not once more in every rung that builds on
/// it.
template <class Config>
constexpr Variant variant(void (*launch)(const Stream&, const GemmProblem&), TileOrder order = order_of<Config>()) {
  return {Config::tile, kind_of<Config>(), launch, order};
}

/// Shared memory of a kernel that uses none.
struct NoStorage {};

/// Launches a kernel of which each block computes one tile of D, by Config::threads threads in a row unless it is said
/// how they are arranged, and that has `Storage` in shared memory.
template <class Config, class Storage, class T, class R>
void launch_tiles(const Stream& stream, const RungInfo& rung, void (*kernel)(Gemm<T, R>), const Gemm<T, R>& g,
                  Extent3 block = Config::threads) {
  const LaunchShape shape = {.kernel = rung.name,
                             .grid = tile_grid(g.M, g.N, Config::tile),
                             .block = block,
                             .shared_bytes = std::is_empty_v<Storage> ? 0 : sizeof(Storage)};
  launch(stream, shape, kernel, g);
}

}  // namespace lapidary::inline LAPIDARY_BUILD
