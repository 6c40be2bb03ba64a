// What is asynchronous on compute capability 9.0 and up: mbarriers, bulk copies, proxy fences, clusters; and registers
// that warpgroups hand over to each other.
#include <algorithm>
#include <bit>
#include <cstring>

#include "core/math.hpp"
#include "emulator/block.hpp"
#include "emulator/symbols.hpp"

namespace lapidary::emulator {
namespace {

constexpr unsigned register_file = 64 * 1024;

// What ptxas gives each thread at most, so that the block fits: warps are placed in fours.
unsigned registers_at_entry(unsigned threads) {
  return std::min(255u, register_file / round_up(threads, 128u) / 8 * 8);
}

std::uintptr_t address_of(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

}  // namespace

void BlockRunner::begin_async() {
  mbarriers_.clear();
  bulk_copying_ = most_bulk_copying_ = 0;
  free_registers_ = 0;
  for (unsigned i = 0; i < warps_; ++i) {
    all_warps_[i].registers = registers_at_entry(threads_);
    all_warps_[i].wanted_registers = 0;
  }
  for (unsigned i = 0; i < threads_; ++i) {
    lanes_[i].bulk_group = 0;
    lanes_[i].fences.clear();
    lanes_[i].at_cluster_barrier = false;
    lanes_[i].grid_waited = false;
  }
}

void BlockRunner::hand_over(Lane& lane) {
  if (!races_) return;
  if (&lane == current_lane()) leave(&lane);
  find_races(lane);
}

void BlockRunner::wake(LaneState state) {
  for (unsigned i = 0; i < threads_; ++i)
    if (lanes_[i].state == state) set_ready(*lanes_[i].warp, lanes_[i].bit());
}

bool BlockRunner::wake_polling() {
  const bool any = std::any_of(&lanes_[0], &lanes_[threads_],
                               [](const Lane& lane) { return lane.state == LaneState::polling; });
  wake(LaneState::polling);
  return any;
}

Wait BlockRunner::wait_of(const Lane& lane) const {
  switch (lane.state) {
    case LaneState::at_barrier:
      for (unsigned id = 0; id < barriers_.size(); ++id) {
        const Barrier& barrier = barriers_[id];
        if (barrier.waiting[lane.warp->id] & lane.bit())
          return BarrierWait{id, barrier.arrived, barrier.expected ? barrier.expected : live_};
      }
      return {};
    case LaneState::at_collective:
      for (const PendingCollective& pending : lane.warp->collectives)
        if (pending.kind != Collective::none && pending.arrived & lane.bit())
          return CollectiveWait{lane.warp->id, pending.arrived, pending.mask & lane.warp->alive};
      return {};
    case LaneState::at_mbarrier:
    case LaneState::polling: {
      const auto& [address, parity] = lane.mbarrier_wait;
      const auto found = mbarriers_.find(address);
      if (found == mbarriers_.end()) return InvalidMbarrierWait{};
      return MbarrierWait{parity, place_of_mbarrier(address), found->second.barrier.state()};
    }
    case LaneState::at_cluster_barrier: return ClusterWait{cluster_.arrived(), cluster_.live()};
    case LaneState::at_bulk_group: return BulkGroupWait{};
    case LaneState::at_wgmma: return warpgroups_.wait_of(*lane.warp);
    case LaneState::at_registers:
      return RegisterWait{lane.warp->registers, lane.warp->wanted_registers, free_registers_};
    default: return {};
  }
}

// ---------------------------------------------------------------------------------------------------- mbarriers

MbarrierPlace BlockRunner::place_of_mbarrier(std::uintptr_t address) const {
  MbarrierPlace place{shared_.dynamic_offset(address)};
  if (const auto found = mbarriers_.find(address); found != mbarriers_.end())
    place.initialised = source_line(found->second.barrier.where());
  return place;
}

std::pair<BlockRunner*, BlockRunner::WaitedMbarrier*> BlockRunner::find_mbarrier(std::uintptr_t address,
                                                                                 const char* instruction,
                                                                                 std::source_location where) {
  BlockRunner* const owner = cluster_.owner(address, *this);
  if (!owner) fault(InstructionTarget{instruction}, where);
  if (owner->live_ == 0) fault(MbarrierOfExited{instruction, owner->rank_}, where);
  const auto found = owner->mbarriers_.find(address);
  if (found == owner->mbarriers_.end())
    fault(MbarrierMissing{instruction, owner->shared_.dynamic_offset(address)}, where);
  std::uint64_t bits;
  std::memcpy(&bits, reinterpret_cast<const void*>(address), sizeof(bits));
  if (bits != found->second.barrier.bits())
    fault(MbarrierOverwritten{instruction, owner->place_of_mbarrier(address)}, where);
  return {owner, &found->second};
}

// An mbarrier's operations are atomic: they race with its initialisation alone, and with nothing once it is known.
void BlockRunner::touch_mbarrier(std::uintptr_t address, Access access, std::uintptr_t pc) {
  if (!races_) return;
  Lane& lane = *current_lane();
  hand_over(lane);
  const Event event(address, 8, access, pc);
  if (const auto race = races_->add(thread_of_cluster(lane), &event, &event + 1)) fault_race(*race);
}

void BlockRunner::mbarrier_init(std::uintptr_t address, unsigned arrivals, std::source_location where,
                                std::uintptr_t pc) {
  if (shared_.offset(address) == SharedMemory::npos) fault(RuleBroken{Rule::mbarrier_init_target}, where);
  if (address % 8) fault(MbarrierMisaligned{address}, where);
  if (arrivals < 1 || arrivals > Mbarrier::most_arrivals) fault(MbarrierArrivals{arrivals}, where);
  if (mbarriers_.count(address)) fault(MbarrierLive{place_of_mbarrier(address)}, where);
  if (options_.check) check_bounds(address, 8, Access::shared_store, pc);
  touch_mbarrier(address, Access::shared_store, pc);
  const auto& barrier = mbarriers_.emplace(address, WaitedMbarrier{Mbarrier(arrivals, where), current_lane()})
                            .first->second.barrier;
  const std::uint64_t bits = barrier.bits();
  std::memcpy(reinterpret_cast<void*>(address), &bits, sizeof(bits));
  if (options_.check) shared_.set_state(address, 8, ByteState::mbarrier);
}

void BlockRunner::mbarrier_inval(std::uintptr_t address, std::source_location where, std::uintptr_t pc) {
  const auto [owner, entry] = find_mbarrier(address, "mbarrier.inval", where);
  if (owner != this) fault(RuleBroken{Rule::mbarrier_inval_of_other_block}, where);
  if (!entry->waiting.empty()) fault(MbarrierAwaited{place_of_mbarrier(address)}, where);
  touch_mbarrier(address, Access::shared_store, pc);
  mbarriers_.erase(address);
  if (options_.check) shared_.set_state(address, 8, ByteState::unwritten);
}

void BlockRunner::fence_mbarrier_init() {
  for (auto& [address, entry] : mbarriers_) entry.fenced |= entry.by == current_lane();
}

// Writes the new state to shared memory, and wakes those whose phase it ends.
void BlockRunner::update_mbarrier(std::uintptr_t address, WaitedMbarrier& entry) {
  cluster_.changed();
  if (entry.barrier.end_phase_if_due())
    std::erase_if(entry.waiting, [&](Lane* lane) {
      if (!entry.barrier.is_complete(lane->mbarrier_wait.parity)) return false;
      set_ready(*lane->warp, lane->bit());
      return true;
    });
  const std::uint64_t bits = entry.barrier.bits();
  std::memcpy(reinterpret_cast<void*>(address), &bits, sizeof(bits));
}

void BlockRunner::mbarrier_arrive(std::uintptr_t address, unsigned arrivals, unsigned bytes, std::source_location where,
                                  std::uintptr_t pc) {
  const auto [owner, entry] = find_mbarrier(address, arrivals ? "mbarrier.arrive" : "mbarrier.expect_tx", where);
  touch_mbarrier(address, Access::shared_atomic, pc);
  std::optional<MbarrierRefuses> refused;
  if (bytes) refused = entry->barrier.expect(bytes);
  if (!refused && arrivals) refused = entry->barrier.arrive(arrivals);
  if (refused) {
    refused->mbarrier = owner->place_of_mbarrier(address);
    fault(*refused, where);
  }
  if (races_) {
    const unsigned self = party(*current_lane()->warp);
    races_->release(self, entry->barrier.arrived);
    // Of a release the interval that it ended is known to others.
    if (owner != this) cluster_.reach(*owner, self, entry->barrier.arrived[self], pc);
  }
  owner->update_mbarrier(address, *entry);
  // What was released too early is used before the thread comes to it.
  if (options_.seed && random_() % 4 == 0) suspend(*current_lane(), LaneState::ready);
}

bool BlockRunner::mbarrier_wait(std::uintptr_t address, unsigned parity, bool may_suspend, std::source_location where,
                                std::uintptr_t pc) {
  Lane& lane = *current_lane();
  const char* const instruction = may_suspend ? "mbarrier.try_wait" : "mbarrier.test_wait";
  auto [owner, entry] = find_mbarrier(address, instruction, where);
  if (owner != this) fault(MbarrierOfOtherBlock{instruction}, where);
  if (parity > 1) fault(MbarrierParity{instruction, parity}, where);
  touch_mbarrier(address, Access::shared_atomic, pc);
  if (!entry->barrier.is_complete(parity)) {
    lane.where = where;
    lane.mbarrier_wait = {address, parity};
    // try_wait may give up after a time that the machine chooses.
    const bool gives_up = options_.seed && random_() % 4 == 0;
    if (may_suspend && !gives_up) {
      entry->waiting.push_back(&lane);
      suspend(lane, LaneState::at_mbarrier);
    } else {
      suspend(lane, LaneState::polling);
    }
    entry = find_mbarrier(address, instruction, where).second;
    if (!entry->barrier.is_complete(parity)) return false;
  }
  if (races_) {
    leave(&lane);
    find_races(*lane.warp);
    races_->acquire(party(*lane.warp), entry->barrier.completed);
  }
  return true;
}

// ---------------------------------------------------------------------------------------------------- registers,
// fences

void BlockRunner::complete_async(Warp& warp, Collective kind, std::uint32_t lanes) {
  const Lane& any = *warp.lanes[static_cast<unsigned>(std::countr_zero(lanes))];
  if (kind == Collective::elect) {
    // Which one is the machine's choice, the same for the same lanes.
    std::uint32_t candidates = lanes;
    if (options_.seed) {
      const std::uint64_t hash = (options_.seed + lanes) * 0x9e3779b97f4a7c15u >> 32;
      for (auto skip = hash % static_cast<unsigned>(std::popcount(lanes)); skip; --skip) candidates &= candidates - 1;
    }
    const auto leader = static_cast<unsigned>(std::countr_zero(candidates));
    for (Lane* const lane : warp.lanes)
      if (lane && lanes & lane->bit()) lane->result = lane->lane == leader;
    return;
  }
  const auto wanted = static_cast<unsigned>(any.operand);
  const bool increase = any.width != 0;
  if (increase ? wanted < warp.registers : wanted > warp.registers)
    fault(RegisterDirection{increase, wanted, warp.registers}, any.where);
  warp.wanted_registers = wanted;
  if (increase) {
    grant_registers(warp);
    return;
  }
  free_registers_ += (warp.registers - wanted) * 32;
  warp.registers = wanted;
  for (unsigned i = 0; i < warps_; ++i)
    if (all_warps_[i].wanted_registers > all_warps_[i].registers && grant_registers(all_warps_[i]))
      for (Lane* const lane : all_warps_[i].lanes)
        if (lane && lane->state == LaneState::at_registers) set_ready(all_warps_[i], lane->bit());
}

bool BlockRunner::grant_registers(Warp& warp) {
  const unsigned missing = (warp.wanted_registers - warp.registers) * 32;
  if (missing > free_registers_) return false;
  free_registers_ -= missing;
  warp.registers = warp.wanted_registers;
  return true;
}

void BlockRunner::setmaxnreg(unsigned registers, bool increase, std::source_location where) {
  Lane& lane = *current_lane();
  if (registers < 24 || registers > 256 || registers % 8) fault(RegisterCount{registers}, where);
  lane.operand = static_cast<int>(registers);
  lane.width = increase;
  collective(Collective::registers, 0xffffffffu, where);
  while (lane.warp->registers != lane.warp->wanted_registers) suspend(lane, LaneState::at_registers);
}

void BlockRunner::fence_proxy_async() {
  if (!races_) return;
  Lane& lane = *current_lane();
  hand_over(lane);
  lane.fences.push_back(races_->end_interval(party(*lane.warp)));
}

// ---------------------------------------------------------------------------------------------------- bulk copies

void BlockRunner::bulk_load(BulkCopy&& copy, std::uint32_t targets) {
  if (targets >> cluster_.size()) fault(Multicast{targets, cluster_.size()}, copy.where);
  count_copy(copy, static_cast<unsigned>(std::popcount(targets)));
  for (; targets; targets &= targets - 1) {
    const auto rank = static_cast<unsigned>(std::countr_zero(targets));
    BulkCopy one = copy;
    one.owner = &cluster_.block(rank);
    one.mbarrier = map_to_rank(copy.mbarrier, rank, copy.where);
    for (BulkCopy::Chunk& chunk : one.chunks)
      chunk.shared = reinterpret_cast<unsigned char*>(map_to_rank(address_of(chunk.shared), rank, copy.where));
    const auto [owner, barrier] = find_mbarrier(one.mbarrier, "bulk copy to the barrier", copy.where);
    if (!barrier->fenced) fault(MbarrierNotFenced{owner->place_of_mbarrier(one.mbarrier)}, copy.where);
    record_copy(one);
    std::uint64_t& copying = one.owner->bulk_copying_;
    copying += one.bytes();
    one.owner->most_bulk_copying_ = std::max(one.owner->most_bulk_copying_, copying);
    if (races_) cluster_.reach(*one.owner, one.mark.party, one.mark.interval, copy.pc);
    cluster_.copies().issue(std::move(one));
  }
}

void BlockRunner::bulk_store(BulkCopy&& copy) {
  copy.owner = this;
  copy.group = current_lane()->bulk_group;
  count_copy(copy, 1);
  record_copy(copy);
  cluster_.copies().issue(std::move(copy));
}

void BlockRunner::record_copy(BulkCopy& copy) {
  const bool load = copy.kind == BulkKind::load;
  if (options_.check) {
    for (const auto& [shared, global, first, end] : copy.chunks) {
      check_bounds(address_of(shared), 16, load ? Access::async_issue : Access::shared_load, copy.pc);
      if (end > first)
        check_bounds(address_of(global) + first, end - first, load ? Access::bulk_load : Access::bulk_store, copy.pc);
      copy.owner->shared_.set_state(address_of(shared), 16, load ? ByteState::in_flight : ByteState::reading);
    }
  }
  if (!races_) return;
  Lane& lane = *current_lane();
  hand_over(lane);
  if (!load)
    for (const BulkCopy::Chunk& chunk : copy.chunks) check_fence(address_of(chunk.shared), 16, copy.kind, copy.pc);
  copy.mark = races_->begin_copy(load ? copy.mbarrier : address_of(&lane));
  const auto add = [&](const Event& event) {
    if (const auto race = races_->add_copy(thread_of_cluster(lane), copy.mark, event)) fault_race(*race);
  };
  for (const auto& [shared, global, first, end] : copy.chunks) {
    add(Event(address_of(shared), 16, load ? Access::async_issue : Access::shared_load, copy.pc));
    if (end > first && copy.kind != BulkKind::add)
      add(Event(address_of(global) + first, end - first, load ? Access::bulk_load : Access::bulk_store, copy.pc));
  }
}

// Threads run one after the other here, and at the same time on a GPU: what each of them has on its way adds up.
void BlockRunner::record_flight() {
  std::uint64_t bytes = most_bulk_copying_;
  for (unsigned i = 0; i < threads_; ++i) bytes += lanes_[i].most_copying;
  sites_.bytes_in_flight = std::max(sites_.bytes_in_flight, bytes);
}

void BlockRunner::count_copy(const BulkCopy& copy, unsigned blocks) {
  if (!options_.count) return;
  std::vector<std::uintptr_t> sectors;
  std::uint64_t bytes = 0;
  std::uintptr_t any = 0;
  for (const auto& [shared, global, first, end] : copy.chunks) {
    if (end <= first) continue;
    any = address_of(global) + first;
    bytes += end - first;
    for (std::uintptr_t sector = any / 32; sector <= (address_of(global) + end - 1) / 32; ++sector)
      if (sectors.empty() || sectors.back() != sector) sectors.push_back(sector);
  }
  // Boxes go through a tensor in its order.
  if (!std::is_sorted(sectors.begin(), sectors.end())) std::sort(sectors.begin(), sectors.end());
  sectors.erase(std::unique(sectors.begin(), sectors.end()), sectors.end());
  std::uint64_t lines = 0;
  for (std::size_t i = 0; i < sectors.size(); ++i) lines += i == 0 || sectors[i] / 4 != sectors[i - 1] / 4;
  const Access kind = copy.kind == BulkKind::load ? Access::bulk_load : Access::bulk_store;
  SiteCounters& site = sites_.memory[SiteKey(copy.pc, any ? memory_at(any) : 0, 16, kind).bits()];
  site.instructions += sample_.weight;
  site.lanes += sample_.weight;
  site.units += sectors.size() * sample_.weight;
  site.lines += lines * sample_.weight;
  site.minimum += ceil_div(bytes, std::uint64_t{32}) * sample_.weight;
  site.distinct_bytes += bytes * sample_.weight;
  site.shared_bytes += copy.bytes() * blocks * sample_.weight;
  site.multicast_bytes += bytes * (blocks - 1) * sample_.weight;
}

void BlockRunner::check_fence(std::uintptr_t address, unsigned bytes, std::optional<BulkKind> reader,
                              std::uintptr_t pc) {
  const unsigned self = party(*current_lane()->warp);
  for (unsigned byte = 0; byte < bytes; byte += 2) {
    const auto writer = races_->writer(address + byte);
    if (!writer) continue;
    BlockRunner& block = cluster_.block(writer->thread / LaunchLimits::threads);
    const Lane& lane = block.lanes_[writer->thread % LaunchLimits::threads];
    const auto fence = std::lower_bound(lane.fences.begin(), lane.fences.end(), writer->interval);
    if (fence != lane.fences.end() && races_->knows(self, block.party(*lane.warp), *fence)) continue;
    fault(FenceMissing{reader, lane.index, source_line(writer->pc)}, pc);
  }
}

void BlockRunner::record_wgmma_read(const RaceDetector::Copy& mark, std::uintptr_t chunk, std::uintptr_t pc) {
  const unsigned warp = current_lane()->warp->id;
  const auto race = races_->add_copy(rank_ * LaunchLimits::threads + warp * 32, mark,
                                     Event(chunk, 16, Access::shared_load, pc));
  if (race) fault_race(*race);
  check_fence(chunk, 16, std::nullopt, pc);
}

void BlockRunner::arrive_copy(const BulkCopy& copy) {
  bulk_copying_ -= copy.bytes();
  if (options_.check)
    for (const BulkCopy::Chunk& chunk : copy.chunks)
      shared_.set_state(address_of(chunk.shared), 16, ByteState::written);
  const auto found = mbarriers_.find(copy.mbarrier);
  if (found == mbarriers_.end()) fault(MbarrierGone{copy.kind}, copy.where);
  if (races_) RaceDetector::end_copy(copy.mark, found->second.barrier.arrived);
  if (const auto refused = found->second.barrier.expect(-static_cast<std::int64_t>(copy.bytes())))
    fault(*refused, copy.where);
  update_mbarrier(copy.mbarrier, found->second);
}

void BlockRunner::bulk_wait(unsigned pending, bool read, std::source_location where) {
  Lane& lane = *current_lane();
  CopyEngine& copies = cluster_.copies();
  lane.bulk_wait = {lane.bulk_group > pending ? lane.bulk_group - pending : 0, read};
  if (!copies.is_complete(lane, lane.bulk_wait.group, read)) {
    lane.where = where;
    suspend(lane, LaneState::at_bulk_group);
  }
  for (const BulkCopy& copy : copies.release(lane, lane.bulk_wait.group)) {
    if (races_) races_->end_copy(copy.mark, party(*lane.warp));
    if (!options_.check) continue;
    const bool others = copies.reads(*this);
    for (const BulkCopy::Chunk& chunk : copy.chunks) {
      const bool still_read = others && copies.at(address_of(chunk.shared));
      shared_.set_state(address_of(chunk.shared), 16, still_read ? ByteState::reading : ByteState::written);
    }
  }
}

void BlockRunner::wake_bulk_wait(Lane& lane) {
  if (lane.state == LaneState::at_bulk_group &&
      cluster_.copies().is_complete(lane, lane.bulk_wait.group, lane.bulk_wait.read))
    set_ready(*lane.warp, lane.bit());
}

void BlockRunner::check_exit() {
  if (const BulkCopy* const copy = cluster_.copies().unfinished(*this)) fault(BulkCopyAtExit{copy->kind}, copy->where);
  for (const auto& [address, entry] : mbarriers_)
    if (entry.barrier.transactions() != 0) fault(MbarrierPendingAtExit{entry.barrier.state()}, entry.barrier.where());
}

// ---------------------------------------------------------------------------------------------------- clusters

std::uintptr_t BlockRunner::map_to_rank(std::uintptr_t address, unsigned rank, std::source_location where) {
  if (rank >= cluster_.size()) fault(MapRank{rank, cluster_.size()}, where);
  if (rank == rank_) return address;
  if (!shared_.in_arena(address)) fault(RuleBroken{Rule::map_source}, where);
  return address - address_of(shared_.dynamic()) + address_of(cluster_.block(rank).shared_.dynamic());
}

bool BlockRunner::cluster_access(std::uintptr_t address, unsigned bytes, Access access, std::uintptr_t pc) {
  BlockRunner* const owner = cluster_.owner(address, *this);
  if (!owner || owner == this) return false;
  if (owner->live_ == 0) fault(ExitedBlockAccess{owner->rank_}, pc);
  check_alignment(address, bytes, bytes, access, pc);
  if (options_.check) check_bounds(address, bytes, access, pc);
  if (races_) {
    const unsigned self = party(*current_lane()->warp);
    cluster_.reach(*owner, self, races_->interval(self), pc);
  }
  if (recorder.next == recorder.end) grow_log();
  *recorder.next++ = Event(address, bytes, access, pc);
  return true;
}

}  // namespace lapidary::emulator
