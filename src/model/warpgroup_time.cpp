#include "model/warpgroup_time.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/math.hpp"

namespace lapidary::model {
namespace {

/// What one tile takes of a multiprocessor, in cycles, if `active` multiprocessors share what all share.
struct TileCycles {
  double products, operands, added, l2, dram;
  double reading_c;  ///< in the epilogue, behind one way from DRAM

  double slowest() const { return std::max({std::max(products, operands) + added, l2, dram}); }
};

TileCycles cycles_of(const Gpu& gpu, const Calibration& k, const WarpgroupLaunch& launch, double active) {
  const double tiles = static_cast<double>(launch.tiles), share = gpu.sms / active;
  TileCycles cycles{};
  cycles.products = launch.flop / tiles / launch.flop_per_clk * k.wgmma_slowdown();
  cycles.operands = launch.operand_bytes / tiles / gpu.shared_bytes_per_clk;
  cycles.added = launch.added / tiles;
  const double l2_bytes = k.either("tensor_bytes_4", "l2_bytes_all") * share,
               port_bytes = k.either("tensor_bytes_one", "l2_bytes_one"),
               dram_bytes = std::min(k["dram_bytes_all"] * share, k["l2_bytes_one"]);
  cycles.l2 = std::max(launch.l2_read_bytes / tiles / l2_bytes, launch.l2_to_sm_bytes / tiles / port_bytes);
  cycles.dram = launch.dram_bytes / tiles / dram_bytes;
  if (launch.c_bytes > 0) {
    const double c = launch.c_bytes / tiles;
    const double lines = launch.c_lines > 0 ? launch.c_lines / tiles * k["l1_32_32_lines"] / 32 : 0;
    cycles.reading_c = std::max({c / std::min(k["l2_bytes_all"] * share, port_bytes), c / dram_bytes, lines});
  }
  return cycles;
}

}  // namespace

TimePrediction predict_time(const Gpu& gpu, const Calibration& calibration, const WarpgroupLaunch& launch,
                            double clock_hz) {
  const Calibration k = calibration.at_clock(clock_hz / gpu.clock_hz);
  TimePrediction time;
  time.clock_hz = clock_hz;
  const bool persistent = launch.tiles > launch.blocks;
  // A block that goes through several tiles leaves its place to no other.
  const std::int64_t places = std::int64_t{gpu.sms} * launch.per_sm;
  time.waves = waves(launch.tiles, 1, static_cast<int>(persistent ? std::min(launch.blocks, places) : places));
  time.launch_seconds = k["launch_gap"] * 1e-9;
  const double drain = k["dram_latency"], start = k["dram_latency"] + k["barrier_4"];
  const double tiles = static_cast<double>(launch.tiles);
  const double stored = launch.stored_lines > 0
                            ? launch.stored_lines * k.stored_line(launch.result_bytes / launch.stored_lines)
                            : launch.result_bytes / gpu.shared_bytes_per_clk;
  const double epilogue = stored / tiles;
  const std::int64_t full = launch.tiles / time.waves.per_wave, rest = launch.tiles % time.waves.per_wave;
  TimeParts parts;       // in cycles, until the end
  double reading_c = 0;  // likewise
  // Tiles of a wave lie on as many multiprocessors as there are. Blocks of one multiprocessor begin together and have
  // as much to do, so that their ends come at the same time, too, and none multiplies meanwhile.
  const auto wave = [&](std::int64_t tiles, double times, TileCycles& cycles) {
    const double active = static_cast<double>(std::min<std::int64_t>(tiles, gpu.sms));
    const double on_one = static_cast<double>(ceil_div<std::int64_t>(tiles, gpu.sms));
    cycles = cycles_of(gpu, k, launch, active);
    const double c = launch.c_bytes > 0 ? k["dram_latency"] + on_one * cycles.reading_c : 0;
    const double before = persistent ? 0 : start, shared = static_cast<double>(tiles) / gpu.sms;
    parts.products += times * shared * cycles.products;
    parts.idle += times * (on_one - shared) * cycles.products;
    parts.slower += times * on_one * (cycles.slowest() - cycles.products);
    parts.epilogues += times * (on_one * epilogue + c);
    parts.start_end += times * before;
    reading_c += times * c;
    return on_one * (cycles.slowest() + epilogue) + c + before;
  };
  TileCycles shown{}, last{};
  double cycles = drain + (persistent ? start : 0);
  parts.start_end = cycles;
  if (full > 0) cycles += static_cast<double>(full) * wave(time.waves.per_wave, static_cast<double>(full), shown);
  if (rest > 0) {
    const double tail = wave(rest, 1, last);
    cycles += tail;
    if (full > 0)
      time.tail_seconds = tail / clock_hz;
    else
      shown = last;
  }
  time.outside_seconds = (parts.epilogues + parts.start_end) / clock_hz;
  time.c_seconds = reading_c / clock_hz;
  time.seconds = cycles / clock_hz + time.launch_seconds;
  for (double* part : {&parts.products, &parts.slower, &parts.idle, &parts.epilogues, &parts.start_end})
    *part /= clock_hz;
  parts.launch = time.launch_seconds;
  time.parts = parts;
  // What a wave takes beside its slowest part keeps all of them idle.
  const double on_one = static_cast<double>(
      ceil_div<std::int64_t>(std::min(launch.tiles, time.waves.per_wave), gpu.sms));
  const double c = launch.c_bytes > 0 ? k["dram_latency"] / on_one + shown.reading_c : 0;
  const double whole = shown.slowest() + epilogue + c + (persistent ? 0 : start / on_one);
  time.busy = {{"tensor cores", shown.products / whole},
               {"operands from shared memory", shown.operands / whole},
               {"the way from L2", shown.l2 / whole},
               {"DRAM", shown.dram / whole}};
  std::stable_sort(time.busy.begin(), time.busy.end(), [](const auto& a, const auto& b) { return a.share > b.share; });
  hold_to_least(time, launch.least_seconds);
  time.limiter = time.launch_seconds > 0.5 * time.seconds ? "launch overhead" : time.busy.front().what;
  return time;
}

}  // namespace lapidary::model
