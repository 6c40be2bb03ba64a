#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/launch_shape.hpp"
#include "emulator/grid_order.hpp"
#include "emulator/pages.hpp"
#include "emulator/recorder.hpp"
#include "emulator/shared_memory.hpp"

namespace lapidary::emulator {

class Arena;

constexpr unsigned max_warps = LaunchLimits::threads / 32;

/// For each party, the last of its intervals that is known to have ended; shorter: 0 for the others. A vector clock in
/// the sense of Flanagan and Freund, "FastTrack" (PLDI 2009). Parties are the warps of a cluster's blocks, and not
/// threads, as what one lane knows of other warps all lanes may know; and bulk copies, by which barrier tells of their
/// end.
/// Behind the parties stand what is known of other clusters, the number of a release in GridOrder; and the same two
/// things of strong writes alone, by warp: who has found what such a write has left in a word comes after that write,
/// and mostly not after what its thread has done before.
using Clock = std::vector<std::uint32_t>;

void join(Clock& into, const Clock& other);

/// Threads of a cluster are numbered through: LaunchLimits::threads * rank of the block + index in the block.
struct Race {
  Event first, second;
  unsigned first_thread, second_thread;          ///< who made the access; of a copy who issued it
  bool first_copy = false, second_copy = false;  ///< whether a bulk copy makes it
  bool several_lanes = false;  ///< the first access was made by several lanes, among others of the warp of that thread
  bool other_cluster = false;  ///< the first access was made by block `first_block` of another cluster
  std::uint32_t first_block = 0;
};

/// Finds data races of a cluster, which may be one block, on shared memory, and of a grid on global memory. A warp's
/// accesses are handed over at the end of each of its intervals; an interval ends where the warp synchronises with
/// others or its lanes with each other. Which warps a synchronisation orders is told by `release` and `acquire`; lanes
/// of one warp are ordered by `synchronise`, and by whatever tells their warp of its own intervals.
///
/// Strong accesses, atomic and volatile ones, are no race among themselves. What a thread has seen to be written before
/// a fence is told by its strong writes behind the fence to those whose strong reads find the word (PTX ISA, "Memory
/// Consistency Model": release and acquire patterns). That the reader needs a fence too is not asked for, as kernels of
/// NVIDIA's own do without. The strong write itself comes before what the reader does behind a fence or barrier of its
/// own, whether its writer has a fence or not ("causality order"); without either, whoever happens to come last would
/// be taken for one who knows that he is.
class RaceDetector {
 public:
  struct Block {
    const SharedMemory* shared;
    std::uint32_t id;  ///< index in the grid
  };

  RaceDetector(Arena& memory, GridOrder& grid) : memory_(memory), grid_(grid) {}

  /// @param blocks  of the cluster, by rank
  void begin_cluster(std::span<const Block> blocks, unsigned warps_of_block);

  unsigned party(unsigned rank, unsigned warp) const { return rank * warps_ + warp; }

  /// Ends the warp's interval, and adds what it knows then to the clock of a barrier.
  void release(unsigned party, Clock& barrier);
  /// What an arrival tells that is no release: that the warp has begun, and what its mbarriers were when it fenced
  /// them.
  void release_mbarriers(unsigned party, Clock& barrier);
  /// fence.mbarrier_init of a thread of the warp. Ends the interval, all of which is taken for mbarriers' beginning.
  void fence_mbarriers(unsigned party);
  /// Orders everything that the barrier's clock knows before what the warp does from now on.
  void acquire(unsigned party, const Clock& barrier);
  /// Ends the warp's interval: those of its lanes that are in the mask have synchronised with each other.
  /// @param all  whether they are all that there are
  void synchronise(unsigned party, std::uint32_t lanes, bool all);
  std::uint32_t interval(unsigned party) const { return clocks_[party][party]; }
  /// Whether the warp knows of the end of another one's interval.
  bool knows(unsigned party, unsigned of, std::uint32_t interval) const { return clocks_[party][of] >= interval; }
  /// Whether a lane's present is ordered after another one's, of the same warp or not, in an interval of that warp.
  bool knows(unsigned party, unsigned lane, unsigned of, unsigned of_lane, std::uint32_t interval) const {
    return ordered(party, lane, of, interval << 6 | of_lane);
  }
  /// Whether the warp knows that a block of the cluster has begun.
  bool knows_begun(unsigned party, unsigned rank) const;

  /// The accesses of one thread in its warp's current interval; the first race, if there is one.
  /// @param fences  how many proxy fences it has executed before
  std::optional<Race> add(unsigned thread, std::uint32_t fences, const Event* first, const Event* last);
  /// A strong one.
  std::optional<Race> add_strong(unsigned thread, std::uint32_t fences, const Event& event);

  /// A fence of a thread of the warp, of its block or of the whole device. Ends the interval.
  void fence(unsigned party, bool device);
  // What a strong write of a word, just added, tells, and what a strong access is told.
  void release_word(unsigned party, std::uintptr_t word, bool global);
  void acquire_word(unsigned party, std::uintptr_t word, bool global);

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

  /// Who of the cluster wrote a byte of shared memory last, if that was an ordinary access.
  struct Writer {
    unsigned thread;
    std::uint32_t interval;
    std::uint32_t fences;  ///< that it had executed before
    std::uintptr_t pc;
  };
  /// Calls visit(Writer) for those of a range, in order, asking for each word once and by pairs of bytes only in words
  /// that have been accessed by bytes.
  template <class Visit>
  void for_each_writer(std::uintptr_t address, unsigned bytes, Visit&& visit) const {
    const std::size_t first = locate(address);
    for (std::size_t offset = first; offset < first + bytes;) {
      const std::size_t word = offset / 4;
      const std::size_t cell = split_[word] ? offset % 4 * split_.size() + word : word;
      if (const auto writer = this->writer(cells_[cell])) visit(*writer);
      offset += split_[word] ? 2 : 4 - offset % 4;
    }
  }
  /// The instruction that has written global memory in this launch.
  std::optional<std::uintptr_t> global_writer(std::uintptr_t address, unsigned bytes);

 private:
  static constexpr unsigned many_lanes = 32, copy_parties = 16;

  /// Who touched a word, or one byte of it, last. An interval and a lane in one number: interval << 6 | lane; 0:
  /// nobody. Strong accesses are not ordered among each other, and each of them is after the last plain write:
  /// strong writes since then stand by party in `strong_writes_`, as the last reads do in `reads_`.
  struct Cell {
    std::uint32_t write, strong;
    std::uint32_t write_fences, strong_fences;  ///< that the thread had executed before
    std::uint16_t write_party, strong_party;
    std::uint16_t first_reader, end_reader;  ///< parties between which those are that have read it
    Access strong_access;
    std::uintptr_t write_pc, strong_pc, read_pc;
  };
  struct Actor {
    unsigned party, lane;  ///< of the thread
    unsigned as_party;     ///< that leaves a mark: the thread's, or that of its copy
    std::uint32_t interval;
    std::uint32_t fences = 0;
  };

  /// What lanes of a warp know of each other's intervals.
  struct LaneOrder {
    std::uint32_t all = 0;  ///< the last that is over for all of them
    /// [32 * lane + other]: the last of the other's that is over for the lane. Empty: none after `all`.
    std::vector<std::uint32_t> known = {};
  };

  /// What a word tells threads of the cluster, and up to which of its releases those of other clusters are among that.
  struct Word {
    Clock clock;                ///< what fences have covered
    Clock written;              ///< by strong writes
    std::uint32_t release = 0;  ///< that the word was last asked about
  };
  /// What a cluster has been told of a warp of another one: its last interval that had ended at a release.
  struct Told {
    std::uint32_t release, interval;
  };
  /// In GridOrder a warp's strong writes stand as those of a warp of their own.
  static constexpr unsigned strong_writes_of = max_warps;
  static std::uint64_t key(std::uint32_t block, unsigned warp) { return std::uint64_t{block} << 6 | warp; }

  // Places in a clock.
  std::size_t told_until() const { return parties_; }
  std::size_t writes_of(unsigned party) const { return parties_ + 1 + party; }
  std::size_t writes_told_until() const { return writes_of(copies_); }
  bool knows_of_writes(unsigned party, unsigned of, std::uint32_t interval) const {
    return of < copies_ && clocks_[party][writes_of(of)] >= interval;
  }

  std::size_t locate(std::uintptr_t address) const;
  std::optional<Writer> writer(const Cell& cell) const;
  /// A party's place for a cell in reads_ and strong_writes_.
  std::size_t place(unsigned party, std::size_t cell) const { return party * split_.size() * 4 + cell; }
  std::optional<Race> add(unsigned thread, std::uint32_t fences, const Event& event, bool strong);
  std::optional<Race> add_shared(const Actor& actor, const Event& event, bool strong);
  std::optional<Race> visit(std::size_t cell, const Actor& actor, const Event& event, bool strong);
  std::uint32_t mark_of(std::uint32_t last, const Actor& actor) const;
  std::optional<Race> add_global(unsigned thread, const Event& event, bool strong);
  bool told(const Clock& clock, std::uint32_t block, unsigned warp, std::uint32_t interval) const;
  bool is_told(const Told& entry, unsigned warp, const Clock& clock) const;
  bool ordered(unsigned party, unsigned lane, unsigned by, std::uint32_t mark) const;
  unsigned thread_of(unsigned party, unsigned lane) const;

  Arena& memory_;
  GridOrder& grid_;
  std::vector<Block> blocks_;
  unsigned warps_ = 0, copies_ = 0, parties_ = 0;  ///< warps of a block; the first party of copies; all of them
  std::size_t words_ = 0;                          ///< of a block's shared memory
  /// For each word of shared memory one that stands for all of it, and after those of all words three more for each ...
  /// Pages that are never touched are left to the system: few kernels use all of their shared memory.
  Pages<Cell> cells_;
  /// By party and cell. Few parties touch one: pages of others stay untouched.
  Pages<std::uint32_t> reads_, strong_writes_;
  std::vector<bool> split_;  ///< ... for words that have been accessed by bytes
  std::vector<Clock> clocks_;
  std::vector<Clock> found_;            ///< by warp: strong writes that it will know of behind a fence or barrier
  std::vector<LaneOrder> lanes_;        ///< by warp
  std::vector<unsigned> copy_threads_;  ///< by party from copies_ on: who issued the last copy

  Clock mbarriers_;  ///< of each warp, the last interval before it fenced its mbarriers
  Clock began_;      ///< what was over when the cluster began
  Clock fenced_[2];  ///< what a fence of a block, or of the device, has covered
  std::unordered_map<std::uintptr_t, Word> flags_;
  std::unordered_map<std::uint64_t, std::vector<Told>> told_;  ///< by block and warp
};

}  // namespace lapidary::emulator
