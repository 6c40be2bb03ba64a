#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/problem.hpp"
#include "kernels/registry.hpp"
#include "layout/access.hpp"

// What the threads of one block touch in global memory, seen on the emulated machine rather than read from a kernel's
// configuration, so that it holds for every kernel.

namespace lapidary::lens {

/// The accesses of one source line to one matrix, as one warp of the first block executes them.
struct GlobalAccess {
  std::string file;
  int line = 0;
  std::string matrix;  ///< "A"
  bool store = false;
  WarpAccess first{};         ///< the first one; addresses are counted from the matrix's first byte
  std::uint64_t count = 0;    ///< how many there are
  std::uint64_t sectors = 0;  ///< of all of them
};

/// By source line and matrix, on a problem of the kernel's kind. Of alpha and beta nothing is read but whether beta is
/// 0, and matrices are aligned.
/// @throws InvalidArgument if the block has no such warp, or the program no instrumented build of the kernel
std::vector<GlobalAccess> global_accesses(const KernelEntry& kernel, const Problem& problem, int warp);

/// Which thread of a block stores which element of its tile of D.
struct TileOwners {
  TileShape tile;
  int threads;             ///< of the block
  std::vector<int> owner;  ///< a thread for each element, row by row

  int warps() const { return (threads + 31) / 32; }
  int thread(int row, int col) const { return owner[static_cast<std::size_t>(row * tile.n + col)]; }
};

/// @throws InvalidArgument if the program has no instrumented build of the kernel, or bulk copies store its results
/// @throws Error if the kernel leaves an element of the tile out or stores one from two threads
TileOwners tile_owners(const KernelEntry& kernel);

}  // namespace lapidary::lens
