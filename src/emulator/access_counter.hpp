#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "emulator/counter_sums.hpp"
#include "emulator/machine.hpp"
#include "emulator/recorder.hpp"
#include "emulator/tensor_core.hpp"

namespace lapidary::emulator {

class ClusterRunner;
struct BulkCopy;
struct LaneLog;

/// What the blocks of one rank cost, counted by instruction. What a block counts is multiplied by its sample's weight.
class AccessCounter {
 public:
  AccessCounter(const Options& options, ClusterRunner& cluster, unsigned rank);

  /// @param regions  the allocations, by address; they outlive the launch
  void begin_launch(std::span<const MemoryRegion> regions);
  void begin(const BlockSample& sample) { sample_ = sample; }

  /// Counts all accesses of a warp since its interval began. @param logs  by lane
  void count_interval(unsigned warp, std::span<LaneLog> logs);
  /// Matches the lanes' accesses by position for as long as every lane that has one there made it by the same
  /// instruction. @returns the position from which on that fails
  std::size_t count_in_step(unsigned warp, std::span<LaneLog> logs);
  /// @param blocks  that a multicast reaches
  void count_copy(const BulkCopy& copy, unsigned blocks);
  void count_mma(std::uintptr_t pc, const TensorOperation& one);
  void count_wgmma(std::uintptr_t pc, const WgmmaCounters& one);
  /// By instruction.
  void count_fma(const std::unordered_map<std::uintptr_t, std::uint64_t>& fma);
  /// The most bytes that were on their way to the block's shared memory.
  void count_flight(std::uint64_t bytes);

  const Sites& sites() const { return sites_; }
  std::uint64_t divergent_intervals() const { return divergent_intervals_; }
  void clear();

 private:
  /// An access that may be merged with others.
  struct Neighbour {
    std::size_t place;  ///< in its log
    Merge merge;
    bool dropped = false;  ///< as another one stands for it
  };

  void merge_neighbours(LaneLog& log) const;
  static void merge_neighbours(LaneLog& log, std::vector<Neighbour>& neighbours, unsigned width);
  unsigned memory_at(std::uintptr_t address);
  void count_by_occurrence(unsigned warp, std::span<LaneLog> logs, std::size_t from);
  void count(const WarpAccess& access, Access kind, std::uintptr_t pc, unsigned warp);

  const Options& options_;
  ClusterRunner& cluster_;
  unsigned rank_;
  BlockSample sample_{};
  std::span<const MemoryRegion> regions_;
  MemoryRegion last_region_{};
  Sites sites_;
  std::uint64_t divergent_intervals_ = 0;
};

}  // namespace lapidary::emulator
