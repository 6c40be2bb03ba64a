#include "emulator/cluster.hpp"

#include <algorithm>
#include <ctime>
#include <optional>

#include "emulator/block.hpp"
#include "emulator/symbols.hpp"

namespace lapidary::emulator {
namespace {

// How often threads look whether a barrier is done, while nothing else happens, before that counts as a deadlock.
constexpr unsigned most_idle_polls = 1000;
// ... and before other clusters may be what its threads wait for.
constexpr unsigned few_idle_polls = 4;

/// Seconds of the calling host thread's time.
double thread_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

ClusterRunner::ClusterRunner(const Options& options, Arena& memory, GridOrder& grid)
    : options_(options), memory_(memory) {
  if (options.check) races_ = std::make_unique<RaceDetector>(memory, grid);
}
ClusterRunner::~ClusterRunner() = default;

void ClusterRunner::begin_launch(const LaunchShape& shape, ThreadBody body, std::span<const MemoryRegion> regions,
                                 Residents& residents) {
  shape_ = shape;
  residents_ = &residents;
  residents.enter(resident_);
  size_ = shape.cluster.x * shape.cluster.y * shape.cluster.z;
  while (blocks_.size() < size_)
    blocks_.push_back(std::make_unique<BlockRunner>(options_, *this, static_cast<unsigned>(blocks_.size())));
  for (unsigned rank = 0; rank < size_; ++rank) blocks_[rank]->begin_launch(shape, body, regions);
}

void ClusterRunner::end_launch() {
  blocks_[0]->end_launch();
  residents_->leave(resident_);
}

void ClusterRunner::add_to(Sites& sites) const {
  for (const auto& block : blocks_) sites.merge(block->counter().sites());
}

std::uint64_t ClusterRunner::divergent_intervals() const {
  std::uint64_t intervals = 0;
  for (const auto& block : blocks_) intervals += block->counter().divergent_intervals();
  return intervals;
}

void ClusterRunner::clear_counters() {
  for (const auto& block : blocks_) block->counter().clear();
}

BlockRunner* ClusterRunner::owner(std::uintptr_t address, unsigned rank) {
  if (blocks_[rank]->shared().offset(address) != SharedMemory::npos) return blocks_[rank].get();
  for (unsigned other = 0; other < size_; ++other)
    if (blocks_[other]->shared().in_arena(address)) return blocks_[other].get();
  return nullptr;
}

std::uintptr_t ClusterRunner::map_to_rank(std::uintptr_t address, unsigned from, unsigned to, CallSite where) {
  BlockRunner& block = *blocks_[from];
  if (to >= size_) block.faults().stop(MapRank{to, size_}, where);
  if (to == from) return address;
  if (!block.shared().in_arena(address)) block.faults().stop(RuleBroken{Rule::map_source}, where);
  return address - address_of(block.shared().dynamic()) + address_of(blocks_[to]->shared().dynamic());
}

std::uint64_t ClusterRunner::live() const {
  std::uint64_t live = 0;
  for (unsigned rank = 0; rank < size_; ++rank) live += blocks_[rank]->scheduler().live();
  return live;
}

// ---------------------------------------------------------------------------------------------------- scheduling

void ClusterRunner::run(std::span<const BlockSample> samples) {
  if (options_.seed) random_.seed(static_cast<unsigned>(options_.seed * 0xbf58476d1ce4e5b9u + samples[0].block));
  copies_.clear();
  began_s_ = thread_time();
  arrived_ = 0;
  barrier_phase_ = 0;
  barrier_clock_.clear();
  arrivals_.assign(size_, std::vector<Arrival>(LaunchLimits::threads));
  reached_.assign(size_, {});
  std::vector<RaceDetector::Block> blocks;
  for (unsigned rank = 0; rank < size_; ++rank) {
    blocks_[rank]->begin(samples[rank]);
    blocks.push_back({&blocks_[rank]->shared(), samples[rank].block});
  }
  if (races_) races_->begin_cluster(blocks, blocks_[0]->place().warps);
  run_blocks();
  for (unsigned rank = 0; rank < size_; ++rank) blocks_[rank]->end();
  copies_.finish();
}

bool ClusterRunner::is_late() const { return thread_time() - began_s_ > options_.limit_s; }

// Returns when all threads have exited.
void ClusterRunner::run_blocks() {
  changed();
  while (live() > 0) {
    bool went_on = false;
    const unsigned first = options_.seed ? static_cast<unsigned>(random_()) % size_ : 0;
    for (unsigned i = 0; i < size_; ++i) went_on |= blocks_[(first + i) % size_]->advance();
    if (went_on || let_go_on()) continue;
    for (unsigned rank = 0; rank < size_; ++rank) blocks_[rank]->faults().throw_if_put_off();
    throw DetailedFault({deadlock(), shape_.kernel});
  }
}

// No thread can go on: lets happen what they wait for.
bool ClusterRunner::let_go_on() {
  bool any = false;
  for (unsigned rank = 0; rank < size_; ++rank) any |= blocks_[rank]->log().empty_full_logs();
  if (any) return true;
  if (copies_.advance(options_.seed ? &random_ : nullptr)) {
    changed();
    return true;
  }
  bool spins = false;
  for (unsigned rank = 0; rank < size_; ++rank) spins |= blocks_[rank]->scheduler().any(LaneState::spinning);
  const unsigned idle = resident_.idle_polls++;
  const bool may_go_on = !spins                  ? idle < most_idle_polls
                         : idle < few_idle_polls ? true
                                                 : residents_->give_way(resident_, most_idle_polls);
  for (unsigned rank = 0; rank < size_ && may_go_on; ++rank) {
    any |= blocks_[rank]->scheduler().wake(LaneState::spinning);
    any |= blocks_[rank]->scheduler().wake(LaneState::polling);
  }
  return any;
}

Deadlock ClusterRunner::deadlock() const {
  Deadlock deadlock{{}, size_ > 1};
  for (unsigned rank = 0; rank < size_; ++rank)
    if (blocks_[rank]->scheduler().live() > 0) deadlock.blocks.push_back(blocks_[rank]->deadlock());
  return deadlock;
}

// ---------------------------------------------------------------------------------------------------- barrier.cluster

ClusterRunner::Arrival& ClusterRunner::arrival(const Lane& lane) {
  return arrivals_[lane.block->place().rank][lane.thread];
}

template <class Place>
void ClusterRunner::check_aligned(CallSite where, Place&& at) {
  if (!options_.check) return;
  const Warp& warp = *running->warp;
  for_each_bit(warp.all & ~running->bit(), [&](unsigned other) {
    const std::optional<CallSite> place = at(arrival(*warp.lanes[other]));
    if (place && *place != where)
      running->block->faults().stop(BarriersDiffer{warp.id, other, running->lane, source_line(*place)}, where);
  });
}

void ClusterRunner::arrive(bool releases, CallSite where) {
  Lane& lane = *running;
  BlockRunner& block = *lane.block;
  Arrival& mine = arrival(lane);
  if (mine.arrived) block.faults().stop(RuleBroken{Rule::cluster_arrive_twice}, where);
  check_aligned(where, [&](const Arrival& other) {
    return other.arrived && other.phase == barrier_phase_ ? std::optional(other.where) : std::nullopt;
  });
  mine.arrived = true;
  mine.phase = barrier_phase_;
  mine.where = where;
  ++arrived_;
  block.races().hand_over(lane);
  if (releases)
    block.races().release(*lane.warp, barrier_clock_);
  else
    block.races().release_mbarriers(*lane.warp, barrier_clock_);
  complete_barrier_if_due();
}

void ClusterRunner::wait(CallSite where) {
  Lane& lane = *running;
  BlockRunner& block = *lane.block;
  Arrival& mine = arrival(lane);
  if (!mine.arrived) block.faults().stop(RuleBroken{Rule::cluster_wait_first}, where);
  check_aligned(where, [&](const Arrival& other) {
    return other.waits_for == mine.phase ? std::optional(other.waits_at) : std::nullopt;
  });
  mine.waits_for = mine.phase;
  mine.waits_at = where;
  if (mine.phase == barrier_phase_) {
    lane.where = where;
    block.scheduler().suspend(lane, LaneState::at_cluster_barrier);
  }
  mine.arrived = false;
  block.races().hand_over(lane);
  block.races().acquire(*lane.warp, barrier_clock_);
}

void ClusterRunner::complete_barrier_if_due() {
  if (arrived_ == 0 || arrived_ != live()) return;
  arrived_ = 0;
  ++barrier_phase_;
  changed();
  for (unsigned rank = 0; rank < size_; ++rank) blocks_[rank]->scheduler().wake(LaneState::at_cluster_barrier);
}

// ---------------------------------------------------------------------------------------------------- exits

void ClusterRunner::reach(unsigned owner, unsigned party, std::uint32_t interval, std::uintptr_t pc) {
  reached_[owner][party] = {interval, pc};
}

void ClusterRunner::exit(const Lane& lane) {
  BlockRunner& block = *lane.block;
  if (arrived_ > 0) {
    const Arrival& last = arrival(lane);
    if (last.arrived && last.phase == barrier_phase_) --arrived_;
    complete_barrier_if_due();
  }
  if (block.scheduler().live() > 0) return;
  block.check_exit();
  if (!races_) return;
  const unsigned rank = block.place().rank;
  for (const auto& [party, reach] : reached_[rank]) {
    bool known = false;
    for (unsigned warp = 0; warp < block.place().warps; ++warp)
      known |= races_->knows(races_->party(rank, warp), party, reach.interval);
    if (known) continue;
    block.faults().stop(RuleBroken{races_->is_copy(party) ? Rule::copy_outlives_block : Rule::access_outlives_block},
                        reach.pc);
  }
}

}  // namespace lapidary::emulator
