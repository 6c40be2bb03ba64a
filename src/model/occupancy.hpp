#pragma once
#include <array>
#include <cstdint>
#include <limits>
#include <string>

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
  int barriers = 1;      ///< those of __syncthreads() and bar.sync that the block uses
};

/// What may keep an SM from holding more blocks.
enum class Limit : std::uint8_t { warps, blocks, registers, shared_memory, barriers };
constexpr int limit_count = 5;

/// "warps", "blocks", "registers", "shared memory", "barriers".
const char* name_of(Limit limit);

struct Occupancy {
  /// A limit that does not bind, as of registers for a kernel that uses none.
  static constexpr int unlimited = std::numeric_limits<int>::max();

  int blocks = 0;                            ///< that an SM holds: the least of `blocks_by`
  int warps_per_block = 0;                   ///< threads / 32, rounded up
  int max_warps = 0;                         ///< that an SM can hold
  int registers_per_block = 0;               ///< as handed out, in registers
  int shared_per_block = 0;                  ///< as handed out, in bytes
  std::array<int, limit_count> blocks_by{};  ///< by `Limit`
  std::string reason;                        ///< why no block fits: the rule, the value, what is legal; empty otherwise

  int warps() const { return blocks * warps_per_block; }
  /// Resident warps as a share of those that an SM can hold.
  double fraction() const { return static_cast<double>(warps()) / max_warps; }
  int by(Limit limit) const { return blocks_by[static_cast<std::size_t>(limit)]; }
  /// Whether it allows no more blocks than there are. Several limits may.
  bool is_limiter(Limit limit) const { return by(limit) == blocks; }
  /// The limiters in words: "registers", or "warps and registers".
  std::string limiters() const;
};

/// @throws InvalidArgument if there are no threads or if a number is negative; a block that is too large is none that
/// fits, which `reason` explains
Occupancy occupancy(const Gpu& gpu, const BlockResources& block);

}  // namespace lapidary::model
