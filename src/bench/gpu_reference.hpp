#pragma once
#include <cstddef>
#include <cstdint>

#include "core/gemm.hpp"
#include "device/device.hpp"

namespace lapidary::bench {

// The parts of a verification that run on the GPU, on the stream of the device; M and N are not 0, pointers are to GPU
// memory. Computing the reference takes M * N * K products in fp64.

/// Computes the exact results of a problem, but for roundings in fp64, and their error bounds (bench/bound.hpp).
/// @param results, bounds  M * N each, row after row
void compute_reference_on_gpu(Device& device, const Problem& problem, const Operands& operands, double* results,
                              double* bounds);

/// Fills memory of a type of results with the bytes 0xff, which are NaN, or of integers with 0x7f: no sum comes near.
void poison_on_gpu(Device& device, Type type, void* data, std::size_t bytes);

/// Makes floats of a D of 32-bit integers, in place.
void convert_integers_on_gpu(Device& device, const Problem& problem, const Operands& operands);

/// What was found in D, or a part of it.
struct Findings {
  double ratio;           ///< the largest error / bound, infinite where a NaN is involved; negative for an empty part
  std::int64_t row, col;  ///< where that is
  std::int64_t wrong;     ///< results outside of their bound, NaN, infinite or never written
  std::int64_t outside;   ///< elements between the rows of D that are no longer poisoned
};

/// Compares D, which was poisoned before it was computed, and waits for it.
Findings verify_on_gpu(Device& device, const Problem& problem, const Operands& operands, const double* results,
                       const double* bounds);

}  // namespace lapidary::bench
