#pragma once
#include <cstdint>
#include <vector>

#include "emulator/fault.hpp"
#include "emulator/lane.hpp"
#include "emulator/shared_memory.hpp"

namespace lapidary::emulator {

class ClusterRunner;
class FaultStop;

/// Stops the kernel at accesses that are not allowed, whoever makes them: a thread, or what copies or multiplies for
/// it. It owns what a block knows of griddepcontrol.wait; what is known of bytes is in their memory.
class AccessChecker {
 public:
  AccessChecker(const BlockPlace& place, ClusterRunner& cluster, SharedMemory& shared, FaultStop& faults)
      : place_(place), cluster_(cluster), shared_(shared), faults_(faults) {}

  void begin() { grid_waited_.assign(place_.threads, false); }

  void check_alignment(std::uintptr_t address, unsigned bytes, unsigned alignment, Access access, std::uintptr_t pc);
  /// In checked runs. An access that comes before the one that should write its memory is put off (see FaultStop). What
  /// an access writes is written from then on.
  /// @param overwrites  whether an atomic access may be the first one, as it leaves nothing of what was there
  void check_bounds(std::uintptr_t address, unsigned bytes, Access access, std::uintptr_t pc, bool overwrites = false);
  /// Before an access of a kind of its own that is told of global memory alone: of anything else nothing is checked.
  void check_global_bounds(std::uintptr_t address, unsigned bytes, Access access, std::uintptr_t pc);
  /// griddepcontrol.wait of a thread: global memory may be accessed by it.
  void grid_wait(const Lane& lane) { grid_waited_[lane.thread] = true; }

  /// A byte of global memory, or of shared memory of a block of the cluster, for faults.
  MemoryPlace place_of(std::uintptr_t address, bool is_global);

 private:
  /// The shared memory of a block of the cluster that an address lies in.
  SharedMemory& memory_of(std::uintptr_t address);
  void check_global(std::uintptr_t address, unsigned bytes, Access access, std::uintptr_t pc);

  const BlockPlace& place_;
  ClusterRunner& cluster_;
  SharedMemory& shared_;  ///< the block's
  FaultStop& faults_;
  std::vector<bool> grid_waited_;  ///< by thread
};

}  // namespace lapidary::emulator
