#include "lens/raster.hpp"

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/math.hpp"

namespace lapidary::lens {

RasterComparison compare_rasters(const model::Gpu& gpu, const model::GemmShape& gemm, const TileShape& tile,
                                 int blocks_per_sm, std::vector<model::Raster> orders) {
  using model::Raster;
  if (orders.empty()) {
    orders = {{Raster::rows},        {Raster::columns},     {Raster::grouped, 4}, {Raster::grouped, 8},
              {Raster::grouped, 16}, {Raster::grouped, 32}, {Raster::hilbert}};
  }
  RasterComparison result{
      gpu, gemm, tile, ceil_div<std::int64_t>(gemm.M, tile.m), ceil_div<std::int64_t>(gemm.N, tile.n), {}, 0, {}};
  constexpr std::int64_t most_tiles = std::int64_t{1} << 18;
  if (result.down * result.across > most_tiles) {
    throw InvalidArgument(
        fmt::format("there are {} tiles; at most {} are simulated, so take larger ones or a smaller problem",
                    result.down * result.across, most_tiles));
  }
  result.waves = model::waves(result.down * result.across, gpu.sms, blocks_per_sm);
  result.compulsory_bytes = model::compulsory_bytes(gemm);
  for (const Raster& order : orders) {
    result.entries.push_back({order, simulate_l2(gemm, tile, order, {result.waves.per_wave, gpu.l2_bytes})});
  }
  return result;
}

}  // namespace lapidary::lens
