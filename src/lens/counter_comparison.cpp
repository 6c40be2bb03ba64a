#include "lens/counter_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "core/math.hpp"
#include "model/multiprocessor.hpp"

namespace lapidary::lens {
namespace {

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

}  // namespace

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
    const double warps = static_cast<double>(e.observation.blocks) * ceil_div(e.observation.threads(), 32);
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
  std::optional<double> instructions, wavefronts, stores;
  if (e.program && takes_recorded_path(e) && !tensor_cores) {
    const SharedAccesses loads = shared_accesses(e, model::Unit::shared_load);
    instructions = loads.instructions;
    wavefronts = loads.wavefronts;
    // Those into shared memory of another block of the cluster are generic stores, which the card does not count here.
    const auto& code = e.compiled->instructions;
    if (std::none_of(code.begin(), code.end(), [](const auto& i) { return i.opcode.starts_with("STS"); })) stores = 0;
  }
  // The card does not count ldmatrix and stmatrix among these.
  if (!tensor_cores) compare("shared_load_instructions", count(written.shared_load.instructions), instructions);
  compare("shared_load_wavefronts", count(written.shared_load.wavefronts), wavefronts);
  if (!tensor_cores) compare("shared_store_instructions", count(written.shared_store.instructions), stores);
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

std::string why_off(std::string_view counter, const Explanation& e) {
  if (counter == "shared_store_wavefronts")
    return "a store that meets loads of other warps is arbitrated and takes wavefronts of its own, which depend on the "
           "moment";
  if (counter == "global_load_sectors")
    return "with two blocks a multiprocessor the card counts five sectors, not four, for each `LDGSTS.E` of 4 bytes a "
           "lane, with one block four; why is not known";
  if (counter == "instructions")
    return "the main loop is taken to run whole for each tile, but the last tile has no next one to load from";
  const bool empty_loads = e.compiled && std::any_of(e.compiled->instructions.begin(), e.compiled->instructions.end(),
                                                     [](const auto& i) { return i.text.starts_with("@!PT LDS"); });
  if (counter == "shared_load_instructions" || counter == "shared_load_wavefronts") {
    if (empty_loads)
      return "the code above is taken to run once for each tile, but the last tile has no next one to load from; "
             "`@!PT LDS RZ, [RZ]`, which the compiler puts before a run of `LDGSTS`, is counted and moves nothing";
    return "loads of one width are taken to cost the average of what the emulated machine counted for that width";
  }
  return "";
}

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

}  // namespace lapidary::lens
