#pragma once
#include <cstddef>
#include <functional>
#include <optional>

#include "core/problem.hpp"
#include "core/refusal.hpp"
#include "kernels/packing.hpp"
#include "lapidary/gemm.hpp"
#include "library/kernel_cost.hpp"
#include "model/gpu.hpp"

namespace lapidary::library {

/// What a workspace, and each matrix in it, begins at a multiple of: what cudaMalloc gives.
constexpr int workspace_alignment = 256;

/// A matrix that is copied to a workspace before a kernel reads it.
struct PackedMatrix {
  Packing packing;
  std::size_t at = 0;     ///< bytes from the beginning of the workspace
  bool prepared = false;  ///< the copy is there already, elsewhere
};

/// The second launch for a product (kernels/finishing.hpp).
struct Finishing {
  Problem problem;     ///< of one product with row-major results; resolved
  bool in_d = false;   ///< whether the kernel stores its sums where the results will be
  std::size_t at = 0;  ///< or else: bytes from the beginning of the workspace
};

/// One way to compute a problem with row-major results: copies, and a kernel that is launched for each product of the
/// batch, after which a second launch may make results of sums, unless the kernel has done so; or that is launched once
/// for all of them, or for all parts of the K of one.
struct Way {
  const LibraryKernel* kernel = nullptr;  ///< null: D has no elements
  Problem problem;                        ///< of one launch, as the kernel takes it; resolved
  std::optional<PackedMatrix> a, b;
  std::optional<Finishing> finishing;
  std::size_t workspace_bytes = 0;

  /// Parts of K whose sums the kernel stores apart, for the second launch to add up.
  int parts() const { return problem.split; }
  /// What is enough of a workspace, where K may be split into as few as two parts.
  std::size_t least_workspace_bytes() const;
  /// Of a batch of so many products.
  std::int64_t launches(std::int64_t products) const { return problem.batch.count > 1 ? 1 : products; }
};

/// Whether a kernel that does not finish leaves it to a second launch to make results of sums.
bool needs_finishing(const Problem& problem);
/// The type of what kernels that do not finish store for a problem: its results, or sums for a second launch to make
/// results of.
Type stored_type(const Problem& problem);
/// ... and what a certain kernel stores, which may be one that finishes.
Type stored_type(const Problem& problem, const LibraryKernel& kernel);
/// Whether a problem is one for kernels that finish: an epilogue and what else they do, of factors that the host has.
bool is_for_finishing(const Problem& problem);

/// What a kernel needs to compute a resolved problem with row-major results, if A, B or both are copied first.
/// @param multiprocessors  of the card, for which K is split
/// @param prepared  of the copies, those that are there before
/// @param parts  of K, of a kernel that stores their sums; 0: as many as are taken to be best
/// @param broken  unless null, is told why a kernel of the problem's types does not take it even so
/// @returns nothing if it is a kernel of other types or orders, or does not take the problem
std::optional<Way> way_of(const Problem& problem, const LibraryKernel& kernel, int multiprocessors,
                          const PackedOperands& packs, const PackedOperands& prepared, int parts = 0,
                          BrokenRule* broken = nullptr);

/// Whether ways by a kernel are looked for: or not; or not, and no more by those that differ from it in the orders of A
/// and B alone, as their copies make them still slower.
enum class Verdict { look_for, leave_out, hopeless };

/// All ways to compute a resolved problem with row-major results that a card runs, one after the other. Of those that
/// differ in copies alone none copies what its kernel reads as it is, unless lines are not aligned: then a kernel may
/// be quicker with a copy. K is split into as many parts as are taken to be best of those that the workspace has room
/// for.
/// @param workspace_bytes  what a way may need
/// @param turned  also those by kernels of warpgroups that copy a matrix, to turn its aligned lines, which the same
///   kernel for another order reads as it is
/// @param judge  asked of each kernel before a way is made for it
void each_way(const Problem& problem, const model::Gpu& gpu, const PackedOperands& prepared,
              std::size_t workspace_bytes, bool turned, const std::function<Verdict(const LibraryKernel&)>& judge,
              const std::function<void(const Way&)>& take);

}  // namespace lapidary::library
