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

/// Of a configuration that has Config::tile and, unless it is missing, Config::stages.
template <class Config>
constexpr KernelTraits traits_of() {
  KernelTraits traits = {.tile = Config::tile, .kind = kind_of<Config>()};
  if constexpr (requires { Config::stages; }) traits.stages = Config::stages;
  return traits;
}

/// All tiles of D in the order of a configuration, Config::Walk; where blocks form clusters, these are counted.
template <class Config>
typename Config::Walk walk_of(std::int64_t M, std::int64_t N, const TileShape& tile) {
  ClusterShape cluster;
  if constexpr (requires { typename Config::Cluster; }) cluster = Config::traits.cluster;
  return Config::Walk::over(M, N, tile, cluster);
}

/// TileOrder::at
template <class Config, TileShape tile>
RowCol<std::int64_t> tile_at(std::int64_t position, std::int64_t M, std::int64_t N) {
  const auto walk = walk_of<Config>(M, N, tile);
  RowCol<int> at{};
  if constexpr (requires { typename Config::Cluster; }) {
    using Cluster = typename Config::Cluster;
    at = Cluster::tile(walk.tile(static_cast<int>(position / Cluster::blocks)),
                       static_cast<int>(position % Cluster::blocks));
  } else {
    at = walk.tile(static_cast<int>(position));
  }
  return {std::int64_t{at.row} * tile.m, std::int64_t{at.col} * tile.n};
}

/// How a configuration's blocks go through tiles: Config::Walk and Config::Steps, unless they are missing.
template <class Config, TileShape tile>
constexpr TileOrder order_of() {
  TileOrder order;
  if constexpr (requires { typename Config::Walk; }) {
    if constexpr (!Config::Walk::row_by_row) order.at = tile_at<Config, tile>;
  }
  if constexpr (requires { typename Config::Steps; }) order.there_and_back = Config::Steps::there_and_back;
  return order;
}

/// The entry of a configuration that takes every problem of its kind in a rung's list, `built_kernels`. Such a list is
/// a template of nothing in particular: what it names is then compiled where the rung is registered alone, and not once
/// more in every rung that builds on it.
template <class Config>
constexpr BuiltKernel built(Prepared (*prepare)(const Problem&, const Card&)) {
  return {traits_of<Config>(), nullptr, prepare, order_of<Config, Config::tile>()};
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
