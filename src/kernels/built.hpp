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

/// Of a configuration that has Config::tile, and unless they are missing Config::stages, Config::Cluster and
/// Config::Epilogue (tile/cluster_grid.hpp, tile/staged_epilogue.hpp).
template <class Config>
constexpr KernelTraits traits_of() {
  KernelTraits traits = {.tile = Config::tile, .kind = kind_of<Config>()};
  if constexpr (requires { Config::stages; }) traits.stages = Config::stages;
  if constexpr (requires { typename Config::Cluster; }) {
    traits.down = Config::Cluster::down;
    traits.across = Config::Cluster::across;
  }
  if constexpr (requires { typename Config::Epilogue; }) {
    if (Config::Epilogue::staged) {
      traits.slices = Config::Epilogue::slices;
      traits.cols = Config::Epilogue::cols;
    }
  }
  return traits;
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

/// The entry of a configuration that takes every problem of its kind in a rung's list, `built_kernels`. Such a list is
/// a template of nothing in particular: what it names is then compiled where the rung is registered alone, and not once
/// more in every rung that builds on it.
template <class Config>
constexpr BuiltKernel built(Prepared (*prepare)(const Problem&, const Card&)) {
  return {traits_of<Config>(), nullptr, prepare, order_of<Config>()};
}

/// Shared memory of a kernel that uses none.
struct NoStorage {};

/// A launch of a kernel of which each block computes one tile of D, by Config::threads threads in a row unless it is
/// said how they are arranged, and that has `Storage` in shared memory.
template <class Config, class Storage, class T, class R>
Prepared prepared_tiles(const RungInfo& rung, void (*kernel)(Gemm<T, R>), const Problem& problem,
                        Extent3 block = Config::threads) {
  const LaunchShape shape = {.kernel = rung.name,
                             .grid = tile_grid(problem.M, problem.N, Config::tile),
                             .block = block,
                             .shared_bytes = std::is_empty_v<Storage> ? 0 : sizeof(Storage)};
  return prepared(problem, shape, kernel, gemm_of<T, R>(problem));
}

}  // namespace lapidary::inline LAPIDARY_BUILD
