#pragma once
#include <cstdint>
#include <vector>

#include "emulator/report.hpp"
#include "kernels/registry.hpp"

namespace lapidary::lens {

/// What one launch of a kernel did, as the emulated machine saw it.
struct Observation {
  emulator::Report written;   ///< as the source has it
  emulator::Report compiled;  ///< scalar accesses to neighbours counted as the vectors that a compiler can make of them
  LaunchShape launch{};
  std::int64_t blocks = 0;      ///< of the grid
  std::int64_t blocks_run = 0;  ///< of those; the others are like one of them
};

/// Runs a kernel on a problem whose matrices are aligned and without gaps between rows, on whatever their memory holds.
///
/// Blocks within the matrix do the same at other addresses, and so do those along its lower and its right edge. Kinds
/// of blocks differ in that, and in the place within a line of 128 bytes at which they begin: one of each is run in
/// place of all, and a second one, as far away as can be, to see whether they count the same. If they do not, all
/// blocks are run.
/// @throws InvalidArgument if the program has no instrumented build of the kernel, KernelFault
Observation observe(const RungVariant& variant, std::int64_t M, std::int64_t N, std::int64_t K, bool reads_c);

}  // namespace lapidary::lens
