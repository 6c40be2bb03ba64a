#pragma once
#include "ptx/call_site.hpp"
#include "ptx/mbarrier.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// Waits until the phase of this parity is complete.
/// @param cluster  see mbarrier_try_wait()
template <bool cluster = false>
LAPIDARY_DEVICE void wait(Mbarrier& barrier, unsigned parity, CallSite where = std::source_location::current()) {
  while (!mbarrier_try_wait<cluster>(barrier, parity, where)) {
  }
}

/// Where a thread is in a ring of stages: the stage, and the parity of its phase, which changes each time round.
template <int stages>
struct RingPosition {
  int stage = 0;
  unsigned phase = 0;

  LAPIDARY_DEVICE void advance() {
    if (++stage < stages) return;
    stage = 0;
    phase ^= 1;
  }
  /// Past so many stages at a time.
  LAPIDARY_DEVICE void advance(int count) {
    const int all = stage + count;
    stage = all % stages;
    phase ^= static_cast<unsigned>(all / stages) & 1;
  }
};

/// A ring of stages in shared memory, which a producer fills by bulk copies while consumers work on what has come:
///
///     producer                                   consumers
///     wait_empty(p)  the stage is free           wait_full(p)  all bytes are there
///     expect(p, bytes), copies to full(p)        ... read the stage ...
///     p.advance()                                release(p), p.advance()
///
/// A stage's full barrier is complete when the producer has said how many bytes to expect and they have come; its empty
/// barrier when all consumers have released the stage. In a cluster whose copies are multicast, the consumers of every
/// block that a block's copies reach release that block's stages, by release(p, rank). What writes a stage again
/// is a bulk copy, and what has read it is complete, so that this asks for no order of ordinary accesses.
template <int stages>
struct Pipeline {
  using Position = RingPosition<stages>;

  Mbarrier* full_barriers;   // (stages)
  Mbarrier* empty_barriers;  // (stages)

  /// By one thread, before fence_mbarrier_init() and a barrier of the block, or of the cluster.
  /// @param consumers  how often each stage is released
  LAPIDARY_DEVICE void init(unsigned consumers, CallSite where = std::source_location::current()) const {
    for (int stage = 0; stage < stages; ++stage) {
      mbarrier_init(full_barriers[stage], 1, where);
      mbarrier_init(empty_barriers[stage], consumers, where);
    }
  }

  LAPIDARY_DEVICE Mbarrier& full(const Position& p) const { return full_barriers[p.stage]; }

  /// Nobody has used a stage the first time round: of the empty barrier it is then the phase before the first.
  LAPIDARY_DEVICE void wait_empty(const Position& p, CallSite where = std::source_location::current()) const {
    wait(empty_barriers[p.stage], p.phase ^ 1, where);
  }
  LAPIDARY_DEVICE void expect(const Position& p, unsigned bytes,
                              CallSite where = std::source_location::current()) const {
    mbarrier_arrive_expect_tx(full(p), bytes, where);
  }
  LAPIDARY_DEVICE void wait_full(const Position& p, CallSite where = std::source_location::current()) const {
    wait(full(p), p.phase, where);
  }
  LAPIDARY_DEVICE void release(const Position& p, CallSite where = std::source_location::current()) const {
    mbarrier_arrive(empty_barriers[p.stage], 1, where);
  }
  LAPIDARY_DEVICE void release(const Position& p, unsigned rank,
                               CallSite where = std::source_location::current()) const {
    mbarrier_arrive_cluster<false>(empty_barriers[p.stage], rank, 1, where);
  }

  /// The producer waits until every stage is free, so that nobody arrives at the barriers of a block that has exited.
  LAPIDARY_DEVICE void drain(Position p, CallSite where = std::source_location::current()) const {
    for (int stage = 0; stage < stages; ++stage) {
      wait_empty(p, where);
      p.advance();
    }
  }
};

}  // namespace lapidary::inline LAPIDARY_BUILD
