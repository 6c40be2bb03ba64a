#pragma once
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

#include "core/launch_shape.hpp"
#include "emulator/recorder.hpp"
#include "emulator/shared_memory.hpp"

namespace lapidary::emulator {

constexpr unsigned max_warps = LaunchLimits::threads / 32;

/// For each warp of a block, the last of its intervals that is known to have ended. A vector clock in the sense of
/// Flanagan and Freund, "FastTrack" (PLDI 2009), kept by warp and not by thread: lanes of one warp are ordered by
/// intervals alone.
using Clock = std::array<std::uint32_t, max_warps>;

void join(Clock& into, const Clock& other);

/// Two accesses to one word, at least one of them a write, that nothing orders.
struct Race {
  Event first, second;
  unsigned first_thread, second_thread;  ///< within the block
  bool other_block = false;              ///< the first access was made by another block
  std::uint32_t first_block = 0;
};

/// Finds data races of a block on shared memory, and of a grid on global memory. A warp's accesses are handed over at
/// the end of each of its intervals; an interval ends where the warp synchronises with others or its lanes with each
/// other. Which threads a synchronisation orders is told by `release` and `acquire`. Atomic accesses to global memory
/// are not looked at.
class RaceDetector {
 public:
  explicit RaceDetector(const SharedMemory& shared);

  void begin_block(std::uint32_t block);

  /// Ends the warp's interval, and adds what it knows then to the clock of a barrier.
  void release(unsigned warp, Clock& barrier);
  /// Orders everything that the barrier's clock knows before what the warp does from now on.
  void acquire(unsigned warp, const Clock& barrier);
  /// Ends the warp's interval: its lanes have synchronised with each other.
  void end_interval(unsigned warp) { ++clocks_[warp][warp]; }

  /// The accesses of one thread in its warp's current interval; the first race, if there is one.
  std::optional<Race> add(unsigned thread, const Event* first, const Event* last);

 private:
  static constexpr unsigned many_lanes = 32;

  /// Who touched a word, or one byte of it, last. An interval and a lane in one number: interval << 6 | lane; 0:
  /// nobody.
  struct Cell {
    std::uint32_t write = 0;
    std::uint8_t write_warp = 0;
    bool write_atomic = false;
    std::uintptr_t write_pc = 0, read_pc = 0;
    std::array<std::uint32_t, max_warps> read{};
  };

  std::optional<Race> add_shared(unsigned thread, const Event& event);
  std::optional<Race> visit(Cell& cell, unsigned thread, const Event& event);
  std::optional<Race> add_global(unsigned thread, const Event& event);
  bool ordered(unsigned warp, unsigned lane, unsigned by_warp, std::uint32_t mark) const;

  struct Free {
    void operator()(Cell* cells) const { std::free(cells); }
  };

  const SharedMemory& shared_;
  /// Four for each word of shared memory, of which the first stands for a whole word ... From calloc, which leaves
  /// pages that are never touched to the system: few kernels use all of their shared memory.
  std::unique_ptr<Cell[], Free> cells_;
  std::vector<bool> split_;  ///< ... unless the word has been accessed by bytes
  std::array<Clock, max_warps> clocks_{};
  std::uint32_t block_ = 0;
};

}  // namespace lapidary::emulator
