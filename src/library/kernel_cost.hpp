#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/row_col.hpp"
#include "kernels/registry.hpp"
#include "library/measured_cost.hpp"

namespace lapidary::library {

/// What is known of a kernel before a problem is: what its blocks take of a multiprocessor, and how long they take
/// where memory does not hold them up. Cycles are those of an H200.
struct KernelCost {
  static constexpr int most_blocks = 4;

  std::string_view id;
  bool persistent = false;  ///< blocks stay, one a multiprocessor, and take tile after tile
  int threads = 0;
  int registers = 0;  ///< of a thread; 0 if its machine code is not on record
  int shared_bytes = 0;
  /// Of kernels whose warps multiply, along K of one pass of the main loop; 0 of those whose warpgroups do, whose time
  /// is bounds (model/warpgroup_time.hpp).
  double depth = 0;
  double start_cycles = 0;                           ///< of a block before the loop and behind it
  std::array<double, most_blocks> pass_cycles = {};  ///< of a multiprocessor with 1, 2, ... of them; 0: no more fit
};

/// The kernels that the library chooses among, in the order of the ladder: library/kernel_costs.inc, which
/// `lapidary report --costs` writes from the records of counts and of machine code.
std::span<const KernelCost> kernel_costs();

/// In which order the products of a result are added up, and with which bits of a sum kept: kernels of the same types
/// that do it alike give the same bits, whatever their tiles are and whatever multiplies (docs/tried.md, "The same bits
/// by other kernels").
enum class SumOrder : std::uint8_t {
  along_k,   ///< from the first one to the last, in f32
  promoted,  ///< likewise, of each 128 products with the fraction bits that tensor cores keep of e4m3; those sums in
             ///< f32
  exact,     ///< integers, in any order
  depends    ///< on how many results there are, which blocks share K for, or walk it backwards in every other tile for
};

/// A kernel that the library chooses among, and what it costs.
struct LibraryKernel {
  std::string id;
  const Rung* rung;
  const KernelEntry* kernel;
  const KernelCost* cost;
  const MeasuredCost* measured;  ///< null if it was not
  std::size_t family;            ///< kernels that differ in the orders of A and B alone have the same
  bool in_bulk;                  ///< it refuses lines that begin anywhere, as bulk copies do
  bool as_parent;                ///< it is for epilogues, and costs what its parent does, which is for what has none
  bool for_batches;              ///< not for single products, for which rungs before it have its tiles
  /// It may begin before the launch in front of it has ended, as wgmma_overlapped and its descendants do. The f32
  /// split_k always does.
  bool overlaps;
  /// Of A, B and D: it refuses lines that do not begin at multiples of 16 bytes, whatever else a problem is.
  bool bulk_a, bulk_b, bulk_d;

  SumOrder sum_order() const;

  /// What blocks have to do of D, or of those of all products.
  struct Work {
    RowCol<std::int64_t> tiles;  ///< of one product (tiles_of())
    double blocks;               ///< those that tiles beyond D have in clusters included
    double steps;                ///< along K, of each tile's part that a block has
    int share;                   ///< blocks that share a tile
  };
  Work work(const Problem& problem, int multiprocessors) const;
};

/// Those of the table that this program has, and those that cost what one of them does.
std::span<const LibraryKernel> library_kernels();

/// Those of them whose A and B are of a type: first those for certain orders of both, then for one of them, then
/// others; of each the last rungs first, among which the quickest way is found soonest.
std::span<const LibraryKernel* const> library_kernels(Type operands, Order a, Order b);

/// Of a kernel; null if the library does not choose it.
const LibraryKernel* library_kernel(const KernelEntry& kernel);

/// The rungs that the table is made of: those that are not lessons.
std::span<const std::string_view> library_rungs();

/// A row of the table as source text.
std::string to_source(const KernelCost& cost);

}  // namespace lapidary::library
