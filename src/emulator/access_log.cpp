#include "emulator/access_log.hpp"

#include <algorithm>
#include <bit>

#include "emulator/access_counter.hpp"
#include "emulator/block.hpp"
#include "emulator/machine.hpp"
#include "emulator/race_checker.hpp"
#include "emulator/scheduler.hpp"

namespace lapidary::emulator {
namespace {

// Events of a lane: room at first, and where it waits for the other lanes of its warp instead of taking ever more.
constexpr std::size_t first_log = 1024, full_log = 4096;

}  // namespace

AccessLog::AccessLog(const Options& options, Scheduler& scheduler, RaceChecker& races, AccessCounter& counter)
    : options_(options), scheduler_(scheduler), races_(races), counter_(counter) {}

void AccessLog::begin_launch(unsigned threads) {
  on_ = options_.count || options_.check;
  for (unsigned i = 0; on_ && i < threads; ++i)
    if (logs_[i].events.empty()) logs_[i].events.resize(first_log);
}

void AccessLog::begin(unsigned threads) {
  for (unsigned i = 0; i < threads; ++i) {
    logs_[i].logged = logs_[i].examined = 0;
    logs_[i].watches_registers = false;
  }
}

std::span<LaneLog> AccessLog::of(const Warp& warp) {
  return std::span(logs_).subspan(warp.id * 32, static_cast<std::size_t>(std::popcount(warp.all)));
}

void AccessLog::watch_registers(const Lane& lane) {
  logs_[lane.thread].watches_registers = true;
  if (&lane == running) recorder.watch_registers = true;
}

void AccessLog::grow() {
  Lane& lane = *running;
  LaneLog& log = logs_[lane.thread];
  if (log.events.size() >= full_log) {
    lane.block->check_time(log.events.back().pc);
    scheduler_.suspend(lane, LaneState::log_full);
    if (log.logged < log.events.size()) return;
  }
  // There is no end of the interval in sight, or lanes took different paths, which only its end can sort out.
  leave(lane);
  log.events.resize(log.events.size() * 2);
  enter(lane);
}

void AccessLog::flush(const Warp& warp) {
  races_.examine(warp);
  const std::span<LaneLog> logs = of(warp);
  if (options_.count) counter_.count_interval(warp.id, logs);
  for (LaneLog& log : logs) log.logged = log.examined = 0;
}

bool AccessLog::empty_full_logs() {
  bool any = false;
  for (unsigned i = 0; i < scheduler_.warps(); ++i) {
    Warp& warp = scheduler_.warp(i);
    std::uint32_t full = 0;
    for_each_bit(warp.alive, [&](unsigned lane) {
      if (warp.lanes[lane]->state == LaneState::log_full) full |= 1u << lane;
    });
    if (!full) continue;
    any = true;
    races_.examine(warp);
    const std::size_t done = options_.count ? counter_.count_in_step(warp.id, of(warp)) : ~std::size_t{0};
    for (LaneLog& log : of(warp)) {
      const std::size_t gone = std::min(done, log.logged);
      std::copy(log.events.begin() + static_cast<std::ptrdiff_t>(gone),
                log.events.begin() + static_cast<std::ptrdiff_t>(log.logged), log.events.begin());
      log.logged -= gone;
      log.examined = log.logged;
    }
    scheduler_.set_ready(warp, full);
  }
  return any;
}

}  // namespace lapidary::emulator
