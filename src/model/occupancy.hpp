#pragma once
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "model/gpu.hpp"

// How many blocks of a kernel an SM holds at a time. The rules are those of cuda_occupancy.h of the CUDA toolkit, for
// compute capability 7.0 on, with the largest carve-out of shared memory and without clusters. One differs: that header
// lets 256 registers a thread pass; the documented limit, and the one here, is 255.

namespace lapidary::model {

/// What one block asks of an SM.
struct BlockResources {
  int threads = 0;
  int registers = 0;     ///< of each thread
  int shared_bytes = 0;  ///< static and dynamic
  int barriers = 1;      ///< those of __syncthreads() and bar.sync that a block has reserved
};

/// What may keep an SM from holding more blocks.
enum class Limit : std::uint8_t { warps, blocks, registers, shared_memory, barriers };
constexpr int limit_count = 5;
constexpr std::array<Limit, limit_count> limits = {Limit::warps, Limit::blocks, Limit::registers, Limit::shared_memory,
                                                   Limit::barriers};

/// "warps", "blocks", "registers", "shared memory", "barriers".
const char* name_of(Limit limit);

struct Occupancy {
  /// A limit that does not bind, as of registers for a kernel that uses none.
  static constexpr int unlimited = std::numeric_limits<int>::max();

  BlockResources block;         ///< what it is of
  int blocks = 0;               ///< that an SM holds: the least of `blocks_by`
  int warps_per_block = 0;      ///< threads / 32, rounded up
  int max_warps = 0;            ///< that an SM can hold
  int registers_per_warp = 0;   ///< as handed out: those of 32 lanes, rounded up to Gpu::register_unit_per_warp
  int registers_per_block = 0;  ///< as handed out, to all of its warps
  /// Warps that an SM has registers for: as many whole ones as fit each of its parts (Gpu::warp_unit), over all parts.
  int warps_by_registers = unlimited;
  /// As handed out, in bytes: with Gpu::shared_reserved_per_block, rounded up to Gpu::shared_unit_bytes.
  int shared_per_block = 0;
  std::array<int, limit_count> blocks_by{};           ///< by `Limit`
  std::array<std::string, limit_count> reasons_by{};  ///< why a limit allows no block; empty otherwise
  std::string reason;  ///< why no block fits: the rule, the value, what is legal; empty otherwise

  int warps() const { return blocks * warps_per_block; }
  /// Resident warps as a share of those that an SM can hold.
  double fraction() const { return static_cast<double>(warps()) / max_warps; }
  int by(Limit limit) const { return blocks_by[static_cast<std::size_t>(limit)]; }
  const std::string& reason_by(Limit limit) const { return reasons_by[static_cast<std::size_t>(limit)]; }
  /// Whether it allows no more blocks than there are. Several limits may.
  bool is_limiter(Limit limit) const { return by(limit) == blocks; }
  /// The limiters in words: "registers", or "warps and registers".
  std::string limiters() const;
};

/// @throws InvalidArgument if there are no threads or if a number is negative; a block that is too large is none that
/// fits, which `reason` explains
Occupancy occupancy(const Gpu& gpu, const BlockResources& block);

/// What of a block varies while the rest of it stays.
enum class Quantity : std::uint8_t { registers, shared_bytes, threads };

/// Values of a quantity, from `first` to `last`, with which an SM holds the same.
struct OccupancyStep {
  int first, last;
  int blocks, warps;
};

/// What an SM holds of a block over one quantity, in ascending steps that leave nothing out: 1 to 255 registers a
/// thread (Gpu::max_registers_per_thread), 0 bytes to the most that a block may opt in to, 1 to 1024 threads.
/// @throws InvalidArgument as occupancy()
std::vector<OccupancyStep> occupancy_over(const Gpu& gpu, BlockResources block, Quantity quantity);

}  // namespace lapidary::model
