#include "emulator/race_checker.hpp"

#include <utility>

#include "emulator/access_checker.hpp"
#include "emulator/access_log.hpp"
#include "emulator/block.hpp"
#include "emulator/cluster.hpp"
#include "emulator/fault_stop.hpp"
#include "emulator/symbols.hpp"
#include "emulator/warpgroup.hpp"

namespace lapidary::emulator {

RaceChecker::RaceChecker(const BlockPlace& place, ClusterRunner& cluster, AccessLog& log, AccessChecker& checker,
                         const Warpgroups& warpgroups, FaultStop& faults)
    : place_(place),
      cluster_(cluster),
      races_(cluster.races()),
      log_(log),
      checker_(checker),
      warpgroups_(warpgroups),
      faults_(faults) {}

void RaceChecker::begin() {
  for (unsigned i = 0; i < place_.threads; ++i) {
    fences_[i].clear();
    told_by_[i].reset();
    put_off_[i].reset();
  }
}

// ---------------------------------------------------------------------------------------------------- accesses

void RaceChecker::examine(const Warp& warp) {
  if (!races_) return;
  for (const Lane* const lane : warp.lanes)
    if (lane) examine(*lane);
}

void RaceChecker::examine(const Lane& lane) {
  if (!races_) return;
  if (told_by_[lane.thread]) acquire_word(lane);
  if (const auto load = std::exchange(put_off_[lane.thread], std::nullopt)) add(lane, &*load, &*load + 1);
  LaneLog& log = log_.of(lane);
  if (log.examined == log.logged) return;
  const Event* const first = log.events.data() + log.examined;
  log.examined = log.logged;
  add(lane, first, log.events.data() + log.logged);
}

void RaceChecker::add(const Lane& lane, const Event* first, const Event* last) {
  if (const auto race = races_->add(thread_of_cluster(lane.thread), fences_of(lane), first, last)) stop(*race);
}

void RaceChecker::hand_over(const Lane& lane) {
  if (!races_) return;
  if (&lane == running) log_.leave(lane);
  examine(lane);
}

void RaceChecker::hand_over(const Warp& warp) {
  if (!races_) return;
  log_.leave(*running);
  examine(warp);
}

void RaceChecker::touch(const Event& event) {
  if (!races_) return;
  hand_over(*running);
  add(*running, &event, &event + 1);
}

void RaceChecker::put_off(const Event& load) {
  if (!races_) return;
  hand_over(*running);
  put_off_[running->thread] = load;
}

void RaceChecker::acquire_word(const Lane& lane) {
  const Event& read = *told_by_[lane.thread];
  races_->acquire_word(party(*lane.warp), read.address(), is_global(read.access()));
  told_by_[lane.thread].reset();
}

void RaceChecker::forgive_guess(const Event& compare) {
  if (!races_) return;
  std::optional<Event>& load = put_off_[running->thread];
  if (load && load->address() == compare.address()) load.reset();
  log_.leave(*running);
  LaneLog& log = log_.of(*running);
  // What is compared may be computed from other loads, which come between.
  std::size_t guess = log.logged;
  while (guess > log.examined && !is_write(log.events[guess - 1].access())) {
    if (log.events[--guess].address() != compare.address()) continue;
    const std::size_t end = std::exchange(log.logged, guess);
    examine(*running);
    log.examined = guess + 1;
    log.logged = end;
    return;
  }
}

void RaceChecker::touch_strong(const Event& event) {
  if (!races_) return;
  hand_over(*running);
  if (const auto race = races_->add_strong(thread_of_cluster(running->thread), fences_of(*running), event)) stop(*race);
  if (is_write(event.access())) races_->release_word(party(*running->warp), event.address(), is_global(event.access()));
}

void RaceChecker::check_read_only(std::uintptr_t address, unsigned bytes, std::uintptr_t pc) {
  if (!races_) return;
  hand_over(*running);
  checker_.check_global_bounds(address, bytes, Access::global_load, pc);
  if (const auto written = races_->global_writer(address, bytes))
    faults_.stop(WrittenReadOnly{bytes, checker_.place_of(address, true).allocation, source_line(*written)}, pc);
}

void RaceChecker::fence(bool device) {
  if (!races_) return;
  hand_over(*running);
  races_->fence(party(*running->warp), device);
}

void RaceChecker::fence_mbarriers() {
  if (!races_) return;
  hand_over(*running);
  races_->fence_mbarriers(party(*running->warp));
}

// A block's shared memory is its own from its beginning on (CUDA C++ Programming Guide, "Distributed Shared Memory").
// That is put off: accesses of that block which race with this one tell more.
void RaceChecker::check_begun(unsigned rank, std::uintptr_t pc) {
  if (!races_->knows_begun(party(*running->warp), rank)) faults_.put_off(BlockNotBegun{rank}, pc);
}

bool RaceChecker::knows(const Lane& other, std::uint32_t interval) const {
  if (!races_) return true;
  return races_->knows(party(*running->warp), running->lane, other.block->races().party(*other.warp), other.lane,
                       interval);
}

void RaceChecker::reach(unsigned rank, std::uintptr_t pc) {
  if (!races_) return;
  check_begun(rank, pc);
  const unsigned self = party(*running->warp);
  cluster_.reach(rank, self, races_->interval(self), pc);
}

void RaceChecker::reach(unsigned rank, const Clock& released, std::uintptr_t pc) {
  if (!races_) return;
  check_begun(rank, pc);
  const unsigned self = party(*running->warp);
  cluster_.reach(rank, self, released[self], pc);
}

void RaceChecker::reach(unsigned rank, const RaceDetector::Copy& copy, std::uintptr_t pc) {
  if (!races_) return;
  check_begun(rank, pc);
  cluster_.reach(rank, copy.party, copy.interval, pc);
}

void RaceChecker::touch_by_copy(const RaceDetector::Copy& copy, const Event& event) {
  if (const auto race = races_->add_copy(thread_of_cluster(running->thread), copy, event)) stop(*race);
}

void RaceChecker::touch_by_wgmma(const RaceDetector::Copy& product, std::uintptr_t chunk, std::uintptr_t pc) {
  const auto race = races_->add_copy(thread_of_cluster(running->warp->id * 32), product,
                                     Event(chunk, 16, Access::shared_load, pc));
  if (race) stop(*race);
  check_fence(chunk, 16, std::nullopt, pc);
}

void RaceChecker::stop(const Race& race) {
  const auto side = [&](const Event& event, unsigned thread, bool copy, bool several_lanes = false) {
    using Who = RaceFound::Who;
    const Extent3& block = place_.shape.block;
    const unsigned rank = thread / LaunchLimits::threads, t = thread % LaunchLimits::threads;
    RaceFound::Side side{.who = several_lanes                     ? Who::lanes
                                : !copy                           ? Who::thread
                                : warpgroups_.issued_at(event.pc) ? Who::wgmma
                                                                  : Who::bulk_copy,
                         .thread = {t % block.x, t / block.x % block.y, t / block.x / block.y},
                         .block = {},
                         .write = is_write(event.access()),
                         .line = source_line(event.pc)};
    if (rank != place_.rank) side.block = cluster_.block(rank).place().index;
    return side;
  };
  faults_.stop(RaceFound{checker_.place_of(race.second.address(), is_global(race.second.access())),
                         side(race.first, race.first_thread, race.first_copy, race.several_lanes),
                         side(race.second, race.second_thread, race.second_copy), race.other_cluster});
}

// ---------------------------------------------------------------------------------------------------- proxy fences

void RaceChecker::fence_proxy() {
  if (!races_) return;
  hand_over(*running);
  fences_[running->thread].push_back(interval());
}

void RaceChecker::check_fence(std::uintptr_t address, unsigned bytes, std::optional<BulkKind> by, std::uintptr_t pc) {
  races_->for_each_writer(address, bytes, [&](const RaceDetector::Writer& writer) {
    BlockRunner& block = cluster_.block(writer.thread / LaunchLimits::threads);
    const Lane& lane = block.scheduler().lane(writer.thread % LaunchLimits::threads);
    if (!knows(lane, writer.interval)) return;  // a race, which tells more
    const std::vector<std::uint32_t>& fences = block.races().fences_[lane.thread];
    if (writer.fences < fences.size() && knows(lane, fences[writer.fences])) return;
    faults_.stop(FenceMissing{by, lane.index, source_line(writer.pc)}, pc);
  });
}

}  // namespace lapidary::emulator
