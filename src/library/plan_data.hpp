#pragma once
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lapidary/gemm.hpp"
#include "library/cards.hpp"
#include "library/way.hpp"
#include "library/way_time.hpp"

namespace lapidary::library {

/// A way with the time that it is expected to take, in short.
struct Candidate {
  const LibraryKernel* kernel;
  // As the product with row-major results has A and B.
  PackedOperands copied, there;  ///< to a workspace first; of these the ones that are there before
  bool finishes;                 ///< in a second launch
  int parts;                     ///< of K
  std::size_t workspace_bytes, least_workspace_bytes;
  WayTime time;

  Candidate(const Way& way, const WayTime& time);

  int copies() const { return (copied.a ? 1 : 0) + (copied.b ? 1 : 0); }
  // As the problem has A and B that was asked for.
  PackedOperands packs(const Problem& asked) const;
  PackedOperands prepared(const Problem& asked) const;
  PlannedWay planned(const Problem& asked) const;
};

/// By what ways are weighed.
struct Weighing : GemmOptions {
  SumOrder order;  ///< with batch_invariant, of all results, unless the options name a kernel with another one
};

/// What a Plan is of.
struct PlanData {
  Problem problem;  ///< resolved, as it was asked for
  const BuiltInCard* card = nullptr;
  bool batch_invariant = false;     ///< asked for
  Way way;                          ///< of with_row_major_results(problem)
  PlannedWay planned;               ///< that way
  std::optional<PlannedWay> other;  ///< the quickest in another form that the problem can be given
  std::string id;
  std::string table;  ///< as PlanId::table

  /// By which the way is the quickest one; nothing if D has no elements, and of a plan made from its id.
  std::optional<Weighing> weighed_with;
  /// All that they leave, the plan's first. Most ask for that one alone: the others are weighed, put in order and told
  /// in words for who asks for them.
  const std::vector<PlannedWay>& ways() const;

 private:
  mutable std::once_flag told_;
  mutable std::vector<PlannedWay> ways_;
};

/// The copy of A or B, as the plan's problem has them, that is to be there before a run; null if none is.
const PackedMatrix* prepared_copy(const PlanData& plan, Matrix matrix);

/// The ways that options leave to compute a resolved problem, in no order. A user's table does not count.
std::vector<Candidate> ways_left(const Problem& problem, const BuiltInCard& card, const Weighing& options);
/// ... and the quickest of them, found without weighing all; nothing if there is none.
std::optional<Candidate> quickest_way(const Problem& problem, const BuiltInCard& card, const Weighing& options);

/// In which order results are added up where rows must not depend on each other, which depends neither on M nor on
/// where A begins or on the workspace: the one that most kernels have; of e4m3, where results can be stored as those
/// kernels do. A problem as it was asked for, but resolved: a single row, too, has the strides of more.
SumOrder order_of_any_rows(const Problem& problem, const BuiltInCard& card, const PackedOperands& prepared);

/// What a plan's id says; to_string() and parse_plan_id() are each other's inverse.
///
///   1.h200.f16-RCR.4096x4096x64.ld64-64-4096-4096.at16-16-16-16.vz.wgmma_staged_128x256x64_s4_e2x64_f16-RC.pa
///
/// are the version of the form, the card, the types of operands and, where they differ, of results with the orders of
/// A, B and D; M, N, K; leading dimensions, the residual's behind the others if there is one, and alignments of A, B,
/// C, D; what is known of alpha and beta (z: it is 0,
/// o: it is 1, v: any value, m: in device memory), and an i if D is C; of batches n, their number and four strides, or
/// five; of groups g and their number; of an epilogue e and its text; the kernel, "none" if there is nothing to
/// compute; and which of A and B are packed, in capitals if they are prepared; behind that -k and the number of parts
/// into which K is split, if it is; -w if the kernel waits for the launch in front of it where it could begin before;
/// and -t and a hash if a user's table chose the way.
struct PlanId {
  std::string card;  ///< slug_of()
  Problem problem;
  std::string kernel;
  PackedOperands packs, prepared;
  int parts = 1;  ///< of K
  bool waits = false;
  std::string table;  ///< ChoiceTable::hash() of a user's table that chose the way; empty if none did
};
std::string to_string(const PlanId& id);
/// Types and orders as an id has them: "f16-f32-RCR".
std::string kind_text(const Problem& problem);
/// A product by its types and orders, and by its sizes as in 512x512x64. What is not as it should be reads as something
/// else, which shows when it is written again. @throws InvalidArgument for unknown types
Problem parse_product(std::string_view kind, std::string_view sizes);
/// @throws InvalidArgument saying how one is written
PlanId parse_plan_id(std::string_view text);

/// Checks the numbers and strides of a batch of a valid, resolved problem: results that do not overlap, and nothing
/// beyond 2^63 bytes. @throws InvalidArgument
void validate_batch(const Problem& problem);

/// Checks what a valid, resolved problem asks for beside groups, if there are any. @throws InvalidArgument
void validate_groups(const Problem& problem);

}  // namespace lapidary::library
