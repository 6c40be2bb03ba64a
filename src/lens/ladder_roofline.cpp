#include "lens/ladder_roofline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "lens/explain.hpp"
#include "lens/rung_record.hpp"
#include "model/calibration.hpp"
#include "model/measured.hpp"
#include "model/traffic.hpp"

namespace lapidary::lens {
namespace {

/// FLOP for each byte of the main loop's machine code, where it is on record: the compiler merges neighbouring accesses
/// and keeps what it reads again.
std::optional<double> compiled_intensity(const Explanation& e) {
  if (!e.program) return std::nullopt;
  double passes = 0;  // of a warp in one iteration
  for (const model::WarpProgram& program : e.program->programs)
    for (const model::SassInstruction& i : program.loop) {
      using model::Unit;
      const bool passes_l1 = i.unit == Unit::shared_load || i.unit == Unit::shared_store ||
                             i.unit == Unit::global_load || i.unit == Unit::async_copy;
      if (passes_l1) passes += program.share * static_cast<double>(i.wavefronts);
    }
  return model::arithmetic_intensity(2.0 * 32 * e.program->fma_per_iteration, 128 * passes);
}

/// Passes through L1 and shared memory of the launch as the source has it, with neighbouring accesses merged.
double merged_passes(const Explanation& e) {
  double passes = 0;
  // wgmma reads its operands there, too.
  passes += static_cast<double>(e.observation.compiled.total.wgmma.shared_bytes) / 128;
  for (const emulator::AccessSite& site : e.observation.compiled.sites) {
    if (is_bulk(site.access)) {
      passes += static_cast<double>(site.shared_bytes) / 128;
    } else if (!is_global(site.access)) {
      passes += static_cast<double>(site.units);
    } else if (!is_write(site.access)) {
      passes += static_cast<double>(site.lines);
    }
  }
  return passes;
}

/// One tile of D and some steps along K tell it for all: the others are like them.
std::optional<Explanation> explain_tile(const Rung& rung, const KernelEntry& kernel, const model::Gpu& gpu,
                                        int steps = roofline_steps) {
  if (!is_observable(rung, kernel)) return std::nullopt;
  const TileShape& tile = kernel.tile;
  return explain({&rung, &kernel, {.kind = kernel.kind, .M = tile.m, .N = tile.n, .K = depth_of(tile, steps)}, gpu});
}

/// What a kernel executes: by tensor cores also for what lies beyond the matrix, which may be whole blocks of a
/// cluster.
double executed_flop(const Explanation& e) {
  const emulator::Counters& total = e.observation.written.total;
  const double tensor = static_cast<double>(total.mma.flop + total.wgmma.flop);
  return tensor > 0 ? tensor : e.flop;
}

/// FLOP for each byte of L1 as the source has it; where there are steps along K, of further ones, without what comes
/// before and after.
double merged_intensity(const Explanation& e) {
  const Question& q = e.question;
  if (q.kernel->tile.k == 0) return model::arithmetic_intensity(e.flop, 128 * merged_passes(e));
  const Explanation longer = *explain_tile(*q.rung, *q.kernel, q.gpu, more_roofline_steps);
  return model::arithmetic_intensity(executed_flop(longer) - executed_flop(e),
                                     128 * (merged_passes(longer) - merged_passes(e)));
}

KernelIntensity intensity_of(const Rung& rung, const KernelEntry& kernel, const model::Gpu& gpu) {
  KernelIntensity found{&rung, &kernel, {}, {"f32", model::ceilings(gpu).f32_flops}};
  if (const std::optional<Explanation> e = explain_tile(rung, kernel, gpu)) {
    found.l1 = e->stale ? merged_intensity(*e) : compiled_intensity(*e).value_or(merged_intensity(*e));
    found.peak = e->least.peak;
  }
  return found;
}

RooflineEntry entry_of(const KernelIntensity& known, const Roofline& roofline,
                       const std::vector<model::MeasuredRate>& rates) {
  const KernelEntry& kernel = *known.kernel;
  const int bytes = size_of(kernel.kind.type);
  const model::GemmShape gemm{roofline.size, roofline.size, roofline.size, bytes, bytes};
  const double work = model::flop(gemm);
  RooflineEntry entry{.rung = known.rung,
                      .kernel = &kernel,
                      .dram_intensity = model::arithmetic_intensity(work, model::compulsory_bytes(gemm)),
                      .l2_intensity = {},
                      .l1_intensity = known.l1,
                      .peak = known.peak.flops,
                      .peak_is = known.peak.name,
                      .roof = 0,
                      .roof_is = {},
                      .level = {},
                      .level_intensity = 0,
                      .measured = {}};
  // Kernels without a step in k rely on L1 to hold what they share, which their tile does not tell.
  if (kernel.tile.k > 0) {
    entry.l2_intensity = model::arithmetic_intensity(work, model::sm_read_bytes(gemm, kernel.tile));
  }
  const model::Ceilings& ceilings = roofline.ceilings;
  double least = std::numeric_limits<double>::infinity();
  const auto level = [&](const char* name, std::optional<double> bytes_per_s) {
    const std::optional<double> intensity = entry.intensity(name);
    if (!bytes_per_s || !intensity || *bytes_per_s * *intensity >= least) return;
    least = *bytes_per_s * *intensity;
    entry.level = name;
    entry.level_intensity = *intensity;
  };
  level("DRAM", ceilings.dram_bytes_per_s);
  level("L2", ceilings.l2_bytes_per_s);
  level("L1", ceilings.shared_bytes_per_s);
  entry.roof = std::min(entry.peak, least);
  entry.roof_is = least < entry.peak ? entry.level : entry.peak_is;

  for (const model::MeasuredRate& rate : rates) {
    if (rate.id == kernel.id() && rate.size == roofline.size && rate.mode == roofline.mode) entry.measured = rate.flops;
  }
  return entry;
}

}  // namespace

std::optional<double> RooflineEntry::intensity(const std::string& of_level) const {
  if (of_level == "DRAM") return dram_intensity;
  if (of_level == "L2") return l2_intensity;
  return of_level == "L1" ? l1_intensity : std::nullopt;
}

std::vector<KernelIntensity> kernel_intensities(const model::Gpu& gpu) {
  const std::vector<model::MeasuredRate> rates = model::measured_rates(gpu);
  const auto is_measured = [&](const KernelEntry& kernel) {
    return std::any_of(rates.begin(), rates.end(), [&](const auto& rate) { return rate.id == kernel.id(); });
  };
  std::vector<KernelIntensity> kernels;
  for (const Rung& rung : whole_ladder()) {
    const KernelEntry& first = rung.kernels.front();
    for (const KernelEntry& kernel : rung.kernels)
      if (&kernel == &first || (kernel.kind == first.kind && is_measured(kernel)))
        kernels.push_back(intensity_of(rung, kernel, gpu));
  }
  return kernels;
}

Roofline roofline(const model::Gpu& gpu, const std::vector<KernelIntensity>& kernels, std::int64_t size,
                  const std::string& mode) {
  Roofline result{gpu, model::ceilings(gpu), size, mode, {}};
  const std::vector<model::MeasuredRate> rates = model::measured_rates(gpu);
  for (const KernelIntensity& kernel : kernels)
    // What multiplies with units that the card lacks, or at a rate that is not known, has no roof there.
    if (kernel.peak.flops > 0) result.entries.push_back(entry_of(kernel, result, rates));
  return result;
}

Roofline roofline(const model::Gpu& gpu, std::int64_t size, const std::string& mode) {
  return roofline(gpu, kernel_intensities(gpu), size, mode);
}

}  // namespace lapidary::lens
