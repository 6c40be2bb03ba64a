#include "lens/raster_comparison.hpp"

#include <fmt/format.h>

#include <string>

#include "core/error.hpp"
#include "core/math.hpp"
#include "lens/observe.hpp"
#include "lens/prediction.hpp"
#include "model/sass.hpp"

namespace lapidary::lens {

namespace {

/// How the kernel is launched; none without one, or without results. @throws InvalidArgument if it refuses the problem
std::optional<LaunchShape> launch_of(const RasterQuestion& q) {
  if (!q.kernel || q.gemm.M == 0 || q.gemm.N == 0) return std::nullopt;
  const Problem problem{.kind = q.kernel->kind, .M = q.gemm.M, .N = q.gemm.N, .K = q.gemm.K};
  if (const std::string why = refusal(*q.kernel, problem); !why.empty())
    throw InvalidArgument(fmt::format("{} does not take it: {}", q.kernel->id(), why));
  return prepare(*q.kernel, Build::plain, problem, {q.gpu.compute_capability, q.gpu.sms}).shape;
}

/// Blocks that a multiprocessor has room for. @throws InvalidArgument if it has room for none
int blocks_per_sm(const RasterQuestion& q, const LaunchShape& launch) {
  const model::Occupancy occupancy = occupancy_of(q.gpu, launch, model::find_compiled(q.kernel->id()));
  if (occupancy.blocks < 1)
    throw InvalidArgument(
        fmt::format("no block of {} fits a multiprocessor of {}: {}; --blocks-per-sm says how many are to",
                    q.kernel->id(), q.gpu.name, occupancy.reason));
  return occupancy.blocks;
}

/// Waves of as many tiles as blocks run at a time: those that an SM holds, on all of them, or of a kernel whose blocks
/// stay the grid.
model::Waves waves_of(const RasterQuestion& q, const std::optional<LaunchShape>& launch, std::int64_t tiles) {
  if (launch && q.kernel->order.at) {
    const auto [rows, cols] = tiles_of(*q.kernel, q.gemm.M, q.gemm.N);
    if (launch->grid.x < rows * cols) return model::waves(rows * cols, static_cast<int>(launch->grid.x), 1);
  }
  return model::waves(tiles, q.gpu.sms, q.blocks_per_sm.value_or(launch ? blocks_per_sm(q, *launch) : 1));
}

}  // namespace

RasterComparison compare_rasters(const RasterQuestion& q) {
  using model::Raster;
  if (q.kernel && q.kernel->order.tiles)
    throw InvalidArgument(
        fmt::format("{} cuts D into tiles of several sizes; orders are compared of tiles of one size", q.kernel->id()));
  RasterComparison result{
      q.gpu, q.gemm, q.tile, ceil_div<std::int64_t>(q.gemm.M, q.tile.m), ceil_div<std::int64_t>(q.gemm.N, q.tile.n), 1,
      {},    0,      {}};
  constexpr std::int64_t most_tiles = std::int64_t{1} << 18;
  if (result.down * result.across > most_tiles) {
    throw InvalidArgument(
        fmt::format("there are {} tiles; at most {} are simulated, so take larger ones or a smaller problem",
                    result.down * result.across, most_tiles));
  }
  const std::optional<LaunchShape> launch = launch_of(q);
  result.cluster = q.cluster.value_or(
      launch ? static_cast<int>(launch->cluster.x * launch->cluster.y * launch->cluster.z) : 1);
  result.waves = waves_of(q, launch, result.down * result.across);
  result.compulsory_bytes = model::compulsory_bytes(q.gemm);
  const auto add = [&](std::string name, std::vector<RowCol<int>> order, bool there_and_back) {
    const model::Visits visits{std::move(order), result.cluster, there_and_back};
    const model::RasterTraffic traffic = simulate_l2(q.gemm, q.tile, visits,
                                                     {result.waves.per_wave, q.gpu.l2_bytes_shared()});
    result.entries.push_back({std::move(name), visits.order, traffic});
  };
  if (q.kernel)
    add("its own",
        launch ? order_by_cluster(*q.kernel, *launch, q.gemm.M, q.gemm.N)
               : visiting_order(*q.kernel, q.gemm.M, q.gemm.N),
        q.kernel->order.there_and_back || q.there_and_back);
  std::vector<Raster> orders = q.orders;
  if (orders.empty()) {
    orders = {{Raster::rows},        {Raster::columns},     {Raster::grouped, 4}, {Raster::grouped, 8},
              {Raster::grouped, 16}, {Raster::grouped, 32}, {Raster::hilbert}};
  }
  for (const Raster& raster : orders)
    add(to_string(raster), model::visiting_order(result.down, result.across, raster), q.there_and_back);
  return result;
}

}  // namespace lapidary::lens
