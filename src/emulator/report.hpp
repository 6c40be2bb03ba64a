#pragma once
#include <cstdint>
#include <string>
#include <vector>

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

/// Counted per warp instruction, except `fma`: fused multiply-adds of single threads.
struct Counters {
  GlobalCounters global_load, global_store, global_atomic;
  /// cp.async: global memory to shared memory past the registers. Its traffic is in no other counter.
  GlobalCounters async_copy;
  SharedCounters shared_load, shared_store, shared_atomic;
  std::uint64_t fma = 0;
};

Counters& operator+=(Counters& sum, const Counters& other);

struct LineCounters {
  std::string file;  ///< as the compiler was given it, cut down to the path below the project's root where it has one
  int line = 0;
  Counters counters;
};

/// What one or more launches counted.
struct Report {
  Counters total;
  std::vector<LineCounters> lines;  ///< by file and line
  /// Places where lanes of one warp took different paths between two barriers. Their accesses were matched by source
  /// instruction and occurrence, which miscounts where lanes skip different iterations of a loop. Lanes that skip
  /// equally many of them are not noticed.
  std::uint64_t divergent_intervals = 0;
};

}  // namespace lapidary::emulator
