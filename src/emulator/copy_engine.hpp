#pragma once
#include <cstdint>
#include <deque>
#include <random>
#include <vector>

#include "emulator/call_site.hpp"
#include "emulator/race_detector.hpp"
#include "layout/tensor_map.hpp"

namespace lapidary::emulator {

class BulkCopies;
struct Lane;

enum class BulkKind : std::uint8_t { load, store, add };

/// What cp.async.bulk and its relatives move: global to shared memory, completing transactions of an mbarrier; or
/// shared to global memory, in a bulk group of the issuing thread.
struct BulkCopy {
  /// 16 bytes of shared memory, of which those inside of the tensor have a place in global memory.
  struct Chunk {
    unsigned char* shared;
    unsigned char* global;
    std::uint8_t first = 0, end = 16;
  };

  BulkKind kind{};
  TensorType type{};             ///< of what is added
  unsigned char fill = 0;        ///< of bytes outside of the tensor
  BulkCopies* issuer = nullptr;  ///< those of the block that it was issued by
  BulkCopies* owner = nullptr;   ///< ... and of the one whose shared memory it is
  Lane* lane = nullptr;          ///< that issued it
  std::vector<Chunk> chunks = {};
  const unsigned char *begin = nullptr, *end = nullptr;  ///< of shared memory between which the chunks lie
  std::uintptr_t global = 0;    ///< where what it goes to or comes from begins, also if it lies beyond all of that
  std::uintptr_t mbarrier = 0;  ///< of a load, in the owner's shared memory
  unsigned group = 0;           ///< of others; counts the lane's commits before it
  std::uintptr_t pc = 0;
  CallSite where;
  RaceDetector::Copy mark{};

  enum class Progress : std::uint8_t { issued, read, done } progress = Progress::issued;
  bool released = false;                 ///< whether the issuer has waited for a store
  std::vector<unsigned char> data = {};  ///< what a store has read

  std::size_t bytes() const { return chunks.size() * 16; }
};

/// The bulk copies of a cluster that are under way. What they do happens as late as it may, or in a random order and at
/// random times: a load when nobody can go on without it, a store or a part of it when its issuer waits for it.
class CopyEngine {
 public:
  /// Takes up a copy, and finds where its chunks lie; the destination of a load holds NaN from now on.
  void issue(BulkCopy&& copy);

  /// Carries out one copy, or a store's reading of its source; the oldest of those that anybody may wait for.
  /// @param random  if given, any one
  /// @returns whether there was one
  bool advance(std::minstd_rand* random);

  /// Whether all copies of the lane's groups before `group` have read their source, or are done.
  bool is_complete(const Lane& lane, unsigned group, bool read) const;
  /// Those of them that no earlier such call has returned: their issuer has waited for them, and their sources may be
  /// written again.
  std::vector<BulkCopy> release(const Lane& lane, unsigned group);

  /// Whether a store that nobody has waited for reads a block's shared memory.
  bool reads(const BulkCopies& owner) const;
  /// The copy that a byte of shared memory belongs to; null if there is none.
  const BulkCopy* at(std::uintptr_t address) const;
  /// A copy to or from a block's shared memory that nobody has waited for; null if there is none.
  const BulkCopy* unfinished(const BulkCopies& owner) const;

  /// Carries out what is left, as at the end of a grid.
  void finish();
  /// Forgets all copies.
  void clear() { copies_.clear(); }

  bool empty() const { return copies_.empty(); }

 private:
  void step(BulkCopy& copy);

  std::deque<BulkCopy> copies_;  ///< in the order of their issue
};

}  // namespace lapidary::emulator
