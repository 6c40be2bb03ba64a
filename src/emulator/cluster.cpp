#include "emulator/cluster.hpp"

#include <algorithm>

#include "emulator/block.hpp"

namespace lapidary::emulator {
namespace {

// How often threads look whether a barrier is done, while nothing else happens, before that counts as a deadlock.
constexpr unsigned most_idle_polls = 1000;

}  // namespace

ClusterRunner::ClusterRunner(const Options& options) : options_(options) {
  if (options.check) races_ = std::make_unique<RaceDetector>();
}
ClusterRunner::~ClusterRunner() = default;

void ClusterRunner::begin_launch(const LaunchShape& shape, ThreadBody body, std::span<const MemoryRegion> regions) {
  shape_ = shape;
  size_ = shape.cluster.x * shape.cluster.y * shape.cluster.z;
  while (blocks_.size() < size_)
    blocks_.push_back(std::make_unique<BlockRunner>(options_, *this, static_cast<unsigned>(blocks_.size())));
  for (unsigned rank = 0; rank < size_; ++rank) blocks_[rank]->begin_launch(shape, body, regions);
}

void ClusterRunner::end_launch() { blocks_[0]->end_launch(); }

void ClusterRunner::add_to(Sites& sites) const {
  for (const auto& block : blocks_) sites.merge(block->sites());
}

std::uint64_t ClusterRunner::divergent_intervals() const {
  std::uint64_t intervals = 0;
  for (const auto& block : blocks_) intervals += block->divergent_intervals();
  return intervals;
}

void ClusterRunner::clear_counters() {
  for (const auto& block : blocks_) block->clear_counters();
}

BlockRunner* ClusterRunner::owner(std::uintptr_t address, BlockRunner& self) {
  if (self.shared().offset(address) != SharedMemory::npos) return &self;
  for (unsigned rank = 0; rank < size_; ++rank)
    if (blocks_[rank]->shared().in_arena(address)) return blocks_[rank].get();
  return nullptr;
}

std::uint64_t ClusterRunner::live() const {
  std::uint64_t live = 0;
  for (unsigned rank = 0; rank < size_; ++rank) live += blocks_[rank]->live();
  return live;
}

// ---------------------------------------------------------------------------------------------------- scheduling

void ClusterRunner::run(std::span<const BlockSample> samples) {
  if (options_.seed) random_.seed(static_cast<unsigned>(options_.seed * 0xbf58476d1ce4e5b9u + samples[0].block));
  copies_.clear();
  arrived_ = 0;
  barrier_phase_ = 0;
  barrier_clock_.clear();
  reached_.assign(size_, {});
  std::vector<RaceDetector::Block> blocks;
  for (unsigned rank = 0; rank < size_; ++rank) {
    blocks_[rank]->begin(samples[rank]);
    blocks.push_back({&blocks_[rank]->shared(), samples[rank].block});
  }
  if (races_) races_->begin_cluster(blocks, blocks_[0]->warps());
  run_blocks();
  for (unsigned rank = 0; rank < size_; ++rank) blocks_[rank]->end();
  copies_.finish();
}

// Returns when all threads have exited.
void ClusterRunner::run_blocks() {
  changed();
  while (live() > 0) {
    bool went_on = false;
    const unsigned first = options_.seed ? static_cast<unsigned>(random_()) % size_ : 0;
    for (unsigned i = 0; i < size_; ++i) went_on |= blocks_[(first + i) % size_]->advance();
    if (went_on || let_go_on()) continue;
    for (unsigned rank = 0; rank < size_; ++rank) blocks_[rank]->stop_if_read_early();
    throw DetailedFault({deadlock(), shape_.kernel});
  }
}

// No thread can go on: lets happen what they wait for.
bool ClusterRunner::let_go_on() {
  bool any = false;
  for (unsigned rank = 0; rank < size_; ++rank) any |= blocks_[rank]->empty_full_logs();
  if (any) return true;
  if (copies_.advance(options_.seed ? &random_ : nullptr)) {
    changed();
    return true;
  }
  if (idle_polls_++ >= most_idle_polls) return false;
  for (unsigned rank = 0; rank < size_; ++rank) any |= blocks_[rank]->wake_polling();
  return any;
}

Deadlock ClusterRunner::deadlock() const {
  Deadlock deadlock{{}, size_ > 1};
  for (unsigned rank = 0; rank < size_; ++rank)
    if (blocks_[rank]->live() > 0) deadlock.blocks.push_back(blocks_[rank]->deadlock());
  return deadlock;
}

// ---------------------------------------------------------------------------------------------------- barrier.cluster

void ClusterRunner::arrive(Lane& lane, std::source_location where) {
  BlockRunner& block = *lane.block;
  if (lane.at_cluster_barrier) block.fault(RuleBroken{Rule::cluster_arrive_twice}, where);
  lane.at_cluster_barrier = true;
  lane.cluster_phase = barrier_phase_;
  ++arrived_;
  if (races_) {
    block.hand_over(lane);
    races_->release(block.party(*lane.warp), barrier_clock_);
  }
  complete_barrier_if_due();
}

void ClusterRunner::wait(Lane& lane, std::source_location where) {
  BlockRunner& block = *lane.block;
  if (!lane.at_cluster_barrier) block.fault(RuleBroken{Rule::cluster_wait_first}, where);
  if (lane.cluster_phase == barrier_phase_) {
    lane.where = where;
    block.suspend(lane, LaneState::at_cluster_barrier);
  }
  lane.at_cluster_barrier = false;
  if (races_) {
    block.hand_over(lane);
    races_->acquire(block.party(*lane.warp), barrier_clock_);
  }
}

void ClusterRunner::complete_barrier_if_due() {
  if (arrived_ == 0 || arrived_ != live()) return;
  arrived_ = 0;
  ++barrier_phase_;
  changed();
  for (unsigned rank = 0; rank < size_; ++rank) blocks_[rank]->wake(LaneState::at_cluster_barrier);
}

// ---------------------------------------------------------------------------------------------------- exits

void ClusterRunner::reach(const BlockRunner& owner, unsigned party, std::uint32_t interval, std::uintptr_t pc) {
  reached_[owner.rank()][party] = {interval, pc};
}

void ClusterRunner::exit(Lane& lane) {
  BlockRunner& block = *lane.block;
  if (lane.at_cluster_barrier && lane.cluster_phase == barrier_phase_) --arrived_;
  lane.at_cluster_barrier = false;
  complete_barrier_if_due();
  if (block.live() > 0) return;
  block.check_exit();
  if (!races_) return;
  for (const auto& [party, last] : reached_[block.rank()]) {
    bool known = false;
    for (unsigned warp = 0; warp < block.warps(); ++warp)
      known |= races_->knows(races_->party(block.rank(), warp), party, last.interval);
    if (!known && races_->is_copy(party)) block.fault(RuleBroken{Rule::copy_outlives_block}, last.pc);
    if (!known) block.fault(RuleBroken{Rule::access_outlives_block}, last.pc);
  }
}

}  // namespace lapidary::emulator
