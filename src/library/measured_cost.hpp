#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/registry.hpp"

namespace lapidary::library {

/// How long a kernel took on an H200, as script/fit-costs has fitted it to timings of problems of all shapes. In
/// microseconds,
///
///   fixed + ragged * (longest(walk, D / writing) + (1 + (odd - 1) * apart) * D / d_rate)
///         + singly * max(unaligned, apart) * whole * rounds + summing
///   walk = sum over rounds of blocks (longest(multiplying, arriving))
///   multiplying = start + steps * max(alone, loaded * busiest)
///   arriving = longest((A / a_rate + B / b_rate + beyond / outside) * drawn, crooked * share) / rounds
///
/// with A, B and D in bytes; longest(a, b) the longer one where they differ, and more where they do not, as what takes
/// as long as something else is not hidden behind it altogether: (a^4 + b^4)^(1/4), or of kernels whose warps multiply
/// the longer one; `share` the part of the card's places for blocks that a round fills, `drawn` how long what comes
/// for its blocks takes of what it takes for blocks in all places (drawn()), or of kernels whose warps multiply, and of
/// those that stream in three blocks a multiprocessor, `share`, `busiest` that of the multiprocessor with the most
/// blocks, or where each has one to itself the card's, or of those that stream that of the pair of multiprocessors with
/// the most; `beyond` the pieces of 128 bytes that are asked for of what lies outside of the matrices, rows of A below
/// its last one above all; `crooked` how long those take that are asked for of lines that begin at no multiples of
/// that; `unaligned` 1 for kernels whose warps multiply where lines are not aligned, and otherwise 0; `apart` 1 where
/// results cannot be stored in pairs, `apart_in_pairs` where they can and lines of D begin at no multiples of 16 bytes,
/// and otherwise 0; `whole` the part of a tile that D fills.
struct MeasuredCost {
  std::string_view kernel;  ///< its key_of()
  double fixed;             ///< from one launch to the next, if there is next to nothing to do
  double start;             ///< of a round of blocks, besides its steps
  double alone;             ///< a step along K of one tile of few
  double loaded;            ///< ... if all multiprocessors work, and share what they share
  double a_rate, b_rate;    ///< bytes that come for one operand while nothing else limits
  double d_rate;            ///< bytes of results
  double outside;           ///< pieces that come of what lies outside of the matrices
  /// How many times as long it takes if lines are not aligned to 16 bytes; 1 for who does not take them.
  double ragged;
  /// How many times as long results take if they cannot be stored in pairs; 1 for who asks for aligned lines.
  double odd;
  double singly;   ///< a whole tile's results, one by one, if they cannot be stored in pairs or lines are not aligned
  double summing;  ///< if blocks share the sums of a tile; 0 for who never has them do so
  /// Root mean square of the logarithms of these times over the timings; of sums of parts of K both with what adds them
  /// up.
  double error;

  /// Of results, how near to one by one those are stored that go in pairs, as lines begin at no multiples of 16 bytes.
  static constexpr double apart_in_pairs = 0.3;
  /// Bytes of results that DRAM takes in a microsecond.
  static constexpr double writing = 3.5e6;
  /// How many times as many bytes of results are counted of lines that begin at odd multiples of 16 bytes, in kernels
  /// that copy in bulk: each row of 128 bytes begins and ends with half a sector. Those among them that store from
  /// registers are not told apart.
  static constexpr double half_sectors = 1.3;

  /// Blocks in a part of the card's places do not draw all that DRAM gives: of those that have a multiprocessor each 66
  /// came near it, and 80 drew seven tenths of what 132 did (docs/tried.md, "Fewer blocks than multiprocessors"). As
  /// far as times tell it is so in the last of several rounds, too, and not of kernels that stream in three blocks a
  /// multiprocessor; of blocks that stream, share K and have a multiprocessor each the part is that of all
  /// multiprocessors, also where clusters have room on fewer. Rounds are counted as if all places were filled first;
  /// blocks that stay share tiles out evenly.
  static constexpr double drawn(double share) { return share > 0.5 ? 0.5 + 0.5 * share : 0.1 + 0.9 * share; }

  /// Pieces that come to all multiprocessors together in a microsecond, whatever the kernel, of lines that begin at
  /// multiples of 16, 32 or 64 bytes and no more (docs/tried.md, "Lines that begin anywhere").
  static constexpr double crooked_rows(std::int64_t begins) { return begins == 64 ? 84e3 : begins == 32 ? 78e3 : 54e3; }
  /// How many times as long a piece takes of lines along M or N of less than 128 bytes, which bulk copies ask for one
  /// by one (docs/tried.md, "A few rows of a column-major A").
  static constexpr double of_short_line(std::int64_t bytes) { return 0.5 + 64.0 / static_cast<double>(bytes); }
};

/// What kernels have in common that are taken to be one: those that differ in the orders of A and B alone, or in which
/// of the types of 16 bits they are of, or in whether results are of s32 or of f32; and with those that finish, whose
/// epilogues are counted apart, their parents.
std::string key_of(std::string_view rung, const KernelTraits& traits);

/// Of a kernel; null if none with its key was measured. Looked up by name: see library_kernels().
const MeasuredCost* measured_cost_of(const KernelEntry& kernel);

}  // namespace lapidary::library
