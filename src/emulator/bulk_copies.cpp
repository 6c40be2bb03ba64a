#include "emulator/bulk_copies.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "emulator/access_checker.hpp"
#include "emulator/access_counter.hpp"
#include "emulator/block.hpp"
#include "emulator/cluster.hpp"
#include "emulator/fault_stop.hpp"
#include "emulator/mbarriers.hpp"
#include "emulator/race_checker.hpp"
#include "emulator/scheduler.hpp"

namespace lapidary::emulator {

BulkCopies::BulkCopies(const Options& options, const BlockPlace& place, ClusterRunner& cluster, Scheduler& scheduler,
                       SharedMemory& shared, Mbarriers& mbarriers, AccessChecker& checker, RaceChecker& races,
                       AccessCounter& counter, FaultStop& faults)
    : options_(options),
      place_(place),
      cluster_(cluster),
      scheduler_(scheduler),
      shared_(shared),
      mbarriers_(mbarriers),
      checker_(checker),
      races_(races),
      counter_(counter),
      faults_(faults) {}

void BulkCopies::begin() {
  std::fill_n(threads_.begin(), place_.threads, Thread{});
  bytes_ = most_bytes_ = 0;
}

// ---------------------------------------------------------------------------------------------------- issue

void BulkCopies::load(BulkCopy&& copy, std::uint32_t targets) {
  if (targets >> cluster_.size()) faults_.stop(Multicast{targets, cluster_.size()}, copy.where);
  counter_.count_copy(copy, static_cast<unsigned>(std::popcount(targets)));
  for_each_bit(targets, [&](unsigned rank) {
    BulkCopies& owner = cluster_.block(rank).bulk_copies();
    BulkCopy one = copy;
    one.issuer = this;
    one.owner = &owner;
    one.lane = running;
    one.mbarrier = cluster_.map_to_rank(copy.mbarrier, place_.rank, rank, copy.where);
    for (BulkCopy::Chunk& chunk : one.chunks)
      chunk.shared = reinterpret_cast<unsigned char*>(
          cluster_.map_to_rank(address_of(chunk.shared), place_.rank, rank, copy.where));
    mbarriers_.check_target(one.mbarrier, copy.where);
    record(one);
    mbarriers_.check_fenced(one.mbarrier, copy.where);
    owner.bytes_ += one.bytes();
    owner.most_bytes_ = std::max(owner.most_bytes_, owner.bytes_);
    races_.reach(rank, one.mark, copy.pc);
    cluster_.copies().issue(std::move(one));
  });
}

void BulkCopies::store(BulkCopy&& copy) {
  copy.issuer = copy.owner = this;
  copy.lane = running;
  copy.group = threads_[running->thread].group;
  counter_.count_copy(copy, 1);
  record(copy);
  cluster_.copies().issue(std::move(copy));
}

void BulkCopies::record(BulkCopy& copy) {
  const bool load = copy.kind == BulkKind::load;
  if (options_.check) {
    for (const auto& [shared, global, first, end] : copy.chunks) {
      checker_.check_bounds(address_of(shared), 16, load ? Access::async_issue : Access::shared_load, copy.pc);
      if (end > first)
        checker_.check_bounds(address_of(global) + first, end - first, load ? Access::bulk_load : Access::bulk_store,
                              copy.pc);
      copy.owner->shared_.set_state(address_of(shared), 16, load ? ByteState::in_flight : ByteState::reading);
    }
  }
  if (!races_.is_on()) return;
  races_.hand_over(*running);
  copy.mark = races_.begin_copy(load ? copy.mbarrier : address_of(&threads_[running->thread]));
  // Its bytes are counted there: as an access, as the mbarrier may have been initialised by another block.
  if (load) races_.touch_by_copy(copy.mark, Event(copy.mbarrier, 8, Access::shared_atomic, copy.pc));
  for (const auto& [shared, global, first, end] : copy.chunks) {
    races_.check_fence(address_of(shared), 16, copy.kind, copy.pc);
    races_.touch_by_copy(copy.mark,
                         Event(address_of(shared), 16, load ? Access::async_issue : Access::shared_load, copy.pc));
    const Access access = load                         ? Access::bulk_load
                          : copy.kind == BulkKind::add ? Access::global_atomic
                                                       : Access::bulk_store;
    if (end > first) races_.touch_by_copy(copy.mark, Event(address_of(global) + first, end - first, access, copy.pc));
  }
}

// ---------------------------------------------------------------------------------------------------- completion

void BulkCopies::complete_load(const BulkCopy& copy) {
  bytes_ -= copy.bytes();
  if (options_.check)
    for (const BulkCopy::Chunk& chunk : copy.chunks)
      shared_.set_state(address_of(chunk.shared), 16, ByteState::written);
  mbarriers_.complete(copy);
}

void BulkCopies::wait(unsigned pending, bool read, CallSite where) {
  Lane& lane = *running;
  CopyEngine& copies = cluster_.copies();
  Thread& thread = threads_[lane.thread];
  thread.waits_for = thread.group > pending ? thread.group - pending : 0;
  thread.read = read;
  if (!copies.is_complete(lane, thread.waits_for, read)) {
    lane.where = where;
    scheduler_.suspend(lane, LaneState::at_bulk_group);
  }
  for (const BulkCopy& copy : copies.release(lane, thread.waits_for)) {
    races_.end_copy(copy.mark, *lane.warp);
    if (!options_.check) continue;
    const bool others = copies.reads(*this);
    for (const BulkCopy::Chunk& chunk : copy.chunks) {
      const bool still_read = others && copies.at(address_of(chunk.shared));
      shared_.set_state(address_of(chunk.shared), 16, still_read ? ByteState::reading : ByteState::written);
    }
  }
}

bool BulkCopies::waits_for(const BulkCopy& copy) const {
  const Thread& thread = threads_[copy.lane->thread];
  if (copy.lane->state != LaneState::at_bulk_group || copy.group >= thread.waits_for) return false;
  return copy.progress < (thread.read ? BulkCopy::Progress::read : BulkCopy::Progress::done);
}

void BulkCopies::wake(Lane& lane) {
  const Thread& thread = threads_[lane.thread];
  if (lane.state == LaneState::at_bulk_group && cluster_.copies().is_complete(lane, thread.waits_for, thread.read))
    scheduler_.set_ready(lane);
}

void BulkCopies::check_exit() {
  if (const BulkCopy* const copy = cluster_.copies().unfinished(*this))
    faults_.stop(BulkCopyAtExit{copy->kind}, *copy->lane, copy->where);
}

}  // namespace lapidary::emulator
