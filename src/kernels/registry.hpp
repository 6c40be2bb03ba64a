#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/problem.hpp"
#include "core/refusal.hpp"
#include "device/prepared.hpp"
#include "kernels/rung.hpp"

namespace lapidary {

/// A kernel of a rung, in all builds that there are.
struct KernelEntry : KernelTraits {
  std::string rung;
  std::string fallback;  ///< RungInfo::fallback
  /// By build; null where it was left out, as `gpu` is without nvcc.
  std::array<const BuiltKernel*, 3> builds;
  TileOrder order = {};
  bool fast_accumulation = false, finishes = false, batches = false, groups = false;
  const KSplit* split = nullptr;  ///< BuiltKernel::split

  /// What it is called by in records, results and file names: "wgmma_cluster_128x256x64_s4_c2x1_e2x64_bf16-RC" is the
  /// rung, the tile, four stages, clusters of 2 blocks below each other and 1 beside, two slices of 64 columns staged,
  /// and the kind; what a kernel has none of is left out. No two kernels have the same.
  std::string id() const;
  const KernelTraits& traits() const { return *this; }
};

/// What to_string() of a kernel's traits and the name of its rung make of it, apart from the name.
std::string to_string(const KernelTraits& traits);
struct KernelId {
  std::string rung;
  KernelTraits traits;
};
/// @throws InvalidArgument saying how one is written
KernelId parse_kernel_id(std::string_view id);

struct Rung {
  const RungInfo* info;
  std::string family;                ///< the folder of src/kernels that it lives in: "simt"
  std::string source;                ///< path below the project's root
  std::vector<KernelEntry> kernels;  ///< the first one is the default

  std::string_view name() const { return info->name; }
  bool has(const GemmKind& kind) const;
  /// Least compute capability, major * 10 + minor, for products of a kind: FP8 came with 8.9.
  int architecture(const GemmKind& kind) const;
  /// Whether cards of a compute capability run products of a kind.
  bool runs_on(int compute_capability, const GemmKind& kind) const;
  /// What they must have for it: "compute capability 8.0".
  std::string requirement(const GemmKind& kind) const;
  /// The first kernel of that kind and, unless it is empty, that tile: "128x144x64", or as much of its id as tells it
  /// from others of this tile, "128x144x64_s5_c2x1". @throws InvalidArgument naming those there are
  const KernelEntry& kernel(const GemmKind& kind, std::string_view tile = "") const;
  /// By what kernel() finds it: its tile, if it is the first of this tile.
  std::string tile_of(const KernelEntry& kernel) const;
};

/// All rungs that this program has, in the order of the ladder.
std::span<const Rung> ladder();

/// A rung that a program has only if its build found what the kernel needs.
struct OptionalRung {
  std::string_view name, family;
  std::string source;      ///< as Rung::source
  std::string_view needs;  ///< what that is, and how to build with it
  bool built;              ///< it is on ladder()
  std::size_t place;       ///< on the ladder of all rungs
};

/// In the order of the ladder.
std::span<const OptionalRung> optional_rungs();

/// @throws InvalidArgument naming the nearest rungs, or what an optional rung needs that this program was built without
const Rung& find_rung(std::string_view name);

/// "128x128x8", or "32x32" where k is 0.
std::string to_string(const TileShape& tile);

/// The kernel of that id. @throws InvalidArgument if the program has none
const KernelEntry& find_kernel(std::string_view id);

/// The rows and columns of tiles that a kernel's blocks go through (core/tiles.hpp).
RowCol<std::int64_t> tiles_of(const KernelEntry& kernel, std::int64_t M, std::int64_t N);

/// Why a card does not run a rung's products of a kind, as one sentence; empty if it does.
/// @param name  of the card. @param compute_capability  major * 10 + minor
std::string refusal(const Rung& rung, const GemmKind& kind, std::string_view name, int compute_capability);

/// Why a kernel does not take a problem that validate() accepts, as one sentence with the rule, the value and what is
/// legal; empty if it takes it.
std::string refusal(const KernelEntry& kernel, const Problem& problem);

/// The kernel that runs a problem if this one is asked to: it, or if it refuses the first one of its rung's fallback
/// that takes the problem.
struct Choice {
  const KernelEntry* kernel;
  std::string why;  ///< it is another one: the refusal; empty if it is not
};
/// @throws InvalidArgument with the refusal if no kernel takes it
Choice choose(const KernelEntry& kernel, const Problem& problem);

/// Decides how a kernel solves a problem on a card; leading dimensions of 0 are filled in.
/// @throws DeviceError, or InvalidArgument if the problem is not legal, if the kernel refuses it, if the card has fewer
/// multiprocessors than a cluster of it has blocks, or if the program has no such build of the kernel
Prepared prepare(const KernelEntry& kernel, Build build, const Problem& problem, const Card& card);

/// Chooses, prepares and launches: runs D = alpha * A * B + beta * C by a kernel, or by what choose() says instead,
/// with what is known of the operands. Does nothing if M or N is 0.
/// @throws what Prepared::launch does, or InvalidArgument if the problem is not legal, if no kernel takes it, if the
/// program has no such build of the kernel, or if the stream does not run it
Choice run(const KernelEntry& kernel, Build build, const Stream& stream, const Problem& problem,
           const Operands& operands);

}  // namespace lapidary
