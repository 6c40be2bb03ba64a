#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/registry.hpp"
#include "lens/explanation.hpp"
#include "model/gpu.hpp"
#include "model/roofline.hpp"

namespace lapidary::lens {

/// Steps along K of one tile of D that tell a kernel's L1 intensity; and of a longer run, where what comes before and
/// after them is to be taken off.
constexpr int roofline_steps = 4, more_roofline_steps = 8;

/// K of so many steps; 64 for kernels that have none.
constexpr std::int64_t depth_of(const TileShape& tile, int steps) { return tile.k > 0 ? steps * tile.k : 64; }

/// A kernel below its roof, M = N = K.
struct RooflineEntry {
  const Rung* rung;
  const KernelEntry* kernel;
  double dram_intensity;               ///< FLOP for each compulsory byte
  std::optional<double> l2_intensity;  ///< FLOP for each byte into the SMs; of kernels that stage tiles
  /// FLOP for each byte of what L1 and shared memory, which are one memory, pass: 128 bytes for each line of a load
  /// from global memory and for each wavefront of shared memory, of the machine code where it is on record, otherwise
  /// of the source with neighbouring accesses merged. Empty if the program has neither an instrumented build of the
  /// kernel, which is run to count them, nor its record (lens/rung_record.hpp).
  std::optional<double> l1_intensity;

  double peak;             ///< FLOP/s of the units that multiply
  std::string peak_is;     ///< Peak::name
  double roof;             ///< FLOP/s, the lowest of the ceilings
  std::string roof_is;     ///< which it is: peak_is, "L1", "L2" or "DRAM"
  std::string level;       ///< the memory whose bandwidth allows the least: "L1", "L2" or "DRAM"
  double level_intensity;  ///< FLOP for each byte of it

  std::optional<double> measured;  ///< FLOP/s, as results/ has it

  /// Empty if there is none of that name.
  std::optional<double> intensity(const std::string& of_level) const;
};

/// The ladder below the ceilings of a card.
struct Roofline {
  model::Gpu gpu;
  model::Ceilings ceilings;
  std::int64_t size;                   ///< M = N = K; beta = 0
  std::string mode;                    ///< of what was measured: "burst" or "sustained"
  std::vector<RooflineEntry> entries;  ///< in the order of the ladder
};

/// What the machine code or a run of a kernel tells for problems of any size.
struct KernelIntensity {
  const Rung* rung;
  const KernelEntry* kernel;
  std::optional<double> l1;  ///< RooflineEntry::l1_intensity
  Peak peak;
};

/// Of each rung's first tile on a card, and of those others of its first kind that were measured there: menus of tiles
/// for other shapes are long. Takes seconds, most of which are emulated runs.
std::vector<KernelIntensity> kernel_intensities(const model::Gpu& gpu);

/// @param kernels  kernel_intensities() of the card
Roofline roofline(const model::Gpu& gpu, const std::vector<KernelIntensity>& kernels, std::int64_t size,
                  const std::string& mode);
Roofline roofline(const model::Gpu& gpu, std::int64_t size, const std::string& mode);

}  // namespace lapidary::lens
