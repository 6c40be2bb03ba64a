#include "emulator/mbarriers.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "emulator/access_checker.hpp"
#include "emulator/block.hpp"
#include "emulator/cluster.hpp"
#include "emulator/copy_engine.hpp"
#include "emulator/fault_stop.hpp"
#include "emulator/race_checker.hpp"
#include "emulator/scheduler.hpp"

namespace lapidary::emulator {
namespace {

void write_bits(std::uintptr_t address, const Mbarrier& barrier) {
  const std::uint64_t bits = barrier.bits();
  std::memcpy(reinterpret_cast<void*>(address), &bits, sizeof(bits));
}

}  // namespace

Mbarriers::Mbarriers(const Options& options, const BlockPlace& place, ClusterRunner& cluster, Scheduler& scheduler,
                     SharedMemory& shared, AccessChecker& checker, RaceChecker& races, FaultStop& faults)
    : options_(options),
      place_(place),
      cluster_(cluster),
      scheduler_(scheduler),
      shared_(shared),
      checker_(checker),
      races_(races),
      faults_(faults) {}

void Mbarriers::begin() {
  mbarriers_.clear();
  std::fill_n(waited_.begin(), place_.threads, Waited{});
}

MbarrierPlace Mbarriers::place_of(std::uintptr_t address) const {
  MbarrierPlace place{shared_.dynamic_offset(address)};
  if (const auto found = mbarriers_.find(address); found != mbarriers_.end())
    place.initialised = source_line(found->second.barrier.where());
  return place;
}

std::pair<Mbarriers*, Mbarriers::Entry*> Mbarriers::find(std::uintptr_t address, const char* instruction,
                                                         CallSite where) {
  BlockRunner* const block = cluster_.owner(address, place_.rank);
  if (!block) faults_.stop(InstructionTarget{instruction}, where);
  Mbarriers& owner = block->mbarriers();
  if (owner.scheduler_.live() == 0) faults_.stop(MbarrierOfExited{instruction, owner.place_.rank}, where);
  const auto found = owner.mbarriers_.find(address);
  if (found == owner.mbarriers_.end())
    faults_.stop(MbarrierMissing{instruction, owner.shared_.dynamic_offset(address)}, where);
  std::uint64_t bits;
  std::memcpy(&bits, reinterpret_cast<const void*>(address), sizeof(bits));
  if (bits != found->second.barrier.bits())
    faults_.stop(MbarrierOverwritten{instruction, owner.place_of(address)}, where);
  return {&owner, &found->second};
}

// An mbarrier's operations are atomic: they race with its initialisation alone, and with nothing once it is known.

void Mbarriers::init(std::uintptr_t address, unsigned arrivals, CallSite where, std::uintptr_t pc) {
  if (shared_.offset(address) == SharedMemory::npos) faults_.stop(RuleBroken{Rule::mbarrier_init_target}, where);
  if (address % 8) faults_.stop(MbarrierMisaligned{address}, where);
  if (arrivals < 1 || arrivals > Mbarrier::most_arrivals) faults_.stop(MbarrierArrivals{arrivals}, where);
  if (mbarriers_.count(address)) faults_.stop(MbarrierLive{place_of(address)}, where);
  if (options_.check) checker_.check_bounds(address, 8, Access::shared_store, pc);
  races_.touch(Event(address, 8, Access::shared_store, pc));
  const Entry& entry = mbarriers_.emplace(address, Entry{Mbarrier(arrivals, where), running}).first->second;
  write_bits(address, entry.barrier);
  if (options_.check) shared_.set_state(address, 8, ByteState::mbarrier);
}

void Mbarriers::inval(std::uintptr_t address, CallSite where, std::uintptr_t pc) {
  const auto [owner, entry] = find(address, "mbarrier.inval", where);
  if (owner != this) faults_.stop(RuleBroken{Rule::mbarrier_inval_of_other_block}, where);
  if (!entry->waiting.empty()) faults_.stop(MbarrierAwaited{place_of(address)}, where);
  races_.touch(Event(address, 8, Access::shared_store, pc));
  mbarriers_.erase(address);
  if (options_.check) shared_.set_state(address, 8, ByteState::unwritten);
}

void Mbarriers::fence_init() {
  for (auto& [address, entry] : mbarriers_)
    if (entry.by == running && !entry.fenced) entry.fenced = races_.interval();
  races_.fence_mbarriers();
}

// Writes the new state to shared memory, and wakes those whose phase it ends.
void Mbarriers::update(std::uintptr_t address, Entry& entry) {
  cluster_.changed();
  if (entry.barrier.end_phase_if_due())
    std::erase_if(entry.waiting, [&](Lane* lane) {
      if (!entry.barrier.is_complete(waited_[lane->thread].parity)) return false;
      scheduler_.set_ready(*lane);
      return true;
    });
  write_bits(address, entry.barrier);
}

void Mbarriers::arrive(std::uintptr_t address, unsigned arrivals, unsigned bytes, CallSite where, std::uintptr_t pc) {
  const auto [owner, entry] = find(address, arrivals ? "mbarrier.arrive" : "mbarrier.expect_tx", where);
  races_.touch(Event(address, 8, Access::shared_atomic, pc));
  std::optional<MbarrierRefuses> refused;
  if (bytes) refused = entry->barrier.expect(bytes);
  if (!refused && arrivals) refused = entry->barrier.arrive(arrivals);
  if (refused) {
    refused->mbarrier = owner->place_of(address);
    faults_.stop(*refused, where);
  }
  races_.release(*running->warp, entry->barrier.arrived);
  if (owner != this) races_.reach(owner->place_.rank, entry->barrier.arrived, pc);
  owner->update(address, *entry);
  // What was released too early is used before the thread comes to it.
  if (auto* const random = scheduler_.random(); random && (*random)() % 4 == 0)
    scheduler_.suspend(*running, LaneState::ready);
}

void Mbarriers::complete(std::uintptr_t address, unsigned bytes, CallSite where, std::uintptr_t pc) {
  const auto [owner, entry] = find(address, "mbarrier.complete_tx", where);
  races_.touch(Event(address, 8, Access::shared_atomic, pc));
  if (auto refused = entry->barrier.expect(-std::int64_t{bytes})) {
    refused->mbarrier = owner->place_of(address);
    faults_.stop(*refused, where);
  }
  owner->update(address, *entry);
}

bool Mbarriers::wait(std::uintptr_t address, unsigned parity, bool may_suspend, CallSite where, std::uintptr_t pc) {
  Lane& lane = *running;
  const char* const instruction = may_suspend ? "mbarrier.try_wait" : "mbarrier.test_wait";
  auto [owner, entry] = find(address, instruction, where);
  if (owner != this) faults_.stop(MbarrierOfOtherBlock{instruction}, where);
  if (parity > 1) faults_.stop(MbarrierParity{instruction, parity}, where);
  races_.touch(Event(address, 8, Access::shared_atomic, pc));
  Waited& waited = waited_[lane.thread];
  const bool again = waited.refused && waited.address == address && waited.parity == parity;
  waited.refused = false;
  if (!entry->barrier.is_complete(parity)) {
    lane.where = where;
    waited = {address, parity, !again};
    // The first answer is no, which who asks again does not notice, and who does not look at it goes on too early.
    if (options_.check && !again) return false;
    // try_wait may give up after a time that the machine chooses.
    auto* const random = scheduler_.random();
    const bool gives_up = random && (*random)() % 4 == 0;
    if (gives_up) {
      scheduler_.suspend(lane, LaneState::ready);
    } else if (may_suspend) {
      entry->waiting.push_back(&lane);
      scheduler_.suspend(lane, LaneState::at_mbarrier);
    } else {
      scheduler_.suspend(lane, LaneState::polling);
    }
    entry = find(address, instruction, where).second;
    if (!entry->barrier.is_complete(parity)) return false;
  }
  races_.hand_over(*lane.warp);
  races_.acquire(*lane.warp, entry->barrier.completed);
  return true;
}

void Mbarriers::check_target(std::uintptr_t address, CallSite where) {
  find(address, "bulk copy to the barrier", where);
}

void Mbarriers::check_fenced(std::uintptr_t address, CallSite where) {
  const auto [owner, entry] = find(address, "bulk copy to the barrier", where);
  if (!entry->fenced || !races_.knows(*entry->by, *entry->fenced))
    faults_.stop(MbarrierNotFenced{owner->place_of(address)}, where);
}

void Mbarriers::complete(const BulkCopy& copy) {
  const auto found = mbarriers_.find(copy.mbarrier);
  if (found == mbarriers_.end()) faults_.stop(MbarrierGone{copy.kind}, copy.where);
  Mbarrier& barrier = found->second.barrier;
  races_.end_copy(copy.mark, barrier.arrived);
  if (const auto refused = barrier.expect(-static_cast<std::int64_t>(copy.bytes()))) faults_.stop(*refused, copy.where);
  update(copy.mbarrier, found->second);
}

void Mbarriers::check_exit() {
  for (const auto& [address, entry] : mbarriers_)
    if (entry.barrier.transactions() != 0)
      faults_.stop(MbarrierPendingAtExit{entry.barrier.state()}, entry.barrier.where());
}

Wait Mbarriers::wait_of(const Lane& lane) const {
  const auto& [address, parity, refused] = waited_[lane.thread];
  const auto found = mbarriers_.find(address);
  if (found == mbarriers_.end()) return InvalidMbarrierWait{};
  return MbarrierWait{parity, place_of(address), found->second.barrier.state()};
}

}  // namespace lapidary::emulator
