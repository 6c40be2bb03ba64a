#pragma once
#include <cstdint>
#include <vector>

#include "core/launch_shape.hpp"
#include "core/row_col.hpp"
#include "model/roofline.hpp"
#include "model/visiting_order.hpp"

namespace lapidary::model {

/// How blocks go through the tiles: as many at a time as run, each wave the next ones in order. A persistent kernel's
/// block is in every wave.
struct Visits {
  std::vector<RowCol<int>> order;
  /// So many neighbours in the order are a cluster, whose blocks get what they share by multicast: it leaves L2 once.
  int cluster = 1;
  /// Every other wave walks K backwards, and begins with what the one before has left in L2.
  bool there_and_back = false;
};

/// What one order costs.
struct RasterTraffic {
  std::int64_t tiles = 0;
  double l2_to_sm_bytes = 0;     ///< operands (and C) that the SMs get
  double l2_read_bytes = 0;      ///< of them, what leaves L2: what a multicast hands to several SMs counts once
  double dram_read_bytes = 0;    ///< of them, what L2 did not hold
  double dram_write_bytes = 0;   ///< D, each element once
  double l2_to_sm_hit_rate = 0;  ///< 1 - DRAM reads / reads of the SMs; 0 if there are none

  double dram_bytes() const { return dram_read_bytes + dram_write_bytes; }
};

/// What the simulation knows of the machine.
struct L2Machine {
  std::int64_t resident_blocks;  ///< that run at a time: SMs * blocks of each
  std::int64_t l2_bytes;         ///< that it holds of what all of them read: Gpu::l2_bytes_shared()
};

/// Simulates L2 as one cache that evicts what was used least recently, in units of panels: a tile row of A or a tile
/// column of B by a piece of K. Blocks run in waves of `resident_blocks`, in the visiting order, and walk K in
/// lockstep, so a panel that several of them want is fetched at most once for each step; D is written, and C read, at
/// a wave's end, through the same cache.
///
/// What it does not see: blocks that drift apart or start as others end, replacement that is not exactly LRU, and what
/// else runs. An L2 of partitions that keep copies of what multiprocessors of all of them read (A100, H100, H200) is as
/// large as one: of three kernels at 4096^3 an H200 and an H100 read what that says (docs/agreement.md). Bytes into the
/// SMs are exact, DRAM bytes good for comparing orders. On an H200, bf16 at 8192^3, they are within 10 % of what cuBLAS
/// reads, if it walks in groups of 4 or 8, and 29 % above what a kernel along a Hilbert curve does
/// (test/model/l2_traffic_test.cpp).
///
/// tile.k is how far blocks go at a time; 0 stands for 64. Where K has more than 256 such steps, or there were more
/// than 2^24 panels, several steps are one.
RasterTraffic simulate_l2(const GemmShape& gemm, const TileShape& tile, const Visits& visits, const L2Machine& machine);
RasterTraffic simulate_l2(const GemmShape& gemm, const TileShape& tile, const Raster& raster, const L2Machine& machine);

}  // namespace lapidary::model
