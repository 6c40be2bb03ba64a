#include "model/time.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/math.hpp"

namespace lapidary::model {
namespace {

/// What a wave that puts `per_sm` blocks on each of `active` multiprocessors finds of the memory that all share.
MemoryShare memory_share(const Gpu& gpu, const Calibration& k, const TimedLaunch& launch, double active) {
  const double sms = gpu.sms;
  MemoryShare share;
  // A multiprocessor alone is limited by its own port.
  share.l2_bytes_per_cycle = std::min(k["l2_bytes_one"], k["l2_bytes_all"] * sms / active);
  share.dram_bytes_per_cycle = std::min(k["l2_bytes_one"], k["dram_bytes_all"] * sms / active);
  share.l1_hit = launch.l1_hit;
  share.l2_hit = launch.l2_hit;
  return share;
}

/// What a block's share of the program's iterations is if it has as many tiles as any.
double longest(const TimedLaunch& launch) {
  if (launch.tiles <= launch.blocks) return 1;
  return static_cast<double>(ceil_div(launch.tiles, launch.blocks) * launch.blocks) / static_cast<double>(launch.tiles);
}

BlockTime time_of(const Gpu& gpu, const Calibration& k, const KernelProgram& program, const TimedLaunch& launch,
                  int per_sm, double active) {
  const MultiprocessorConstants constants = k.multiprocessor(gpu, program.loop_bytes, per_sm * launch.warps_per_block);
  const MemoryShare share = memory_share(gpu, k, launch, active);
  BlockTime time = simulate(program.programs, program.iterations * longest(launch), launch.warps_per_block, per_sm,
                            constants, share);
  const double copied = launch.copied_bytes / static_cast<double>(launch.blocks) * per_sm * longest(launch);
  const double l2 = copied / share.l2_bytes_per_cycle, dram = copied * (1 - launch.l2_hit) / share.dram_bytes_per_cycle;
  const double slower = std::max(1.0, std::max(l2, dram) / time.cycles);
  for (double* part : {&time.issue, &time.fma, &time.shared, &time.l1, &time.l2, &time.dram, &time.tensor})
    *part /= slower;
  time.cycles *= slower;
  time.loop_cycles *= slower;
  time.l2 += l2 / time.cycles;
  time.dram += dram / time.cycles;
  return time;
}

std::string limiter_of(const std::vector<BusyShare>& busy, const TimePrediction& time) {
  // What is busy less than that has time left: warps wait for each other or for answers.
  constexpr double saturated = 0.85;
  if (time.launch_seconds > 0.5 * time.seconds) return "launch overhead";
  if (busy.front().share >= saturated) return busy.front().what;
  return fmt::format("latency (busiest: {})", busy.front().what);
}

}  // namespace

TimePrediction predict_time(const Gpu& gpu, const Calibration& calibration, const KernelProgram& program,
                            const TimedLaunch& launch, double clock_hz) {
  if (launch.occupancy.blocks < 1)
    throw InvalidArgument(fmt::format("no block fits a multiprocessor of {}: {}", gpu.name, launch.occupancy.reason));
  const Calibration k = calibration.at_clock(clock_hz / gpu.clock_hz);
  TimePrediction time;
  time.clock_hz = clock_hz;
  const std::int64_t places = std::int64_t{gpu.sms} * launch.occupancy.blocks;
  time.waves = launch.tiles > launch.blocks ? waves(launch.tiles, 1, static_cast<int>(std::min(launch.blocks, places)))
                                            : waves(launch.blocks, gpu.sms, launch.occupancy.blocks);
  time.launch_seconds = k["launch_gap"] * 1e-9;
  const std::int64_t full = launch.blocks / places, rest = launch.blocks % places;
  double cycles = 0;
  BlockTime shown{};
  if (full > 0) {
    shown = time_of(gpu, k, program, launch, launch.occupancy.blocks, gpu.sms);
    cycles += static_cast<double>(full) * shown.cycles;
  }
  if (rest > 0) {
    const int per_sm = static_cast<int>((rest + gpu.sms - 1) / gpu.sms);
    const double active = static_cast<double>(std::min<std::int64_t>(rest, gpu.sms));
    const BlockTime tail = time_of(gpu, k, program, launch, per_sm, active);
    if (full > 0)
      time.tail_seconds = tail.cycles / clock_hz;
    else
      shown = tail;
    cycles += tail.cycles;
  }
  const double iterations = program.iterations * longest(launch);
  time.start_seconds = std::max(0.0, shown.cycles - iterations * shown.loop_cycles) / clock_hz;
  time.seconds = cycles / clock_hz + time.launch_seconds;
  time.busy = {{"issue slots", shown.issue},    {"the multiply-add pipe", shown.fma},
               {"shared memory", shown.shared}, {"L1's look-up of lines", shown.l1},
               {"the way from L2", shown.l2},   {"DRAM", shown.dram}};
  if (program.tensor) time.busy.push_back({"tensor cores", shown.tensor});
  std::stable_sort(time.busy.begin(), time.busy.end(), [](const auto& a, const auto& b) { return a.share > b.share; });
  time.limiter = limiter_of(time.busy, time);
  return time;
}

}  // namespace lapidary::model
