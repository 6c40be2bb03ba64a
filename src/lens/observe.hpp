#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/problem.hpp"
#include "emulator/machine.hpp"
#include "emulator/report.hpp"
#include "kernels/registry.hpp"
#include "model/visiting_order.hpp"

namespace lapidary::lens {

/// What one launch of a kernel did, as the emulated machine saw it.
struct Observation {
  emulator::Report written;   ///< as the source has it
  emulator::Report compiled;  ///< scalar accesses to neighbours counted as the vectors that a compiler can make of them
  LaunchShape launch{};       ///< the last one, if there are several
  std::int64_t tiles = 0;     ///< of D
  std::int64_t blocks = 0;    ///< of the grid
  std::int64_t blocks_run = 0;  ///< of those; the others are like one of them

  /// Of each block.
  int threads() const { return static_cast<int>(launch.block.x * launch.block.y * launch.block.z); }
};

/// What a compiler merges of a report's loads from shared memory, for emulator::Options: the scalars of a source line
/// that lie side by side, to vectors of 16 bytes, or of as many as `widest` says of that line.
std::unordered_map<std::uintptr_t, emulator::Merge> merged_loads(
    const emulator::Report& report, const std::function<unsigned(const std::string& file, int line)>& widest = {});

/// A kernel that cuts D into tiles of several sizes is taken to go through so many rows of tiles of one size at a time,
/// as wgmma_equal_areas does: in groups of 8 strips, two blocks high.
constexpr int rows_of_several_sizes = 16;

/// The order in which a kernel's blocks visit the tiles of D: its own, or row by row.
/// @throws InvalidArgument if its own is not one
std::vector<RowCol<int>> visiting_order(const KernelEntry& kernel, std::int64_t M, std::int64_t N);

/// The same in the order of a launch's blocks, those of a cluster side by side.
std::vector<RowCol<int>> order_by_cluster(const KernelEntry& kernel, const LaunchShape& launch, std::int64_t M,
                                          std::int64_t N);

/// Into how many tiles a kernel cuts D.
/// @param multiprocessors  for which one that cuts it into tiles of several sizes does
std::int64_t tiles_of_d(const KernelEntry& kernel, std::int64_t M, std::int64_t N, int multiprocessors);

/// How a kernel is launched for a problem of its kind: the last launch, if there are several. No block of it is run. Of
/// alpha and beta nothing is read but whether beta is 0, and matrices are aligned.
/// @param multiprocessors  that persistent kernels have a block for
LaunchShape launch_of(const KernelEntry& kernel, const Problem& problem, int multiprocessors);

/// Runs a kernel on a problem of its kind, as launch_of() does, on whatever the memory of the matrices holds.
///
/// Blocks within the matrix do the same at other addresses, and so do those along its lower and its right edge. Kinds
/// of blocks differ in that, in the place within a line of 128 bytes at which their tiles begin, and in their rank in a
/// cluster: one of each is run in place of all, and a second one, as far away as can be, to see whether they count the
/// same. If they do not, or if what is written is not all of D, all blocks are run. Tensor cores do not compute.
/// @param multiprocessors  that persistent kernels have a block for
/// @throws InvalidArgument if the program has no instrumented build of the kernel, KernelFault
Observation observe(const KernelEntry& kernel, const Problem& problem, int multiprocessors = 132);

}  // namespace lapidary::lens
