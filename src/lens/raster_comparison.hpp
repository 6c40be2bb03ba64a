#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/registry.hpp"
#include "model/gpu.hpp"
#include "model/l2_traffic.hpp"
#include "model/waves.hpp"

namespace lapidary::lens {

/// An order and what it costs.
struct RasterEntry {
  std::string name;
  std::vector<RowCol<int>> order;
  model::RasterTraffic traffic;
};

/// Orders in which the tiles of one problem are visited.
struct RasterComparison {
  model::Gpu gpu;
  model::GemmShape gemm;
  TileShape tile;
  std::int64_t down, across;  ///< tiles of D
  int cluster;                ///< as asked for, or the kernel's
  model::Waves waves;
  double compulsory_bytes;
  std::vector<RasterEntry> entries;

  /// Bytes that every order reads from DRAM at least.
  double compulsory_reads() const { return compulsory_bytes - entries.front().traffic.dram_write_bytes; }
};

/// What is to be compared.
struct RasterQuestion {
  model::Gpu gpu;
  model::GemmShape gemm;
  TileShape tile;
  std::optional<int> blocks_per_sm = {};   ///< none for as many as there is room for of the kernel's, without one 1
  std::vector<model::Raster> orders = {};  ///< none stands for a choice of all
  const KernelEntry* kernel = nullptr;     ///< whose own order comes first
  /// Neighbours in the order that share what they read by multicast; none for the blocks of the kernel's clusters.
  std::optional<int> cluster = {};
  bool there_and_back = false;  ///< every other wave walks K backwards
};

/// @throws InvalidArgument if there are more tiles than can be simulated in seconds
RasterComparison compare_rasters(const RasterQuestion& question);

}  // namespace lapidary::lens
