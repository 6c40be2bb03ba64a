#pragma once
#include <cstddef>
#include <optional>
#include <vector>

#include "core/problem.hpp"
#include "core/refusal.hpp"
#include "kernels/packing.hpp"
#include "library/kernel_cost.hpp"

namespace lapidary::library {

/// What a workspace, and each matrix in it, begins at a multiple of: what cudaMalloc gives.
constexpr int workspace_alignment = 256;

/// A matrix that is copied to a workspace before a kernel reads it.
struct PackedMatrix {
  Packing packing;
  std::size_t at = 0;  ///< bytes from the beginning of the workspace
};

/// One way to compute a problem with row-major results: copies, and a kernel that is launched for each product of the
/// batch.
struct Way {
  const LibraryKernel* kernel = nullptr;  ///< null: D has no elements
  Problem problem;                        ///< of one launch, as the kernel takes it; resolved
  std::optional<PackedMatrix> a, b;
  std::size_t workspace_bytes = 0;
};

/// What a kernel needs to compute a resolved problem with row-major results, if A, B or both are copied first.
/// @param broken  unless null, is told why a kernel of the problem's types does not take it even so
/// @returns nothing if it is a kernel of other types or orders, or does not take the problem
std::optional<Way> way_of(const Problem& problem, const LibraryKernel& kernel, bool packs_a, bool packs_b,
                          BrokenRule* broken = nullptr);

/// All ways to compute a resolved problem with row-major results that cards of a compute capability run. Of those that
/// differ in copies alone none copies what its kernel reads as it is, unless lines are not aligned: then a kernel may
/// be quicker with a copy.
std::vector<Way> ways_of(const Problem& problem, int compute_capability);

}  // namespace lapidary::library
