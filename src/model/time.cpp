#include "model/time.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

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
  share.c_l1_hit = launch.c_l1_hit;
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
  time.l2 = std::min(1.0, time.l2 + l2 / time.cycles);
  time.dram = std::min(1.0, time.dram + dram / time.cycles);
  return time;
}

/// What reading C adds to the epilogues of a wave: those of all tiles that its blocks have.
double c_cycles(const Gpu& gpu, const Calibration& k, const KernelProgram& program, const TimedLaunch& launch,
                int per_sm, double active) {
  if (launch.c_bytes <= 0) return 0;
  const MultiprocessorConstants constants = k.multiprocessor(gpu, program.loop_bytes, per_sm * launch.warps_per_block);
  const MemoryShare share = memory_share(gpu, k, launch, active);
  const auto cycles_of = [&](const std::vector<SassInstruction>& epilogue) {
    return simulate({WarpProgram{1, {}, {}, epilogue}}, 1, launch.warps_per_block, per_sm, constants, share).cycles;
  };
  const std::int64_t parts = std::max(launch.tiles, launch.blocks);
  const double bytes = launch.c_bytes / static_cast<double>(parts) * per_sm;
  // A kernel may have its epilogue where no way from the main loop to the end of the code leads past it.
  const double dram = k["dram_latency"] + bytes / share.dram_bytes_per_cycle;
  const double longer = cycles_of(program.epilogue_with_c) - cycles_of(program.programs.front().epilogue);
  return std::max(dram, longer) * static_cast<double>(ceil_div(parts, launch.blocks));
}

/// What limits a main loop whose warps are simulated.
std::string loop_limiter(const BusyShare& busiest) {
  // What is busy less than that has time left: warps wait for each other or for answers.
  constexpr double saturated = 0.85;
  if (busiest.share >= saturated) return busiest.what;
  return fmt::format("latency (busiest: {})", busiest.what);
}

}  // namespace

std::string limiter_of(const TimePrediction& time, std::string main_loop) {
  const double loop = time.seconds - time.launch_seconds - time.outside_seconds;
  if (time.launch_seconds >= std::max(loop, time.outside_seconds)) return "launch overhead";
  return time.outside_seconds > loop ? outside_main_loop : std::move(main_loop);
}

void hold_to_least(TimePrediction& time, double least_seconds) {
  const double kernel = time.seconds - time.launch_seconds;
  if (kernel >= least_seconds) return;
  for (BusyShare& busy : time.busy) busy.share = busy.what == "DRAM" ? 1 : busy.share * kernel / least_seconds;
  std::stable_sort(time.busy.begin(), time.busy.end(), [](const auto& a, const auto& b) { return a.share > b.share; });
  time.seconds = least_seconds + time.launch_seconds;
  time.outside_seconds = time.c_seconds = 0;
  if (time.parts) time.parts->slower += least_seconds - kernel;
}

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
  const double iterations = program.iterations * longest(launch);
  double cycles = 0, outside = 0, reading_c = 0;
  // Waves that put so many blocks on each of so many multiprocessors; the cycles of one of them.
  const auto wave = [&](double times, int per_sm, double active, BlockTime& found) {
    found = time_of(gpu, k, program, launch, per_sm, active);
    const double c = c_cycles(gpu, k, program, launch, per_sm, active);
    cycles += times * (found.cycles + c);
    outside += times * (std::max(0.0, found.cycles - iterations * found.loop_cycles) + c);
    reading_c += times * c;
    return found.cycles + c;
  };
  BlockTime shown{}, last{};
  if (full > 0) wave(static_cast<double>(full), launch.occupancy.blocks, gpu.sms, shown);
  if (rest > 0) {
    const int per_sm = static_cast<int>((rest + gpu.sms - 1) / gpu.sms);
    const double tail = wave(1, per_sm, static_cast<double>(std::min<std::int64_t>(rest, gpu.sms)), last);
    if (full > 0)
      time.tail_seconds = tail / clock_hz;
    else
      shown = last;
  }
  time.outside_seconds = outside / clock_hz;
  time.c_seconds = reading_c / clock_hz;
  time.seconds = cycles / clock_hz + time.launch_seconds;
  time.busy = {{"issue slots", shown.issue},    {"the multiply-add pipe", shown.fma},
               {"shared memory", shown.shared}, {"L1's look-up of lines", shown.l1},
               {"the way from L2", shown.l2},   {"DRAM", shown.dram}};
  if (program.tensor) time.busy.push_back({"tensor cores", shown.tensor});
  std::stable_sort(time.busy.begin(), time.busy.end(), [](const auto& a, const auto& b) { return a.share > b.share; });
  hold_to_least(time, launch.least_seconds);
  time.limiter = limiter_of(time, loop_limiter(time.busy.front()));
  return time;
}

}  // namespace lapidary::model
