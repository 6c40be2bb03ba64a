#include "emulator/register_pool.hpp"

#include <algorithm>

#include "core/math.hpp"
#include "emulator/fault_stop.hpp"
#include "emulator/scheduler.hpp"

namespace lapidary::emulator {
namespace {

constexpr unsigned register_file = 64 * 1024;

// What ptxas gives each thread at most, so that the block fits: warps are placed in fours.
unsigned registers_at_entry(unsigned threads) {
  return std::min(255u, register_file / round_up(threads, 128u) / 8 * 8);
}

}  // namespace

void RegisterPool::begin() {
  shares_.fill({registers_at_entry(scheduler_.threads()), 0});
  free_ = 0;
}

void RegisterPool::check(unsigned registers, CallSite where) {
  if (registers < 24 || registers > 256 || registers % 8) faults_.stop(RegisterCount{registers}, where);
}

void RegisterPool::set(Warp& warp, unsigned registers, bool increase, CallSite where) {
  Share& share = shares_[warp.id];
  if (increase ? registers < share.registers : registers > share.registers)
    faults_.stop(RegisterDirection{increase, registers, share.registers}, where);
  share.wanted = registers;
  if (increase) {
    grant(share);
    return;
  }
  free_ += (share.registers - registers) * 32;
  share.registers = registers;
  for (unsigned i = 0; i < scheduler_.warps(); ++i) {
    if (shares_[i].wanted <= shares_[i].registers || !grant(shares_[i])) continue;
    for (Lane* const lane : scheduler_.warp(i).lanes)
      if (lane && lane->state == LaneState::at_registers) scheduler_.set_ready(*lane);
  }
}

bool RegisterPool::grant(Share& share) {
  const unsigned missing = (share.wanted - share.registers) * 32;
  if (missing > free_) return false;
  free_ -= missing;
  share.registers = share.wanted;
  return true;
}

void RegisterPool::wait() {
  Lane& lane = *running;
  const Share& share = shares_[lane.warp->id];
  while (share.registers != share.wanted) scheduler_.suspend(lane, LaneState::at_registers);
}

Wait RegisterPool::wait_of(const Lane& lane) const {
  const Share& share = shares_[lane.warp->id];
  return RegisterWait{share.registers, share.wanted, free_};
}

}  // namespace lapidary::emulator
