#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/launch_shape.hpp"
#include "emulator/recorder.hpp"
#include "emulator/shared_memory.hpp"

namespace lapidary::emulator {

constexpr unsigned max_warps = LaunchLimits::threads / 32;

/// For each party, the last of its intervals that is known to have ended; shorter: 0 for the others. A vector clock in
/// the sense of Flanagan and Freund, "FastTrack" (PLDI 2009). Parties are the warps of a cluster's blocks, and not
/// threads, as lanes of one warp are ordered by intervals alone; and bulk copies, by which barrier tells of their end.
using Clock = std::vector<std::uint32_t>;

void join(Clock& into, const Clock& other);

/// Threads of a cluster are numbered through: LaunchLimits::threads * rank of the block + index in the block.
struct Race {
  Event first, second;
  unsigned first_thread, second_thread;          ///< who made the access; of a copy who issued it
  bool first_copy = false, second_copy = false;  ///< whether a bulk copy makes it
  bool other_cluster = false;  ///< the first access was made by block `first_block` of another cluster
  std::uint32_t first_block = 0;
};

/// Gives pages back to the system.
struct Unmap {
  std::size_t bytes = 0;
  void operator()(void* memory) const;
};

/// Finds data races of a cluster, which may be one block, on shared memory, and of a grid on global memory. A warp's
/// accesses are handed over at the end of each of its intervals; an interval ends where the warp synchronises with
/// others or its lanes with each other. Which threads a synchronisation orders is told by `release` and `acquire`.
/// Atomic accesses to global memory are not looked at.
class RaceDetector {
 public:
  struct Block {
    const SharedMemory* shared;
    std::uint32_t id;  ///< index in the grid
  };

  /// @param blocks  of the cluster, by rank
  void begin_cluster(std::span<const Block> blocks, unsigned warps_of_block);

  unsigned party(unsigned rank, unsigned warp) const { return rank * warps_ + warp; }

  /// Ends the warp's interval, and adds what it knows then to the clock of a barrier.
  void release(unsigned party, Clock& barrier);
  /// Orders everything that the barrier's clock knows before what the warp does from now on.
  void acquire(unsigned party, const Clock& barrier);
  /// Ends the warp's interval: its lanes have synchronised with each other. @returns the interval that ended
  std::uint32_t end_interval(unsigned party) { return clocks_[party][party]++; }
  std::uint32_t interval(unsigned party) const { return clocks_[party][party]; }
  /// Whether the warp knows of the end of another one's interval.
  bool knows(unsigned party, unsigned of, std::uint32_t interval) const { return clocks_[party][of] >= interval; }

  /// The accesses of one thread in its warp's current interval; the first race, if there is one.
  std::optional<Race> add(unsigned thread, const Event* first, const Event* last);

  /// A bulk copy, which is nobody's access: it is ordered after what its issuing thread knows, and before those who
  /// know of its end.
  struct Copy {
    unsigned party;
    std::uint32_t interval;
  };
  /// @param end  stands for what tells of the copy's end; copies with one end are told apart by order alone
  Copy begin_copy(std::uintptr_t end);
  bool is_copy(unsigned party) const { return party >= copies_; }
  /// What a copy that `thread` issues now reads or writes in shared memory.
  std::optional<Race> add_copy(unsigned thread, const Copy& copy, const Event& event);
  /// Adds the copy's end to the clock of a barrier, or tells a warp of it.
  static void end_copy(const Copy& copy, Clock& barrier);
  void end_copy(const Copy& copy, unsigned party) { end_copy(copy, clocks_[party]); }

  /// Who wrote a byte of shared memory last, if that was an ordinary access.
  struct Writer {
    unsigned thread;
    std::uint32_t interval;
    std::uintptr_t pc;
  };
  std::optional<Writer> writer(std::uintptr_t address) const;

 private:
  static constexpr unsigned many_lanes = 32, copy_parties = 16;

  /// Who touched a word, or one byte of it, last. An interval and a lane in one number: interval << 6 | lane; 0:
  /// nobody. The last reads, by party, stand in `reads_`.
  struct Cell {
    std::uint32_t write;
    std::uint16_t write_party;
    bool write_atomic;
    std::uintptr_t write_pc, read_pc;
  };
  struct Actor {
    unsigned party, lane;  ///< of the thread
    unsigned as_party;     ///< that leaves a mark: the thread's, or that of its copy
    std::uint32_t interval;
  };

  std::size_t locate(std::uintptr_t address) const;
  std::optional<Race> add_shared(const Actor& actor, const Event& event);
  std::optional<Race> visit(std::size_t cell, const Actor& actor, const Event& event);
  std::optional<Race> add_global(unsigned thread, const Event& event);
  bool ordered(unsigned party, unsigned lane, unsigned by, std::uint32_t mark) const;
  unsigned thread_of(unsigned party, unsigned lane) const;

  template <class T>
  using Pages = std::unique_ptr<T[], Unmap>;
  template <class T>
  static Pages<T> zeros(std::size_t count);

  std::vector<Block> blocks_;
  unsigned warps_ = 0, copies_ = 0, parties_ = 0;  ///< warps of a block; the first party of copies; all of them
  std::size_t words_ = 0;                          ///< of a block's shared memory
  /// For each word of shared memory one that stands for all of it, and after those of all words three more for each ...
  /// Pages that are never touched are left to the system: few kernels use all of their shared memory.
  Pages<Cell> cells_;
  Pages<std::uint32_t> reads_;  ///< parties_ for each cell
  std::vector<bool> split_;     ///< ... for words that have been accessed by bytes
  std::vector<Clock> clocks_;
  std::vector<unsigned> copy_threads_;  ///< by party from copies_ on: who issued the last copy
};

}  // namespace lapidary::emulator
