#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/launch_shape.hpp"
#include "layout/access.hpp"

namespace lapidary::emulator {

/// What a warp's accesses to global memory cost. A request is one instruction of one warp, whatever its width; a sector
/// is an aligned block of 32 bytes that at least one active lane touches.
struct GlobalCounters {
  std::uint64_t requests = 0;
  std::uint64_t sectors = 0;
};

/// What a warp's accesses to shared memory cost. `minimum` is the number of wavefronts that the same instructions would
/// need without any bank conflict; the excess is wavefronts - minimum.
struct SharedCounters {
  std::uint64_t instructions = 0;
  std::uint64_t wavefronts = 0;
  std::uint64_t minimum = 0;
};

/// cp.async.bulk, cp.async.bulk.tensor and their stores and reductions, which one thread issues.
struct BulkCounters {
  std::uint64_t requests = 0;         ///< instructions: boxes
  std::uint64_t sectors = 0;          ///< of global memory, once for all blocks that a multicast reaches
  std::uint64_t bytes = 0;            ///< ... of which these are asked for; what is outside of a tensor costs nothing
  std::uint64_t shared_bytes = 0;     ///< of shared memory, in every block that a multicast reaches; whole boxes
  std::uint64_t multicast_bytes = 0;  ///< that reach further blocks without leaving L2 once more
};

/// Products of tensor cores by single warps: mma.sync, and those of the WMMA API.
struct MmaCounters {
  std::uint64_t instructions = 0;
  std::uint64_t flop = 0;  ///< two for each multiply-add
};

/// wgmma.mma_async, which a warpgroup executes as one: bytes of shared memory that A and B are read from, each operand
/// once for all four warps, and operations, two for each multiply-add.
struct WgmmaCounters {
  std::uint64_t instructions = 0;
  std::uint64_t shared_bytes = 0;
  std::uint64_t flop = 0;
};

BulkCounters& operator+=(BulkCounters& sum, const BulkCounters& other);
MmaCounters& operator+=(MmaCounters& sum, const MmaCounters& other);
WgmmaCounters& operator+=(WgmmaCounters& sum, const WgmmaCounters& other);

/// Counted per warp instruction, except `fma`: fused multiply-adds of single threads.
struct Counters {
  GlobalCounters global_load, global_store, global_atomic;
  /// cp.async: global memory to shared memory past the registers. Its traffic is in no other counter.
  GlobalCounters async_copy;
  BulkCounters bulk_load, bulk_store;  ///< a reduction is a store
  SharedCounters shared_load, shared_store, shared_atomic;
  /// Shared memory of other blocks of the cluster.
  SharedCounters cluster_load, cluster_store, cluster_atomic;
  MmaCounters mma;
  WgmmaCounters wgmma;
  std::uint64_t fma = 0;

  /// Multiply-adds of threads and of tensor cores.
  std::uint64_t multiply_adds() const { return fma + (mma.flop + wgmma.flop) / 2; }
};

Counters& operator+=(Counters& sum, const Counters& other);

struct LineCounters {
  std::string file;  ///< as the compiler was given it, cut down to the path below the project's root where it has one
  int line = 0;
  Counters counters;
};

/// What an instrumented thread did to memory. The last two are for the race detector alone: a cp.async may write shared
/// memory at any time between its issue and the wait for its group.
enum class Access : std::uint8_t {
  global_load,
  global_store,
  global_atomic,
  async_copy,
  bulk_load,
  bulk_store,
  shared_load,
  shared_store,
  shared_atomic,
  cluster_load,
  cluster_store,
  cluster_atomic,
  async_issue,
  async_arrival,
};
constexpr int access_kinds = static_cast<int>(Access::async_arrival) + 1;

constexpr bool is_global(Access access) { return access <= Access::bulk_store; }
constexpr bool is_counted(Access access) { return access <= Access::cluster_atomic; }
constexpr bool is_bulk(Access access) { return access == Access::bulk_load || access == Access::bulk_store; }
constexpr bool is_write(Access access) {
  return access != Access::global_load && access != Access::async_copy && access != Access::bulk_load &&
         access != Access::shared_load && access != Access::cluster_load;
}
constexpr bool is_atomic(Access access) {
  return access == Access::global_atomic || access == Access::shared_atomic || access == Access::cluster_atomic;
}

/// All accesses of one kind and width that one source line makes to one matrix, or to shared memory.
struct AccessSite {
  std::string file;  ///< as in LineCounters
  int line = 0;
  Access access{};
  std::string memory;  ///< label of the allocation; empty for shared memory
  int bytes = 0;       ///< width of a lane's access; 16 for bulk copies, which move that much at a time

  std::uint64_t instructions = 0;    ///< of warps; requests where they go to global memory
  std::uint64_t lanes = 0;           ///< active ones, over all instructions
  std::uint64_t units = 0;           ///< sectors of global memory, wavefronts of shared memory
  std::uint64_t lines = 0;           ///< of 128 bytes; global memory
  std::uint64_t minimum = 0;         ///< of the units, how many the same bytes take at least
  std::uint64_t distinct_bytes = 0;  ///< asked for by each instruction, those of lanes that agree once; global memory
  std::uint64_t shared_bytes = 0, multicast_bytes = 0;  ///< of bulk copies; see BulkCounters

  /// The first instruction farthest above its minimum, and who executed it. Addresses of shared memory are such that
  /// bank = address / 4 mod 32.
  WarpAccess worst{};
  std::uint32_t worst_block = 0, worst_warp = 0;

  /// The machine instructions that it is; see Options::merge.
  std::vector<std::uintptr_t> pcs;
};

/// What one or more launches counted.
struct Report {
  Counters total;
  std::vector<AccessSite> sites;  ///< by file and line
  std::vector<LaunchShape> launches;
  std::vector<LineCounters> lines;  ///< by file and line
  /// Places where lanes of one warp took different paths between two barriers. Their accesses were matched by source
  /// instruction and occurrence, which miscounts where lanes skip different iterations of a loop. Lanes that skip
  /// equally many of them are not noticed.
  std::uint64_t divergent_intervals = 0;
  /// The most bytes that copies to one block's shared memory had under way at a time: cp.async, and bulk copies. They
  /// arrive as late as may be, so it is what the kernel allows; under a random schedule it is less.
  std::uint64_t bytes_in_flight = 0;
};

}  // namespace lapidary::emulator
