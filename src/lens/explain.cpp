#include "lens/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "core/math.hpp"
#include "kernels/sources.hpp"
#include "layout/bank_conflict.hpp"
#include "lens/rung_record.hpp"
#include "model/calibration.hpp"
#include "model/measured.hpp"
#include "model/raster.hpp"
#include "model/warpgroup_time.hpp"

namespace lapidary::lens {
namespace {

using emulator::Access;
using emulator::AccessSite;
using model::InstructionClass;

double ratio(double a, double b) { return b > 0 ? a / b : 0; }

std::vector<MatrixTraffic> matrices_of(const Explanation& e) {
  std::vector<MatrixTraffic> found;
  const Problem& p = e.question.problem;
  const double results = static_cast<double>(p.M) * static_cast<double>(p.N);
  std::vector<std::string> names = {"A", "B", "C", "D"};  // and what else a launcher allocates
  for (const AccessSite& site : e.observation.written.sites)
    if (!site.memory.empty() && std::find(names.begin(), names.end(), site.memory) == names.end())
      names.push_back(site.memory);
  for (const std::string& name : names) {
    MatrixTraffic sum;
    sum.name = name;
    double asked = 0;
    const bool result = name == "C" || name == "D";
    const int size = size_of(result ? e.question.kernel->kind.result : e.question.kernel->kind.type);
    for (const AccessSite& site : e.observation.written.sites) {
      if (!is_global(site.access) || site.memory != name) continue;
      sum.written |= is_write(site.access);
      sum.requests += site.instructions;
      sum.sectors += site.units;
      asked += static_cast<double>(site.distinct_bytes);
      sum.boxes += is_bulk(site.access) ? site.instructions : 0;
      sum.multicast_bytes += static_cast<double>(site.multicast_bytes);
      sum.elements += (is_bulk(site.access) ? static_cast<double>(site.distinct_bytes)
                                            : static_cast<double>(site.lanes) * site.bytes) /
                      size;
    }
    if (sum.requests == 0) continue;
    sum.bytes = 32.0 * static_cast<double>(sum.sectors);
    sum.sectors_per_request = ratio(static_cast<double>(sum.sectors), static_cast<double>(sum.requests));
    sum.efficiency = ratio(asked, sum.bytes);
    sum.bytes_per_result = ratio(sum.bytes, results);
    sum.accesses_per_result = ratio(sum.elements, results);
    found.push_back(sum);
  }
  return found;
}

/// Why an operand is not read once for each tile of D that needs it.
std::string why_read_otherwise(const Explanation& e, const MatrixTraffic& m, double times) {
  const Question& q = e.question;
  if (m.multicast_bytes > 0) {
    const double handed_on = m.multicast_bytes / size_of(q.kernel->kind.type);
    return fmt::format("a multicast hands each read to {:.3g} blocks", (m.elements + handed_on) / m.elements);
  }
  if (q.kernel->tile.k == 0)
    return fmt::format("no tile goes through shared memory, and each of {:.4g} threads reads it for itself", times);
  return "blocks read parts of a tile more than once";
}

std::vector<OperandReads> operand_reads_of(const Explanation& e) {
  const Problem& p = e.question.problem;
  const TileShape& tile = e.question.kernel->tile;
  std::vector<OperandReads> found;
  for (const MatrixTraffic& m : e.matrices) {
    if (m.name != "A" && m.name != "B") continue;
    const bool a = m.name == "A";
    OperandReads reads{.matrix = m.name,
                       .times = m.elements / (static_cast<double>(a ? p.M : p.N) * static_cast<double>(p.K)),
                       .tiles = a ? ceil_div<std::int64_t>(p.N, tile.n) : ceil_div<std::int64_t>(p.M, tile.m),
                       .why = {}};
    if (reads.times != static_cast<double>(reads.tiles)) reads.why = why_read_otherwise(e, m, reads.times);
    found.push_back(std::move(reads));
  }
  return found;
}

std::vector<SharedTraffic> shared_of(const Explanation& e) {
  std::vector<SharedTraffic> found;
  for (const AccessSite& site : e.observation.written.sites) {
    if (is_global(site.access)) continue;
    SharedTraffic line;
    line.file = site.file;
    line.line = site.line;
    line.store = is_write(site.access);
    line.bytes = site.bytes;
    line.instructions = site.instructions;
    line.wavefronts = site.units;
    line.minimum = site.minimum;
    line.cause = conflict_cause(site.worst, line.store);
    found.push_back(std::move(line));
  }
  return found;
}

InstructionClass kind_of(Access access) {
  switch (access) {
    case Access::global_load: return InstructionClass::global_load;
    case Access::async_copy: return InstructionClass::async_copy;
    case Access::bulk_load:
    case Access::bulk_store: return InstructionClass::bulk_copy;
    case Access::shared_load: return InstructionClass::shared_load;
    case Access::shared_store: return InstructionClass::shared_store;
    default: return InstructionClass::global_store;
  }
}

using AccessesByPlace = std::map<std::tuple<std::string, int, InstructionClass>, CompiledAccess>;

/// Whether of a kind, over all lines that the problem executes, the machine code has instructions of each width in the
/// ratio in which they are written.
bool has_widths_as_written(const AccessesByPlace& accesses, InstructionClass kind) {
  std::map<int, std::pair<std::uint64_t, std::uint64_t>> widths;  // written, in the machine code
  for (const auto& [place, access] : accesses) {
    if (access.kind != kind || access.written.empty()) continue;
    for (const auto& [bytes, count] : access.written) widths[bytes].first += count;
    for (const auto& [bytes, count] : access.machine) widths[bytes].second += static_cast<std::uint64_t>(count);
  }
  if (widths.empty()) return false;
  const auto [written, machine] = widths.begin()->second;
  return std::all_of(widths.begin(), widths.end(), [&, written = written, machine = machine](const auto& width) {
    const auto [own_written, own_machine] = width.second;
    return own_written > 0 && own_machine > 0 && own_written * machine == written * own_machine;
  });
}

std::vector<CompiledAccess> compiled_accesses_of(const Explanation& e) {
  AccessesByPlace found;
  for (const model::MachineInstruction& i : e.compiled->instructions) {
    if (i.bytes == 0 || i.line == 0) continue;
    CompiledAccess& access = found
                                 .try_emplace({i.file, i.line, i.kind},
                                              CompiledAccess{i.file, i.line, i.kind, {}, {}, false})
                                 .first->second;
    ++access.machine[i.bytes];
  }
  for (const AccessSite& site : e.observation.written.sites) {
    const auto place = found.find({site.file, site.line, kind_of(site.access)});
    if (place != found.end()) place->second.written[site.bytes] += site.instructions;
  }
  std::vector<CompiledAccess> accesses;
  for (auto& [place, access] : found) {
    access.exchanged = has_widths_as_written(found, access.kind);
    accesses.push_back(access);
  }
  return accesses;
}

/// Costs of accesses as the compiler merges them, averaged by kind and width.
class Costs {
 public:
  explicit Costs(const Observation& observation) {
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

  static void add(Sums& sums, const emulator::Report& report) {
    for (const AccessSite& site : report.sites) {
      Sum& sum = sums[{kind_of(site.access), site.bytes}];
      sum.instructions += static_cast<double>(site.instructions);
      sum.passes += static_cast<double>(is_global(site.access) ? site.lines : site.units);
      sum.sectors += is_global(site.access) ? static_cast<double>(site.units) : 0;
    }
  }

  Sums sums_;     ///< neighbours merged
  Sums written_;  ///< for widths that nothing was merged from
};

/// The share of loaded sectors that L1 holds: all but the first touch of each sector that a block's tiles consist of.
double l1_hit_of(const Explanation& e) {
  const Problem& p = e.question.problem;
  const TileShape& tile = e.question.kernel->tile;
  const double tiles = static_cast<double>(e.observation.tiles);
  const double rows = static_cast<double>(p.M) / static_cast<double>(ceil_div<std::int64_t>(p.M, tile.m));
  const double cols = static_cast<double>(p.N) / static_cast<double>(ceil_div<std::int64_t>(p.N, tile.n));
  const double first = tiles * (rows + cols) * static_cast<double>(p.K) * size_of(p.kind.type) / 32;
  double sectors = 0;
  for (const AccessSite& site : e.observation.written.sites)
    if (site.access == Access::global_load && site.memory != "C") sectors += static_cast<double>(site.units);
  return sectors > 0 ? std::max(0.0, 1 - first / sectors) : 0;
}

model::GemmShape shape_of(const Problem& p) {
  return {p.M, p.N, p.K, size_of(p.kind.type), size_of(p.kind.result), p.reads_c()};
}

int threads_of(const Explanation& e) {
  const Extent3& block = e.observation.launch.block;
  return static_cast<int>(block.x * block.y * block.z);
}

/// The tiles in the order of the blocks, those of a cluster side by side.
std::vector<RowCol<int>> order_by_cluster(const Explanation& e) {
  const auto& [grid, by] = std::tie(e.observation.launch.grid, e.observation.launch.cluster);
  const std::vector<RowCol<int>> order = visiting_order(*e.question.kernel, e.question.problem.M, e.question.problem.N);
  if (by.y == 1 && by.z == 1) return order;
  std::vector<std::size_t> blocks;
  for (std::uint32_t cz = 0; cz < grid.z; cz += by.z)
    for (std::uint32_t cy = 0; cy < grid.y; cy += by.y)
      for (std::uint32_t cx = 0; cx < grid.x; cx += by.x)
        for (std::uint32_t z = cz; z < cz + by.z; ++z)
          for (std::uint32_t y = cy; y < cy + by.y; ++y)
            for (std::uint32_t x = cx; x < cx + by.x; ++x) blocks.push_back(x + grid.x * (y + std::size_t{grid.y} * z));
  std::vector<RowCol<int>> ordered;
  for (std::size_t first = 0; first < order.size(); first += blocks.size())
    for (const std::size_t block : blocks)
      ordered.push_back(first + block < order.size() ? order[first + block] : model::no_tile);
  return ordered;
}

/// What L2 and DRAM have to do if so many blocks are on each multiprocessor.
model::RasterTraffic traffic_of(const Explanation& e, int per_sm) {
  const Question& q = e.question;
  const Extent3& cluster = e.observation.launch.cluster;
  model::Visits visits{order_by_cluster(e), 1, q.kernel->order.there_and_back};
  if (e.observation.written.total.bulk_load.multicast_bytes > 0)
    visits.cluster = static_cast<int>(cluster.x * cluster.y * cluster.z);
  const std::int64_t resident = std::min(std::int64_t{q.gpu.sms} * std::max(1, per_sm), e.observation.blocks);
  return model::simulate_l2(shape_of(q.problem), q.kernel->tile, visits, {resident, q.gpu.l2_bytes});
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
  bool measured = false;
  const double share = model::calibration_of(gpu, measured).mma_share(gpu, type, multiply_adds);
  const bool short_form = size_of(type) == 2 && multiply_adds == 16 * 8 * 8;
  return {fmt::format("mma.sync {}{}", short_form ? "m16n8k8 " : "", name_of(type)), tensor * share};
}

LeastTime least_time_of(const Explanation& e) {
  const model::Gpu& gpu = e.question.gpu;
  LeastTime least;
  least.dram_bytes_per_s = gpu.dram_read_measured_bytes_per_s.value_or(gpu.dram_bytes_per_s);
  least.dram_measured = gpu.dram_read_measured_bytes_per_s.has_value();
  least.memory_seconds = e.compulsory_bytes / least.dram_bytes_per_s;
  least.peak = peak_of(e);
  if (least.peak.flops > 0) least.compute_seconds = e.flop / least.peak.flops;
  return least;
}

/// Registers and barriers go by the record of the machine code; without one they are no limit.
model::Occupancy occupancy_of(const Explanation& e) {
  return model::occupancy(e.question.gpu, {.threads = threads_of(e),
                                           .registers = e.compiled ? e.compiled->registers : 0,
                                           .shared_bytes = static_cast<int>(e.observation.launch.shared_bytes),
                                           .barriers = e.compiled ? e.compiled->barriers : 0});
}

/// Whether the launch takes the path of which the machine code was recorded.
bool takes_recorded_path(const Explanation& e) {
  const Question& q = e.question;
  if (!e.compiled || e.compiled->problems == "all") return e.compiled.has_value();
  const std::int64_t lanes = 16 / size_of(q.kernel->kind.type);
  return q.problem.K % lanes == 0 && q.problem.N % lanes == 0;
}

/// Predicts the time of a kernel whose warpgroups multiply, by bounds, for which no machine code is needed. Returns why
/// there is no prediction, as the card has no room or no rate for it; nothing if there is one.
std::string predict_warpgroups(Explanation& e) {
  const Question& q = e.question;
  const emulator::Counters& total = e.observation.written.total;
  const model::Calibration calibration = model::calibration_of(q.gpu, e.own_calibration);
  const model::Occupancy occupancy = occupancy_of(e);
  if (e.compiled) e.occupancy = occupancy;
  if (occupancy.blocks < 1) return fmt::format("no block fits: {}", occupancy.reason);
  e.traffic = traffic_of(e, occupancy.blocks);
  e.l2_hit = e.traffic->l2_to_sm_hit_rate;
  e.documented_rates = !calibration.has_tensor_cores();
  model::WarpgroupLaunch launch;
  const auto [rows, cols] = tiles_of(*q.kernel, q.problem.M, q.problem.N);
  launch.tiles = rows * cols;
  launch.blocks = e.observation.blocks;
  launch.per_sm = occupancy.blocks;
  launch.flop = static_cast<double>(total.wgmma.flop);
  launch.flop_per_clk = model::tensor_flop_per_clk(q.gpu, q.kernel->kind.type);
  if (launch.flop_per_clk <= 0)
    return fmt::format("{} has no tensor cores for {}", q.gpu.name, to_string(q.kernel->kind));
  launch.operand_bytes = static_cast<double>(total.wgmma.shared_bytes);
  launch.filled_bytes = static_cast<double>(total.bulk_load.shared_bytes) +
                        32.0 * static_cast<double>(total.async_copy.sectors);
  launch.l2_read_bytes = 32.0 * static_cast<double>(total.bulk_load.sectors + total.async_copy.sectors +
                                                    total.global_load.sectors);
  launch.l2_to_sm_bytes = launch.l2_read_bytes + static_cast<double>(total.bulk_load.multicast_bytes);
  launch.dram_bytes = e.traffic->dram_bytes();
  launch.result_bytes = static_cast<double>(q.problem.M) * static_cast<double>(q.problem.N) *
                        size_of(q.kernel->kind.result);
  e.time = model::predict_time(q.gpu, calibration, launch);
  if (const auto rates = model::energy_rates(q.gpu, name_of(q.kernel->kind.type)))
    e.energy = model::energy(q.gpu, *rates, launch.flop, launch.l2_to_sm_bytes, e.time->seconds);
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
  const int threads = threads_of(e), warps = ceil_div(threads, 32);
  const emulator::Counters& total = e.observation.written.total;
  e.occupancy = occupancy_of(e);
  e.l1_hit = l1_hit_of(e);
  const model::RasterTraffic traffic = traffic_of(e, e.occupancy->blocks);
  e.l2_hit = traffic.l2_to_sm_hit_rate;
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
      if ((site.access == Access::global_load || site.access == Access::async_copy) && site.memory != "C")
        loads += static_cast<double>(site.instructions);
    work.loads_per_tile = loads / (static_cast<double>(e.observation.blocks) * warps) / steps;
  }
  work.reads_c = q.problem.reads_c();
  work.cost = Costs(e.observation);
  work.tensor_cycles = [&](const model::MachineInstruction& i) { return calibration.tensor_cycles(q.gpu, i); };
  e.program = model::program_of(*e.compiled, work);
  if (e.occupancy->blocks < 1)
    return fmt::format("no block fits a multiprocessor of {}: {}", q.gpu.name, e.occupancy->reason);
  if (!takes_recorded_path(e)) return "the machine code on record is that for aligned problems, which this one is not";
  e.time = model::predict_time(q.gpu, calibration, *e.program,
                               {.blocks = e.observation.blocks,
                                .warps_per_block = warps,
                                .occupancy = *e.occupancy,
                                .l1_hit = e.l1_hit,
                                .l2_hit = e.l2_hit});
  return {};
}

/// Fills in what the card makes of the kernel, or why that is not known.
void predict(Explanation& e) {
  const Question& q = e.question;
  e.no_time = refusal(*q.rung, q.kernel->kind, q.gpu.name, q.gpu.compute_capability);
  if (!e.no_time.empty()) return;
  e.no_time = e.observation.written.total.wgmma.instructions > 0 ? predict_warpgroups(e) : predict_warps(e);
}

/// Accesses to shared memory of all warps of the launch, as they go through the machine code.
struct SharedAccesses {
  double instructions = 0, wavefronts = 0;
};

SharedAccesses shared_accesses(const Explanation& e, model::Unit unit) {
  const LaunchShape& launch = e.observation.launch;
  const double warps = static_cast<double>(e.observation.blocks) *
                       ceil_div(launch.block.x * launch.block.y * launch.block.z, 32u);
  SharedAccesses sum;
  const auto add = [&](const std::vector<model::SassInstruction>& code, double times) {
    for (const model::SassInstruction& i : code) {
      if (unit == model::Unit::shared_load && i.empty_shared_load) sum.instructions += times;
      if (i.unit != unit) continue;
      sum.instructions += times;
      sum.wavefronts += times * static_cast<double>(i.wavefronts);
    }
  };
  for (const model::WarpProgram& program : e.program->programs) {
    add(program.prologue, warps * program.share);
    add(program.loop, warps * program.share * e.program->iterations);
    add(program.epilogue, warps * program.share);
  }
  return sum;
}

std::optional<Executed> executed_of(const Explanation& e) {
  if (!takes_recorded_path(e) || !e.compiled->main_loop()) return std::nullopt;
  if (e.compiled->is_warpgroup()) return Executed{model::warpgroup_pass(*e.compiled), std::nullopt};
  if (!e.program) return std::nullopt;
  return Executed{e.program->pass, e.program->warp};
}

std::vector<CounterComparison> compare_counters(const Explanation& e, const std::map<std::string, double>& measured) {
  const emulator::Counters& written = e.observation.written.total;
  std::vector<CounterComparison> found;
  const auto compare = [&](const char* name, double value, std::optional<double> compiled = std::nullopt) {
    const auto place = measured.find(name);
    if (place != measured.end()) found.push_back({name, value, compiled.value_or(value), place->second});
  };
  const auto count = [](std::uint64_t value) { return static_cast<double>(value); };
  compare("ffma_threads", count(written.fma));
  if (e.executed && e.executed->warp) {
    const double warps = static_cast<double>(e.observation.blocks) * ceil_div(threads_of(e), 32);
    const double executed = std::round(warps * e.executed->warp->all());
    compare("instructions", executed, executed);
  }
  // The card counts asynchronous copies among the loads.
  compare("global_load_requests", count(written.global_load.requests + written.async_copy.requests));
  compare("global_load_sectors", count(written.global_load.sectors + written.async_copy.sectors));
  compare("global_store_requests", count(written.global_store.requests));
  compare("global_store_sectors", count(written.global_store.sectors));
  compare("async_copy_instructions", count(written.async_copy.requests));
  const bool tensor_cores = written.mma.instructions + written.wgmma.instructions > 0;
  std::optional<double> instructions, wavefronts;
  if (e.program && takes_recorded_path(e) && !tensor_cores) {
    const SharedAccesses loads = shared_accesses(e, model::Unit::shared_load);
    instructions = loads.instructions;
    wavefronts = loads.wavefronts;
  }
  // The card does not count ldmatrix and stmatrix among these.
  if (!tensor_cores) compare("shared_load_instructions", count(written.shared_load.instructions), instructions);
  compare("shared_load_wavefronts", count(written.shared_load.wavefronts), wavefronts);
  if (!tensor_cores) compare("shared_store_instructions", count(written.shared_store.instructions));
  compare("shared_store_wavefronts", count(written.shared_store.wavefronts));
  compare("bulk_load_instructions", count(written.bulk_load.requests));
  compare("bulk_load_bytes", count(written.bulk_load.shared_bytes));  // with the zeros beyond the matrix
  compare("bulk_store_instructions", count(written.bulk_store.requests));
  compare("bulk_store_bytes", count(32 * written.bulk_store.sectors));
  // An instruction has 4096 FLOP at most: WMMA's are two, and FP8 that passes as f16. Those of a warpgroup are four of
  // its warps', which are counted among the others too. Integers have a counter of their own.
  if (const emulator::MmaCounters& mma = written.mma; tensor_cores && e.question.kernel->kind.type != Type::s8) {
    const std::uint64_t parts = mma.instructions > 0 ? std::max<std::uint64_t>(mma.flop / mma.instructions / 4096, 1)
                                                     : 0;
    compare("mma_instructions", count(parts * mma.instructions + 4 * written.wgmma.instructions));
  }
  compare("wgmma_instructions", count(4 * written.wgmma.instructions));
  compare("wgmma_wavefronts", count(written.wgmma.shared_bytes / 128));
  if (takes_recorded_path(e)) compare("registers", e.compiled->registers);
  if (e.occupancy && takes_recorded_path(e)) compare("occupancy_pct", 100 * e.occupancy->fraction());
  return found;
}

}  // namespace

std::vector<Stall> stalls_of(const std::map<std::string, double>& counters) {
  const std::string prefix = "stall_";
  std::vector<Stall> stalls;
  double sum = 0;
  for (const auto& [name, value] : counters) {
    // A warp that issues is "selected": it does not wait.
    if (!name.starts_with(prefix) || name == "stall_selected" || value <= 0) continue;
    stalls.push_back({name.substr(prefix.size()), value});
    sum += value;
  }
  for (Stall& stall : stalls) stall.share /= sum;
  std::sort(stalls.begin(), stalls.end(), [](const Stall& a, const Stall& b) { return a.share > b.share; });
  return stalls;
}

double steps_in_flight(const Explanation& e) {
  const TileShape& tile = e.question.kernel->tile;
  const double step = static_cast<double>(tile.m + tile.n) * tile.k * size_of(e.question.kernel->kind.type);
  return ratio(static_cast<double>(e.observation.written.bytes_in_flight), step);
}

Explanation explain(const Question& q) {
  if (const Choice choice = choose(*q.kernel, q.problem); choice.kernel != q.kernel) {
    Explanation e = explain({&find_rung(choice.kernel->rung), choice.kernel, q.problem, q.gpu});
    e.instead = q.kernel;
    e.why = choice.why;
    return e;
  }
  const Problem& p = q.problem;
  Explanation e{};
  e.question = q;
  e.observation = observation_of(q);
  const model::GemmShape shape = shape_of(p);
  e.flop = model::flop(shape);
  e.compulsory_bytes = model::compulsory_bytes(shape);
  e.intensity = model::arithmetic_intensity(e.flop, e.compulsory_bytes);
  e.least = least_time_of(e);
  e.matrices = matrices_of(e);
  e.operand_reads = operand_reads_of(e);
  e.shared = shared_of(e);

  const emulator::Counters& total = e.observation.written.total;
  const double fma = static_cast<double>(total.multiply_adds());
  double elements = static_cast<double>(total.wgmma.shared_bytes) / size_of(q.kernel->kind.type);
  double written = 0, compiled = 0;
  for (const AccessSite& site : e.observation.written.sites) {
    if (site.access != Access::shared_load) continue;
    elements += static_cast<double>(site.lanes) * site.bytes / size_of(q.kernel->kind.type);
    written += static_cast<double>(site.instructions);
  }
  for (const AccessSite& site : e.observation.compiled.sites)
    if (site.access == Access::shared_load) compiled += static_cast<double>(site.instructions);
  e.shared_loads_per_fma = ratio(elements, fma);
  e.instructions_per_fma = ratio(written, fma / 32);
  e.compiled_instructions_per_fma = ratio(compiled, fma / 32);

  e.compiled = model::find_compiled(q.kernel->id());
  e.stale = e.compiled && e.compiled->source_hash != rung_source_hash(q.rung->name());
  if (e.compiled) {
    e.compiled_accesses = compiled_accesses_of(e);
    e.addresses = model::address_work(*e.compiled);
  }
  predict(e);
  e.executed = executed_of(e);
  for (const model::MeasuredRate& rate : model::measured_rates(q.gpu))
    if (rate.id == q.kernel->id() && rate.mode == "burst" && rate.size == p.M && p.M == p.N && p.N == p.K)
      e.measured_seconds = e.flop / rate.flops;
  for (const model::MeasuredCounters& launch : model::measured_counters(q.gpu)) {
    if (launch.id != q.kernel->id() || launch.M != p.M || launch.N != p.N || launch.K != p.K) continue;
    if (launch.reads_c != p.reads_c()) {
      e.counters_otherwise = true;
      continue;
    }
    e.counters = compare_counters(e, launch.counters);
    e.stalls = stalls_of(launch.counters);
  }
  return e;
}

}  // namespace lapidary::lens
