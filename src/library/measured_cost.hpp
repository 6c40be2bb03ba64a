#pragma once
#include <string>
#include <string_view>

#include "kernels/registry.hpp"

namespace lapidary::library {

/// How long a kernel took on an H200, as script/fit-costs has fitted it to timings of problems of all shapes. In
/// microseconds,
///
///   fixed + ragged * (max(compute, A / a_rate + B / b_rate * (1 + outside * idle)) + odd * D / d_rate)
///         + singly * whole * rounds
///   compute = (1 + crooked * off) * sum over rounds of blocks (start + steps * max(alone, loaded * share))
///
/// with A, B and D in bytes; `off` the part of what tiles copy whose lines are no multiples of 128 bytes; `share` the
/// part of the card's places for blocks that a round fills; `idle` the part of tiles that lie beyond D as a whole, as
/// of clusters whose second block has nothing to do; `whole` the part of a tile that D fills.
struct MeasuredCost {
  std::string_view kernel;  ///< its key_of()
  double fixed;             ///< from one launch to the next, if there is next to nothing to do
  double start;             ///< of a round of blocks, besides its steps
  double alone;             ///< a step along K of one tile of few
  double loaded;            ///< ... if all multiprocessors work, and share what they share
  double a_rate, b_rate;    ///< bytes that come for one operand while nothing else limits
  double d_rate;            ///< bytes of results
  double outside;
  /// How many times as long it takes if lines are not aligned to 16 bytes; 1 for who does not take them.
  double ragged;
  double crooked;
  double
      odd;  ///< how many times as long results take if they cannot be stored in pairs; 1 for who asks for aligned lines
  double singly;  ///< a whole tile's results, one by one, if lines are not aligned or cannot be stored in pairs
  double error;   ///< root mean square of the logarithms of these times over the timings
};

/// What kernels have in common that are taken to be one: those that differ in the orders of A and B alone, or in which
/// of the types of 16 bits they are of, or in whether results are of s32 or of f32; and with those that finish, whose
/// epilogues are counted apart, their parents.
std::string key_of(std::string_view rung, const KernelTraits& traits);

/// Of a kernel; null if none with its key was measured. Looked up by name: see library_kernels().
const MeasuredCost* measured_cost_of(const KernelEntry& kernel);

}  // namespace lapidary::library
