#include "lens/kernel_cost.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "core/math.hpp"
#include "lens/explain.hpp"
#include "lens/observe.hpp"
#include "library/kernel_cost.hpp"
#include "library/measured_cost.hpp"
#include "model/calibration.hpp"
#include "model/multiprocessor.hpp"
#include "model/sass.hpp"

namespace lapidary::lens {
namespace {

/// The main loop of a kernel whose warps multiply, with memory that holds nothing up.
void add_passes(library::KernelCost& cost, const Explanation& e) {
  if (!e.program)
    throw InvalidArgument(
        fmt::format("the machine code of {} is not on record: run script/compiled {}", cost.id, cost.id));
  const model::KernelProgram& program = *e.program;
  bool measured = false;
  const model::Calibration calibration = model::calibration_of(e.question.gpu, measured);
  model::MemoryShare endless;
  endless.l2_bytes_per_cycle = endless.dram_bytes_per_cycle = 1e6;
  const int warps = e.occupancy->warps_per_block;
  // Blocks that stay go through the loop, and begin and end, for each tile that they take.
  const auto tiles = static_cast<double>(ceil_div(e.observation.tiles, e.observation.blocks));
  cost.depth = tiles * static_cast<double>(e.question.problem.K) / program.iterations;
  for (int blocks = 1; blocks <= std::min(e.occupancy->blocks, library::KernelCost::most_blocks); ++blocks) {
    const auto constants = calibration.multiprocessor(e.question.gpu, program.loop_bytes, blocks * warps);
    const model::BlockTime time = simulate(program.programs, program.iterations, warps, blocks, constants, endless);
    cost.pass_cycles[static_cast<std::size_t>(blocks - 1)] = time.loop_cycles;
    if (blocks == 1) cost.start_cycles = std::max(0.0, time.cycles - program.iterations * time.loop_cycles) / tiles;
  }
}

/// Of a thread, by the record of the kernel's machine code, or of that of one that differs in types of 16 bits or in
/// orders alone; 0 without one.
int registers(const Rung& rung, const KernelEntry& kernel) {
  if (const auto own = model::find_compiled(kernel.id())) return own->registers;
  for (const KernelEntry& other : rung.kernels) {
    if (library::key_of(rung.name(), other) != library::key_of(rung.name(), kernel)) continue;
    if (const auto compiled = model::find_compiled(other.id())) return compiled->registers;
  }
  return 0;
}

}  // namespace

std::string kernel_cost_table() {
  const model::Gpu gpu = model::find_gpu("H200");
  const Card card = {gpu.compute_capability, gpu.sms};
  std::string table = "// written by lapidary report --costs: the rows of library/kernel_cost.hpp\n";
  for (const std::string_view name : library::library_rungs()) {
    const Rung& rung = find_rung(name);
    for (const KernelEntry& kernel : rung.kernels) {
      Problem problem = page_problem(kernel);
      const std::string id = kernel.id();
      const LaunchShape launch = prepare(kernel, Build::plain, problem, card).shape;
      const auto [x, y, z] = launch.block;
      library::KernelCost cost;
      cost.id = id;
      cost.persistent = std::int64_t{launch.grid.x} * launch.grid.y * launch.grid.z <
                        tiles_of_d(kernel, problem.M, problem.N, gpu.sms);
      cost.threads = static_cast<int>(x * y * z);
      // What blocks need: where there are few for each multiprocessor they ask for more.
      const Card few = {card.compute_capability, static_cast<int>(LaunchLimits::cluster)};
      cost.shared_bytes = static_cast<int>(prepare(kernel, Build::plain, problem, few).shape.shared_bytes);
      cost.registers = registers(rung, kernel);
      // What warpgroups multiply is fitted to timings; of others the main loop is simulated.
      if (rung.family != "wgmma") {
        problem.K = 1024;
        add_passes(cost, explain({&rung, &kernel, problem, gpu}));
      }
      table += to_source(cost);
    }
  }
  return table;
}

}  // namespace lapidary::lens
