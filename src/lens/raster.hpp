#pragma once
#include <cstdint>
#include <vector>

#include "model/gpu.hpp"
#include "model/raster.hpp"
#include "model/waves.hpp"

namespace lapidary::lens {

/// An order and what it costs.
struct RasterEntry {
  model::Raster raster;
  model::RasterTraffic traffic;
};

/// Orders in which the tiles of one problem are visited.
struct RasterComparison {
  model::Gpu gpu;
  model::GemmShape gemm;
  TileShape tile;
  std::int64_t down, across;  ///< tiles of D
  model::Waves waves;
  double compulsory_bytes;
  std::vector<RasterEntry> entries;
};

/// @param orders  none stands for a choice of all
/// @throws InvalidArgument if there are more tiles than can be simulated in seconds
RasterComparison compare_rasters(const model::Gpu& gpu, const model::GemmShape& gemm, const TileShape& tile,
                                 int blocks_per_sm, std::vector<model::Raster> orders = {});

}  // namespace lapidary::lens
