#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lapidary/gemm.hpp"
#include "library/cards.hpp"
#include "library/way.hpp"
#include "library/way_time.hpp"

namespace lapidary::library {

/// What a Plan is of.
struct PlanData {
  Problem problem;  ///< resolved, as it was asked for
  const BuiltInCard* card = nullptr;
  Way way;                       ///< of with_row_major_results(problem)
  std::vector<PlannedWay> ways;  ///< the first one is that way
  std::string id;
};

/// A way with the time that it is expected to take.
struct Candidate {
  Way way;
  WayTime time;

  int copies() const { return (way.a ? 1 : 0) + (way.b ? 1 : 0); }
  PlannedWay planned() const {
    return {way.kernel ? std::string(way.kernel->cost->id) : "",
            way.a.has_value(),
            way.b.has_value(),
            way.workspace_bytes,
            time.seconds,
            time.limiter};
  }
};

/// The ways that options leave to compute a resolved problem, the quickest first; with batch_invariant those of the
/// kernel that is chosen for any number of rows.
std::vector<Candidate> ways_left(const Problem& problem, const BuiltInCard& card, GemmOptions options);

/// What a plan's id says; to_string() and parse_plan_id() are each other's inverse.
///
///   1.h200.f16-RCR.4096x4096x64.ld64-64-4096-4096.at16-16-16-16.vz.wgmma_staged_128x256x64_s4_e2x64_f16-RC.pa
///
/// are the version of the form, the card, the types of operands and, where they differ, of results with the orders of
/// A, B and D; M, N, K; leading dimensions and alignments of A, B, C, D; what is known of alpha and beta (z: it is 0,
/// o: it is 1, v: any value, m: in device memory), and an i if D is C; of batches n, their number and four strides; the
/// kernel, "none" if there is nothing to compute; and which of A and B are packed.
struct PlanId {
  std::string card;  ///< slug_of()
  Problem problem;
  std::string kernel;
  bool packs_a = false, packs_b = false;
};
std::string to_string(const PlanId& id);
/// @throws InvalidArgument saying how one is written
PlanId parse_plan_id(std::string_view text);

/// Checks the numbers and strides of a batch of a valid, resolved problem: results that do not overlap, and nothing
/// beyond 2^63 bytes. @throws InvalidArgument
void validate_batch(const Problem& problem);

}  // namespace lapidary::library
