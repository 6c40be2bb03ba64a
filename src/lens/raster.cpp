#include "lens/raster.hpp"

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/math.hpp"
#include "lens/observe.hpp"

namespace lapidary::lens {

RasterComparison compare_rasters(const RasterQuestion& q) {
  using model::Raster;
  RasterComparison result{
      q.gpu, q.gemm, q.tile, ceil_div<std::int64_t>(q.gemm.M, q.tile.m), ceil_div<std::int64_t>(q.gemm.N, q.tile.n),
      {},    0,      {}};
  constexpr std::int64_t most_tiles = std::int64_t{1} << 18;
  if (result.down * result.across > most_tiles) {
    throw InvalidArgument(
        fmt::format("there are {} tiles; at most {} are simulated, so take larger ones or a smaller problem",
                    result.down * result.across, most_tiles));
  }
  result.waves = model::waves(result.down * result.across, q.gpu.sms, q.blocks_per_sm);
  result.compulsory_bytes = model::compulsory_bytes(q.gemm);
  const auto add = [&](std::string name, std::vector<RowCol<int>> order, bool there_and_back) {
    const model::Visits visits{std::move(order), q.cluster, there_and_back};
    const model::RasterTraffic traffic = simulate_l2(q.gemm, q.tile, visits, {result.waves.per_wave, q.gpu.l2_bytes});
    result.entries.push_back({std::move(name), visits.order, traffic});
  };
  if (q.kernel)
    add("its own", visiting_order(*q.kernel, q.gemm.M, q.gemm.N), q.kernel->order.there_and_back || q.there_and_back);
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
