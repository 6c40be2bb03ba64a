#include "lens/prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/math.hpp"
#include "lens/compiled_accesses.hpp"
#include "model/calibration.hpp"
#include "model/l2_traffic.hpp"
#include "model/warpgroup_time.hpp"

namespace lapidary::lens {
namespace {

using emulator::Access;
using emulator::AccessSite;
using model::InstructionClass;

bool reads_c(const AccessSite& site) { return site.memory == "C" && !is_write(site.access); }

/// Costs of accesses as the compiler merges them, averaged by kind and width: of reads of C, or of all others.
class Costs {
 public:
  Costs(const Observation& observation, bool of_c) : of_c_(of_c) {
    add(sums_, observation.compiled);
    add(written_, observation.written);
  }

  model::AccessCost operator()(InstructionClass kind, int bytes) const {
    for (const Sums* sums : {&sums_, &written_}) {
      const auto found = sums->find({kind, bytes});
      if (found != sums->end()) return found->second.average();
    }
    // Of what ptxas has split, each part takes its share: a matrix of ldmatrix as words of its own has as many lanes
    // that meet in a bank.
    const auto wider = written_.upper_bound({kind, bytes});
    if (wider != written_.end() && wider->first.first == kind) {
      const model::AccessCost whole = wider->second.average();
      const double share = static_cast<double>(bytes) / wider->first.second;
      return {.passes = std::max(1.0, whole.passes * share), .sectors = whole.sectors * share};
    }
    // What the emulated machine did not see is done by few threads, if at all.
    return {.passes = static_cast<double>(ceil_div(bytes, 4)), .sectors = static_cast<double>(bytes)};
  }

 private:
  struct Sum {
    double instructions = 0, passes = 0, sectors = 0;
    model::AccessCost average() const { return {.passes = passes / instructions, .sectors = sectors / instructions}; }
  };
  using Sums = std::map<std::pair<InstructionClass, int>, Sum>;

  void add(Sums& sums, const emulator::Report& report) const {
    for (const AccessSite& site : report.sites) {
      if (reads_c(site) != of_c_) continue;
      Sum& sum = sums[{class_of(site.access), site.bytes}];
      sum.instructions += static_cast<double>(site.instructions);
      sum.passes += static_cast<double>(is_global(site.access) ? site.lines : site.units);
      sum.sectors += is_global(site.access) ? static_cast<double>(site.units) : 0;
    }
  }

  bool of_c_;
  Sums sums_;     ///< neighbours merged
  Sums written_;  ///< for widths that nothing was merged from
};

/// How many sectors blocks touch that read a matrix once, each so many of its lines, if `whole`, and otherwise so many
/// neighbours of every line. Where a line begins in a sector repeats itself after 32 of them at the latest.
double sectors_of_blocks(const MatrixShape& x, int of_each, bool whole) {
  const std::int64_t size = size_of(x.type), pitch = x.ld * size, piece = whole ? x.length() : of_each;
  constexpr std::int64_t sector = 32, period = 32;
  double sectors = 0;
  for (std::int64_t begin = 0; begin < x.length(); begin += piece)
    for (std::int64_t line = 0; line < std::min(x.lines(), period); ++line) {
      const std::int64_t first = line * pitch + begin * size,
                         last = first + std::min(piece, x.length() - begin) * size - 1;
      const auto alike = static_cast<double>(ceil_div(x.lines() - line, period));
      sectors += alike * static_cast<double>(last / sector - first / sector + 1);
      // The next line of the same block may begin where this one ends.
      if (last / sector == (first + pitch) / sector) sectors -= whole ? alike * (1 - 1.0 / of_each) : alike;
    }
  return sectors;
}

/// The share of loaded sectors that L1 holds: all but the first touch of each sector that a block's tiles consist of.
double l1_hit_of(const Explanation& e) {
  const Problem p = resolved(e.question.problem);
  const TileShape& tile = e.question.kernel->tile;
  const auto down = static_cast<double>(ceil_div<std::int64_t>(p.M, tile.m)),
             across = static_cast<double>(ceil_div<std::int64_t>(p.N, tile.n));
  const double products = static_cast<double>(e.observation.tiles) / (down * across);
  const double first = products *
                       (across * sectors_of_blocks(shape_of(p, Matrix::A), tile.m, p.kind.a == Order::row_major) +
                        down * sectors_of_blocks(shape_of(p, Matrix::B), tile.n, p.kind.b == Order::column_major));
  double sectors = 0;
  for (const AccessSite& site : e.observation.written.sites)
    if (site.access == Access::global_load && site.memory != "C") sectors += static_cast<double>(site.units);
  return sectors > 0 ? std::max(0.0, 1 - first / sectors) : 0;
}

/// What a launch asks for of C.
struct ReadsOfC {
  double bytes = 0;  ///< that C has
  double sectors = 0, lines = 0;
  double multicast_bytes = 0;

  /// The share of those sectors that L1 holds: all but the first touch of each.
  double l1_hit() const { return sectors > 0 ? std::max(0.0, 1 - bytes / 32 / sectors) : 0; }
};

ReadsOfC reads_of_c(const Explanation& e) {
  const Problem& p = e.question.problem;
  ReadsOfC reads;
  if (!p.reads_c()) return reads;
  reads.bytes = static_cast<double>(p.M) * static_cast<double>(p.N) * size_of(p.kind.result);
  for (const AccessSite& site : e.observation.written.sites) {
    if (!reads_c(site) || !is_global(site.access)) continue;
    reads.sectors += static_cast<double>(site.units);
    reads.multicast_bytes += static_cast<double>(site.multicast_bytes);
    if (!is_bulk(site.access)) reads.lines += static_cast<double>(site.lines);
  }
  return reads;
}

/// What L2 and DRAM have to do if so many blocks are on each multiprocessor.
model::RasterTraffic traffic_of(const Explanation& e, int per_sm, bool with_c) {
  const Question& q = e.question;
  model::GemmShape gemm = q.gemm();
  gemm.reads_c &= with_c;
  const Extent3& cluster = e.observation.launch.cluster;
  const auto [rows, cols] = tiles_of(*q.kernel, q.problem.M, q.problem.N);
  // Tiles of several sizes are taken for tiles of one.
  model::Visits visits{q.kernel->order.tiles
                           ? model::visiting_order(rows, cols, {model::Raster::grouped, rows_of_several_sizes})
                           : order_by_cluster(*q.kernel, e.observation.launch, q.problem.M, q.problem.N),
                       1, q.kernel->order.there_and_back};
  if (e.observation.written.total.bulk_load.multicast_bytes > 0)
    visits.cluster = static_cast<int>(cluster.x * cluster.y * cluster.z);
  const std::int64_t resident = std::min(std::int64_t{q.gpu.sms} * std::max(1, per_sm), e.observation.blocks);
  return model::simulate_l2(gemm, q.kernel->tile, visits, {resident, q.gpu.l2_bytes_shared()});
}

/// mma.sync does not reach the peak of tensor cores that have wgmma, by its short form less than by the other
/// (Calibration::mma_share).
Peak peak_of(const Explanation& e) {
  const emulator::Counters& total = e.observation.written.total;
  const model::Gpu& gpu = e.question.gpu;
  const Type type = e.question.kernel->kind.type;
  const double tensor = model::tensor_peak(gpu, model::tensor_flop_per_clk(gpu, type));
  if (total.wgmma.instructions > 0) {
    const bool there = e.question.rung->runs_on(gpu.compute_capability, e.question.kernel->kind);
    return {fmt::format("wgmma {}", name_of(type)), there ? tensor : 0};
  }
  if (total.mma.instructions == 0) return {"f32", model::ceilings(gpu).f32_flops};
  const double multiply_adds = static_cast<double>(total.mma.flop) / 2 / static_cast<double>(total.mma.instructions);
  const bool short_form = size_of(type) == 2 && multiply_adds == 16 * 8 * 8;
  const std::string name = fmt::format("mma.sync {}{}", short_form ? "m16n8k8 " : "", name_of(type));
  if (tensor > 0 && !model::knows_mma_rate(gpu)) return {name, 0, false};
  bool measured = false;
  return {name, tensor * model::calibration_of(gpu, measured).mma_share(gpu, type, multiply_adds)};
}

/// The clock of a burst, the time at it, and what is held launch after launch.
/// @param time_at  a prediction at a clock
/// @param quick    that takes no time, so that clocks can be sought by it; otherwise all of a time is taken to go with
///                 the clock meanwhile, and seen again at the clock that was found
void hold_clocks(Explanation& e, bool tensor, const model::Activity& activity,
                 const std::function<model::TimePrediction(double)>& time_at, bool quick) {
  const model::Gpu& gpu = e.question.gpu;
  Power power;
  const auto model = model::power_of(gpu, power.own);
  if (!model) {
    e.time = time_at(gpu.clock_hz);
    return;
  }
  const double highest = tensor ? std::min(gpu.clock_hz, model->tensor_clock_hz()) : gpu.clock_hz;
  const model::TimePrediction first = time_at(highest);
  // How simulated warps take turns can jump with the clock; a launch takes no less at a lower one.
  const auto no_quicker = [&](double hz) {
    model::TimePrediction time = time_at(hz);
    time.seconds = std::max(time.seconds, first.seconds);
    return time;
  };
  const auto held = [&](model::Load load) {
    constexpr int most_looks = 8;
    model::TimePrediction seen = first;
    const auto seconds_at = [&](double hz) {
      if (quick) return time_at(hz).seconds;
      return seen.launch_seconds + (seen.seconds - seen.launch_seconds) * seen.clock_hz / hz;
    };
    model::HeldClock clock = model::held_clock(gpu, *model, activity, load, highest, seconds_at);
    for (int look = 1; !quick && look < most_looks && std::abs(clock.clock_hz / seen.clock_hz - 1) > 1e-3; ++look) {
      seen = no_quicker(clock.clock_hz);
      clock = model::held_clock(gpu, *model, activity, load, highest, seconds_at);
    }
    return clock;
  };
  power.burst = held(model::Load::burst);
  power.limit_w = gpu.power_limit_w;
  power.sustained = held(model::Load::sustained);
  e.time = power.burst.limited ? no_quicker(power.burst.clock_hz) : first;
  power.burst.seconds = e.time->seconds;
  power.joules = model->joules(activity, power.sustained.clock_hz);
  for (model::HeldClock* const clock : {&power.burst, &power.sustained})
    clock->watts = model->watts(activity, clock->seconds, clock->clock_hz);
  double sum = 0;
  for (const auto& [thing, joules] : power.joules) sum += joules;
  power.idle_joules = power.sustained.watts * power.sustained.seconds - sum;
  e.power = power;
}

/// Predicts the time of a kernel whose warpgroups multiply, by bounds, for which no machine code is needed. Returns why
/// there is no prediction, as the card has no room or no rate for it; nothing if there is one.
std::string predict_warpgroups(Explanation& e) {
  const Question& q = e.question;
  const emulator::Counters& total = e.observation.written.total;
  const model::Calibration calibration = model::calibration_of(q.gpu, e.own_calibration);
  const model::Occupancy occupancy = occupancy_of(e.question.gpu, e.observation.launch, e.compiled);
  if (e.compiled) e.occupancy = occupancy;
  if (occupancy.blocks < 1) return fmt::format("no block fits: {}", occupancy.reason);
  e.traffic = traffic_of(e, occupancy.blocks, true);
  const model::RasterTraffic without_c = q.problem.reads_c() ? traffic_of(e, occupancy.blocks, false) : *e.traffic;
  e.l2_hit = without_c.l2_to_sm_hit_rate;
  e.documented_rates = !calibration.has_tensor_cores();
  model::WarpgroupLaunch launch;
  launch.blocks = e.observation.blocks;
  // Of a tile that blocks share, each has a part.
  launch.tiles = std::max(e.observation.tiles, launch.blocks);
  launch.per_sm = occupancy.blocks;
  launch.flop = static_cast<double>(total.wgmma.flop);
  launch.flop_per_clk = model::tensor_flop_per_clk(q.gpu, q.kernel->kind.type);
  if (launch.flop_per_clk <= 0)
    return fmt::format("{} has no tensor cores for {}", q.gpu.name, to_string(q.kernel->kind));
  launch.operand_bytes = static_cast<double>(total.wgmma.shared_bytes);
  const ReadsOfC c = reads_of_c(e);
  launch.c_bytes = c.bytes;
  launch.c_lines = c.lines;
  launch.l2_read_bytes = 32.0 * (static_cast<double>(total.bulk_load.sectors + total.async_copy.sectors +
                                                     total.global_load.sectors) -
                                 c.sectors);
  launch.l2_to_sm_bytes = launch.l2_read_bytes + static_cast<double>(total.bulk_load.multicast_bytes) -
                          c.multicast_bytes;
  launch.dram_bytes = without_c.dram_bytes();
  launch.least_seconds = e.least.memory_seconds;
  launch.result_bytes = static_cast<double>(q.problem.M) * static_cast<double>(q.problem.N) *
                        size_of(q.kernel->kind.result);
  for (const AccessSite& site : e.observation.written.sites)
    if (site.access == Access::global_store) launch.stored_lines += static_cast<double>(site.lines);
  constexpr double schedulers = 4;
  if (e.compiled) {
    const model::InstructionMix pass = model::warpgroup_pass(*e.compiled);
    const double in_pass = pass[InstructionClass::tensor], m64 = 128;  // threads of a warpgroup
    // Four warps issue each wgmma.
    if (in_pass > 0)
      launch.added = pass[InstructionClass::other_float] / in_pass * static_cast<double>(total.wgmma.instructions) *
                     m64 / 32 / schedulers;
  }
  // An addition of 32 lanes of a scheduler's warp is taken for as many multiply-adds.
  const model::Activity activity{{fmt::format("wgmma {} flop", name_of(q.kernel->kind.type)), launch.flop},
                                 {"multiply-adds", launch.added * schedulers * 32},
                                 {"bytes of operands", launch.operand_bytes},
                                 {"bytes into shared memory", launch.l2_to_sm_bytes},
                                 {"bytes of DRAM", e.traffic->dram_bytes()}};
  const auto time_at = [&](double hz) {
    model::TimePrediction time = model::predict_time(q.gpu, calibration, launch, hz);
    time.limiter = limiter_of(time, time.busy.front().what);
    return time;
  };
  hold_clocks(e, true, activity, time_at, true);
  return {};
}

/// The first instruction of tensor cores that a card has none for; null if there is none.
const model::MachineInstruction* lacking_tensor_cores(const model::Gpu& gpu, const model::CompiledKernel& compiled) {
  const auto found = std::find_if(
      compiled.instructions.begin(), compiled.instructions.end(), [&](const model::MachineInstruction& i) {
        return i.kind == InstructionClass::tensor && model::tensor_flop_per_clk(gpu, i) <= 0;
      });
  return found == compiled.instructions.end() ? nullptr : &*found;
}

/// The same of any other kernel, by its machine code. What its warps execute is known also where no block fits.
std::string predict_warps(Explanation& e) {
  const Question& q = e.question;
  if (!e.compiled) return "there is no record of its machine code (script/compiled writes one)";
  const int threads = e.observation.threads(), warps = ceil_div(threads, 32);
  const emulator::Counters& total = e.observation.written.total;
  e.occupancy = occupancy_of(e.question.gpu, e.observation.launch, e.compiled);
  e.l1_hit = l1_hit_of(e);
  const model::RasterTraffic traffic = traffic_of(e, e.occupancy->blocks, true);
  e.l2_hit = (q.problem.reads_c() ? traffic_of(e, e.occupancy->blocks, false) : traffic).l2_to_sm_hit_rate;
  if (q.kernel->tile.k > 0) e.traffic = traffic;
  const model::Calibration calibration = model::calibration_of(q.gpu, e.own_calibration);
  e.documented_rates = total.mma.instructions > 0 && !calibration.has_tensor_cores();
  if (const model::MachineInstruction* const i = lacking_tensor_cores(q.gpu, *e.compiled))
    return fmt::format("{} has no tensor cores for {}", q.gpu.name, i->opcode);

  const double all_threads = static_cast<double>(e.observation.blocks) * threads;
  model::ThreadWork work;
  // Of the product alone, that of tiles beyond the edges included; C takes one for each result. Tensor cores leave
  // nothing else to the others.
  const double epilogue = q.problem.reads_c() ? static_cast<double>(q.problem.M) * static_cast<double>(q.problem.N) : 0;
  const double fma = static_cast<double>(total.fma) - epilogue;
  work.fma = (total.mma.flop > 0 ? static_cast<double>(total.mma.flop) / 2 : fma) / all_threads;
  // Steps along K of a block, through all of its tiles of D.
  const double steps = q.kernel->tile.k > 0
                           ? std::max(1.0, static_cast<double>(q.problem.K) / q.kernel->tile.k) *
                                 static_cast<double>(e.observation.tiles) / static_cast<double>(e.observation.blocks)
                           : 0;
  if (steps > 0) {
    work.fma_per_tile = work.fma / steps;
    double loads = 0;
    for (const AccessSite& site : e.observation.written.sites)
      if ((site.access == Access::global_load || site.access == Access::async_copy) && !reads_c(site))
        loads += static_cast<double>(site.instructions);
    work.loads_per_tile = loads / (static_cast<double>(e.observation.blocks) * warps) / steps;
  }
  work.reads_c = q.problem.reads_c();
  work.cost = Costs(e.observation, false);
  const ReadsOfC c = reads_of_c(e);
  if (c.sectors > 0) work.cost_of_c = Costs(e.observation, true);
  work.tensor_cycles = [&](const model::MachineInstruction& i) { return calibration.tensor_cycles(q.gpu, i); };
  e.program = model::program_of(*e.compiled, work);
  if (!e.least.peak.known) return unknown_rate_text(e.least.peak, q.gpu);
  if (e.occupancy->blocks < 1)
    return fmt::format("no block fits a multiprocessor of {}: {}", q.gpu.name, e.occupancy->reason);
  if (!takes_recorded_path(e)) return "the machine code on record is that for aligned problems, which this one is not";
  const model::TimedLaunch launch{.blocks = e.observation.blocks,
                                  .tiles = e.observation.tiles,
                                  .warps_per_block = warps,
                                  .occupancy = *e.occupancy,
                                  .l1_hit = e.l1_hit,
                                  .l2_hit = e.l2_hit,
                                  .copied_bytes = static_cast<double>(total.bulk_load.shared_bytes),
                                  .c_bytes = c.bytes,
                                  .c_l1_hit = c.l1_hit(),
                                  .least_seconds = e.least.memory_seconds};
  const double from_l2 = 32.0 * ((static_cast<double>(total.global_load.sectors) - c.sectors) * (1 - e.l1_hit) +
                                 c.sectors * (1 - c.l1_hit()));
  const model::InstructionMix& mix = e.program->warp;
  const double all_warps = static_cast<double>(e.observation.blocks) * warps;
  const model::Activity activity{
      {"multiply-adds", static_cast<double>(total.fma)},
      {fmt::format("mma {} flop", name_of(q.kernel->kind.type)), static_cast<double>(total.mma.flop)},
      {"integer instructions", mix[InstructionClass::integer] * all_warps},
      {"bytes of shared loads", 128.0 * static_cast<double>(total.shared_load.wavefronts)},
      {"bytes from L2", from_l2},
      {"bytes into shared memory", 32.0 * static_cast<double>(total.async_copy.sectors) + launch.copied_bytes},
      {"bytes of DRAM", traffic.dram_bytes()}};
  hold_clocks(
      e, total.mma.instructions > 0, activity,
      [&](double hz) { return model::predict_time(q.gpu, calibration, *e.program, launch, hz); }, false);
  return {};
}

}  // namespace

model::Occupancy occupancy_of(const model::Gpu& gpu, const LaunchShape& launch,
                              const std::optional<model::CompiledKernel>& compiled) {
  return model::occupancy(gpu, {.threads = static_cast<int>(launch.block.x * launch.block.y * launch.block.z),
                                .registers = compiled ? compiled->registers : 0,
                                .shared_bytes = static_cast<int>(launch.shared_bytes),
                                .barriers = compiled ? compiled->barriers : 0});
}

LeastTime least_time(const Explanation& e) {
  const model::Gpu& gpu = e.question.gpu;
  LeastTime least;
  least.dram_bytes_per_s = gpu.dram_read_measured_bytes_per_s.value_or(gpu.dram_bytes_per_s);
  least.dram_measured = gpu.dram_read_measured_bytes_per_s.has_value();
  least.memory_seconds = e.compulsory_bytes / least.dram_bytes_per_s;
  least.peak = peak_of(e);
  if (least.peak.flops > 0) least.compute_seconds = e.flop / least.peak.flops;
  return least;
}

void predict(Explanation& e) {
  const Question& q = e.question;
  e.no_time = refusal(*q.rung, q.kernel->kind, q.gpu.name, q.gpu.compute_capability);
  if (!e.no_time.empty()) return;
  e.no_time = e.observation.written.total.wgmma.instructions > 0 ? predict_warpgroups(e) : predict_warps(e);
}

}  // namespace lapidary::lens
