#include "emulator/named_barriers.hpp"

#include <bit>

#include "emulator/access_log.hpp"
#include "emulator/fault_stop.hpp"
#include "emulator/machine.hpp"
#include "emulator/race_checker.hpp"
#include "emulator/scheduler.hpp"
#include "emulator/symbols.hpp"

namespace lapidary::emulator {

NamedBarriers::NamedBarriers(const Options& options, Scheduler& scheduler, AccessLog& log, RaceChecker& races,
                             FaultStop& faults)
    : options_(options),
      scheduler_(scheduler),
      log_(log),
      races_(races),
      faults_(faults),
      results_(LaunchLimits::threads) {}

void NamedBarriers::begin() { barriers_ = {}; }

void NamedBarriers::check_number(unsigned id, CallSite where) {
  if (id >= barriers_.size()) faults_.stop(BarrierNumber{id}, where);
}

void NamedBarriers::check_expected(unsigned id, unsigned threads, CallSite where) {
  const Barrier& barrier = barriers_[id];
  if (barrier.arrived && barrier.expected != threads)
    faults_.stop(BarrierExpects{id, barrier.expected, threads}, where);
}

int NamedBarriers::sync(unsigned id, unsigned threads, int predicate, CallSite where) {
  Lane& lane = *running;
  check_number(id, where);
  if (threads % 32) faults_.stop(BarrierThreads{id, threads, false}, where);
  check_expected(id, threads, where);
  Barrier& barrier = barriers_[id];
  barrier.expected = threads;
  std::uint32_t& waiting = barrier.waiting[lane.warp->id];
  waiting |= lane.bit();
  ++barrier.arrived;
  // Where a number of threads is given, a warp counts as 32 of them, however many it has left (PTX ISA, "bar").
  if (threads && waiting == lane.warp->alive) barrier.arrived += 32 - static_cast<unsigned>(std::popcount(waiting));
  barrier.sum += predicate != 0;
  lane.where = where;
  if (options_.check) {
    // The instruction is .aligned: all lanes of a warp execute the same one.
    for_each_bit(waiting, [&](unsigned other) {
      const CallSite at = lane.warp->lanes[other]->where;
      if (at != where) faults_.stop(BarriersDiffer{lane.warp->id, other, lane.lane, source_line(at)}, where);
    });
  }
  if (barrier.arrived == (threads ? threads : scheduler_.live())) {
    lane.state = LaneState::at_barrier;
    complete(barrier);
  } else {
    scheduler_.suspend(lane, LaneState::at_barrier);
  }
  return results_[lane.thread];
}

void NamedBarriers::check_arrival(unsigned id, unsigned threads, CallSite where) {
  check_number(id, where);
  if (threads == 0 || threads % 32) faults_.stop(BarrierThreads{id, threads, true}, where);
}

void NamedBarriers::arrive(const Warp& warp, unsigned id, unsigned threads, CallSite where) {
  check_expected(id, threads, where);
  Barrier& barrier = barriers_[id];
  barrier.expected = threads;
  barrier.arrived += 32;  // a whole warp, however many lanes it has left
  races_.release(warp, barrier.clock);
  if (barrier.arrived == threads) complete(barrier);
}

void NamedBarriers::complete_if_due() {
  Barrier& barrier = barriers_[0];
  if (barrier.arrived && barrier.expected == 0 && barrier.arrived == scheduler_.live()) complete(barrier);
}

void NamedBarriers::complete(Barrier& barrier) {
  const unsigned warps = scheduler_.warps();
  if (log_.is_on()) {
    log_.leave(*running);
    for (unsigned i = 0; i < warps; ++i) {
      if (!barrier.waiting[i]) continue;
      log_.flush(scheduler_.warp(i));
      races_.release(scheduler_.warp(i), barrier.clock);
    }
    for (unsigned i = 0; i < warps; ++i)
      if (barrier.waiting[i]) races_.acquire(scheduler_.warp(i), barrier.clock);
    log_.enter(*running);
    if (faults_.has_put_off()) faults_.stop_put_off();
  }
  for (unsigned i = 0; i < warps; ++i) {
    Warp& warp = scheduler_.warp(i);
    for_each_bit(barrier.waiting[i], [&](unsigned lane) { results_[warp.lanes[lane]->thread] = barrier.sum; });
    scheduler_.set_ready(warp, barrier.waiting[i]);
  }
  barrier = {};
}

Wait NamedBarriers::wait_of(const Lane& lane) const {
  for (unsigned id = 0; id < barriers_.size(); ++id) {
    const Barrier& barrier = barriers_[id];
    if (barrier.waiting[lane.warp->id] & lane.bit())
      return BarrierWait{id, barrier.arrived, barrier.expected ? barrier.expected : scheduler_.live()};
  }
  return {};
}

}  // namespace lapidary::emulator
