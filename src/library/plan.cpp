#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/batch.hpp"
#include "core/refusal.hpp"
#include "lapidary/gemm.hpp"
#include "library/canonical.hpp"
#include "library/kernel_cost.hpp"
#include "library/no_way.hpp"
#include "library/plan_data.hpp"
#include "library/way_time.hpp"

namespace lapidary {
namespace library {
namespace {

PlanId plan_id(const PlanData& plan) {
  const PlannedWay& way = plan.planned;
  return {slug_of(plan.card->gpu),
          plan.problem,
          way.kernel,
          {way.packs_a, way.packs_b},
          way.prepared,
          way.parts,
          way.waits,
          plan.table};
}

/// The same operands where A and B have changed places, as they have in with_row_major_results() of some problems.
PackedOperands exchanged(const Problem& problem, const PackedOperands& operands) {
  return problem.order_d == Order::row_major ? operands : PackedOperands{operands.b, operands.a};
}

bool has_results(const Problem& p) { return p.M > 0 && p.N > 0 && p.batch.count > 0; }

/// Bytes of all matrices of a problem.
double operand_bytes(const Problem& p) {
  double bytes = 0;
  for (const Matrix matrix : all_matrices) {
    if (matrix == Matrix::C && (!p.reads_c() || p.in_place)) continue;
    const bool shared = stride_of(p.batch, matrix) == 0;
    bytes += static_cast<double>(shape_of(p, matrix).bytes()) * (shared ? 1 : static_cast<double>(p.batch.count));
  }
  return bytes;
}

/// Bytes of a card's memory that matrices leave.
double room_beside(const Problem& problem, const BuiltInCard& card) {
  return static_cast<double>(card.gpu.dram_bytes) - operand_bytes(problem);
}

/// Which ways are asked for.
enum class Wanted { all, quickest };

/// The ways to compute a resolved problem by kernels that the library chooses among; where the quickest one is wanted
/// alone, it and those others that were weighed before that was known.
std::vector<Candidate> candidates(const Problem& asked, const BuiltInCard& card, const Weighing& options,
                                  Wanted wanted) {
  std::vector<Candidate> found;
  const Problem problem = with_row_major_results(asked);
  const double room = room_beside(asked, card);
  const LeastTimes least_times(problem, card);
  double least = std::numeric_limits<double>::infinity();  // of ways that the card has room for
  const auto judge = [&](const LibraryKernel& kernel) {
    const bool is_only = options.kernel == kernel.id;
    const SumOrder its = kernel.sum_order();
    if ((!options.fast_accumulation && kernel.kernel->fast_accumulation) || (!options.kernel.empty() && !is_only) ||
        (options.batch_invariant && its != options.order && (its == SumOrder::depends || !is_only)))
      return Verdict::leave_out;
    return wanted == Wanted::quickest && least_times.of(kernel) > least ? Verdict::hopeless : Verdict::look_for;
  };
  constexpr std::size_t usual = 192;
  found.reserve(usual);
  const PackedOperands prepared = exchanged(asked, options.prepared);
  const bool turned = options.packs.has_value();
  each_way(problem, card.gpu, prepared, options.workspace_bytes, turned, judge, [&](const Way& way) {
    // Into how many parts depends on how many results there are.
    if (options.batch_invariant && way.parts() > 1) return;
    // Clusters add up sums of so few results sooner: of three products that were timed parts took 1.25 to 1.36 times as
    // long.
    if (options.kernel.empty() && way.parts() > 1 && problem.M * problem.N <= 128 * 128) return;
    const auto time = time_of(way, problem.batch, card);
    if (!time) return;
    const Candidate candidate(way, *time);
    if (options.packs && *options.packs != candidate.packs(asked)) return;
    found.push_back(candidate);
    if (static_cast<double>(candidate.workspace_bytes) <= room) least = std::min(least, time->seconds);
  });
  return found;
}

/// What ways are put in order by: those that need more memory, with all matrices, than the card has come last, and
/// quicker ones first; of two that take as long the one with fewer copies.
class Rank {
 public:
  Rank(const Candidate& way, double room)
      : too_large(static_cast<double>(way.workspace_bytes) > room),
        seconds(way.time.seconds),
        copies(way.copies()),
        place(way.kernel - library_kernels().data()),
        copies_a(way.copied.a) {}
  auto operator<=>(const Rank&) const = default;

 private:
  bool too_large;
  double seconds;
  int copies;
  std::ptrdiff_t place;  // in the ladder
  bool copies_a;
};

/// A problem by which an order of adding up is chosen that does not depend on how many rows there are: of so many, of
/// an A that is aligned; where M is the length of lines of results, one more, for kernels that take any length.
Problem with_rows(Problem problem, std::int64_t M) {
  problem = with_columns(problem);
  problem.M = problem.order_d == Order::column_major ? M + 1 : M;
  // Of few rows lines may be so far apart that those of as many are not counted in 63 bits.
  constexpr std::int64_t far = std::int64_t{1} << 40;
  for (std::int64_t* const ld : {&problem.lda, &problem.ldc, &problem.ldd})
    if (*ld > 2 * far) *ld = far + *ld % far;
  problem.aligned.A = 16;
  if (problem.kind.a == Order::column_major) problem.lda = 0;
  problem.batch.stride_a = 0;
  if (problem.order_d == Order::column_major) problem.ldc = problem.ldd = problem.M;
  return resolved(problem);
}

}  // namespace

SumOrder order_of_any_rows(const Problem& problem, const BuiltInCard& card, const PackedOperands& prepared) {
  if (problem.kind.type == Type::s8) return SumOrder::exact;
  if (problem.kind.type != Type::e4m3) return SumOrder::along_k;
  Weighing of_warpgroups{{.workspace_bytes = SIZE_MAX, .batch_invariant = true, .prepared = prepared},
                         SumOrder::promoted};
  // There is no copy of each A of a batch.
  if (problem.batch.count > 1 && problem.batch.stride_a != 0) of_warpgroups.prepared.a = false;
  constexpr std::int64_t some_rows = 64;
  return quickest_way(with_rows(problem, some_rows), card, of_warpgroups) ? SumOrder::promoted : SumOrder::along_k;
}

Candidate::Candidate(const Way& way, const WayTime& expected)
    : kernel(way.kernel),
      copied{way.a.has_value(), way.b.has_value()},
      there{way.a && way.a->prepared, way.b && way.b->prepared},
      finishes(way.finishing.has_value()),
      parts(way.parts()),
      workspace_bytes(way.workspace_bytes),
      least_workspace_bytes(way.least_workspace_bytes()),
      time(expected) {}
PackedOperands Candidate::packs(const Problem& asked) const { return exchanged(asked, copied); }
PackedOperands Candidate::prepared(const Problem& asked) const { return exchanged(asked, there); }
PlannedWay Candidate::planned(const Problem& asked) const {
  return {.kernel = kernel->id,
          .packs_a = packs(asked).a,
          .packs_b = packs(asked).b,
          .workspace_bytes = workspace_bytes,
          .seconds = time.seconds,
          .limiter = time.limiter,
          .finishes = finishes,
          .prepared = prepared(asked),
          .waits = time.waits,
          .parts = parts};
}

const std::vector<PlannedWay>& PlanData::ways() const {
  std::call_once(told_, [&] {
    if (!weighed_with) {
      ways_ = {planned};
      return;
    }
    const double room = room_beside(problem, *card);
    const std::vector<Candidate> candidates = ways_left(problem, *card, *weighed_with);
    std::vector<std::pair<Rank, const Candidate*>> ranks;
    ranks.reserve(candidates.size());
    for (const Candidate& candidate : candidates) ranks.emplace_back(Rank(candidate, room), &candidate);
    std::sort(ranks.begin(), ranks.end());
    std::vector<PlannedWay> ways;
    ways.reserve(candidates.size());
    for (const auto& [rank, candidate] : ranks) ways.push_back(candidate->planned(problem));
    ways_ = std::move(ways);
  });
  return ways_;
}

std::vector<Candidate> ways_left(const Problem& problem, const BuiltInCard& card, const Weighing& options) {
  return candidates(problem, card, options, Wanted::all);
}

std::optional<Candidate> quickest_way(const Problem& problem, const BuiltInCard& card, const Weighing& options) {
  const double room = room_beside(problem, card);
  const std::vector<Candidate> ways = candidates(problem, card, options, Wanted::quickest);
  const auto best = std::min_element(
      ways.begin(), ways.end(), [&](const Candidate& a, const Candidate& b) { return Rank(a, room) < Rank(b, room); });
  return best == ways.end() ? std::nullopt : std::optional(*best);
}

const PackedMatrix* prepared_copy(const PlanData& plan, Matrix matrix) {
  if (matrix != Matrix::A && matrix != Matrix::B) return nullptr;
  const bool is_a = (matrix == Matrix::A) == (plan.problem.order_d == Order::row_major);
  const std::optional<PackedMatrix>& copy = is_a ? plan.way.a : plan.way.b;
  return copy && copy->prepared ? &*copy : nullptr;
}

void validate_batch(const Problem& p) {
  const Batch& b = p.batch;
  if (b.count < 0)
    throw Refusal(RefusalId::batch_count,
                  fmt::format("there are {} products in the batch; there are 0 or more", b.count));
  if (b.count <= 1) return;
  for (const auto& [matrix, stride] : {std::pair(Matrix::A, b.stride_a), std::pair(Matrix::B, b.stride_b),
                                       std::pair(Matrix::C, b.stride_c), std::pair(Matrix::D, b.stride_d)}) {
    const MatrixShape x = shape_of(p, matrix);
    if (x.empty() || (matrix == Matrix::C && !p.reads_c())) continue;
    if (stride < 0)
      throw Refusal(RefusalId::batch_stride,
                    fmt::format("{} begins {} elements after the one before; strides of batches are 0 or more",
                                name_of(matrix), stride));
    std::int64_t last = 0;
    if (__builtin_mul_overflow(b.count - 1, stride, &last) || __builtin_add_overflow(last, x.extent(), &last) ||
        __builtin_mul_overflow(last, std::int64_t{size_of(x.type)}, &last))
      throw Refusal(RefusalId::batch_bytes,
                    fmt::format("{} matrices {} that begin every {} elements take more than 2^63 bytes", b.count,
                                name_of(matrix), stride));
  }
  const MatrixShape d = shape_of(p, Matrix::D);
  if (d.empty()) return;
  // One behind the other, or side by side within a line.
  const bool behind = b.stride_d >= d.extent(),
             beside = b.stride_d >= d.length() && (b.count - 1) * b.stride_d + d.length() <= d.ld;
  if (!behind && !beside) {
    const std::int64_t farthest = (d.ld - d.length()) / (b.count - 1);
    throw Refusal(
        RefusalId::batch_overlap,
        fmt::format("D begins {} elements after the one before; results must not overlap: {}at least {}", b.stride_d,
                    farthest < d.length() ? ""
                    : farthest == d.length()
                        ? fmt::format("{}, side by side within a line, or ", farthest)
                        : fmt::format("{} to {}, side by side within a line, or ", d.length(), farthest),
                    d.extent()));
  }
  if (p.epilogue.residual && b.stride_residual < 0)
    throw Refusal(RefusalId::batch_stride,
                  fmt::format("the residual begins {} elements after the one before; strides of batches are 0 or more",
                              b.stride_residual));
  if (p.in_place && p.reads_c() && b.stride_c != b.stride_d)
    throw Refusal(
        RefusalId::in_place_stride,
        fmt::format("D is C, and begins every {} elements; C must as well, and does every {}", b.stride_d, b.stride_c));
}

void validate_groups(const Problem& p) {
  if (p.groups == 0) return;
  const auto require = [&](bool legal, std::string_view what) {
    if (!legal)
      throw Refusal(RefusalId::groups_kind, fmt::format("there are {} groups of products, and {}", p.groups, what));
  };
  const GemmKind& kind = p.kind;
  require((kind.type == Type::f16 || kind.type == Type::bf16) && kind.result == kind.type,
          fmt::format("they are of {}; A, B, C and D of groups must be all of f16, or all of bf16",
                      to_string(GemmKind(kind.type, kind.result))));
  require(kind.a == Order::row_major, "A is column-major; it must be row-major, as groups have rows of it");
  require(p.order_d == Order::row_major,
          "C and D are column-major; they must be row-major, as groups have rows of them");
  require(p.batch.count == 1, fmt::format("{} in the batch; there must be 1", p.batch.count));
  require(p.epilogue == Epilogue{}, fmt::format("{} is to follow; nothing may", to_string(p.epilogue)));
  for (const auto& [name, factor] : {std::pair("alpha", p.alpha), std::pair("beta", p.beta)})
    require(factor != Factor::in_device_memory, fmt::format("{} is in device memory; it must be the host's", name));
  require(p.alpha != Factor::zero, "alpha is 0; it must be another number");
  require(p.K > 0, "K is 0; it must be 1 or more");
}

}  // namespace library

using namespace library;

const std::string& Plan::id() const& { return data_->id; }
const Problem& Plan::problem() const& { return data_->problem; }
const std::string& Plan::card() const& { return data_->card->gpu.name; }
const PlannedWay& Plan::way() const& { return data_->planned; }
const std::vector<PlannedWay>& Plan::ways() const& { return data_->ways(); }

std::size_t Plan::prepared_bytes(Matrix matrix) const {
  const PackedMatrix* const copy = prepared_copy(*data_, matrix);
  if (!copy) return 0;
  const Packing& p = copy->packing;
  const std::int64_t lines = p.to == Order::row_major ? p.rows : p.cols;
  return static_cast<std::size_t>(lines * p.to_ld * size_of(p.type));
}

bool Plan::batch_invariant() const {
  if (data_->batch_invariant || way().kernel.empty()) return true;
  // A plan's problem may be in another form than it was asked for in.
  const SumOrder order = data_->weighed_with ? data_->weighed_with->order
                                             : order_of_any_rows(problem(), *data_->card, way().prepared);
  return way().parts == 1 && data_->way.kernel->sum_order() == order;
}

std::string Plan::why() const {
  const auto text = [](const PlannedWay& w) {
    return fmt::format("{}{}{}{}", w.kernel, w.parts > 1 ? fmt::format(" in {} parts of K", w.parts) : "",
                       w.packs_a && w.packs_b ? " on copies of A and B"
                       : w.packs_a            ? " on a copy of A"
                       : w.packs_b            ? " on a copy of B"
                                              : "",
                       w.finishes ? " and a second launch"
                       : w.waits  ? " once the launch before has ended"
                                  : "");
  };
  const PlannedWay& best = way();
  if (best.kernel.empty()) return "D has no elements: there is nothing to do";
  std::string why = fmt::format("{} is expected to take {:.4g} us, which go to {}", text(best), best.seconds * 1e6,
                                best.limiter);
  if (data_->card != &h200()) why += ", by what was measured of an H200";
  if (!data_->table.empty()) return why + fmt::format("; the table {} has it so", data_->table);
  if (data_->batch_invariant) why += "; it adds up as for any number of rows";
  const PlannedWay* next = ways().size() > 1 ? &ways()[1] : nullptr;
  if (data_->other && (!next || data_->other->seconds < next->seconds)) next = &*data_->other;
  if (!next) return why + "; it is the only way that was weighed";
  return why + fmt::format("; the next best, {}, {:.4g} us", text(*next), next->seconds * 1e6);
}

namespace {

/// The quickest way to compute a problem, or the single product that its batch is: the problem is that then.
/// @param other  the quickest way in a form that it is not
std::optional<Candidate> weigh(Problem& problem, const BuiltInCard& card, const Weighing& options,
                               std::optional<PlannedWay>& other) {
  const auto leave = [&](const Problem& form, const std::optional<Candidate>& way) {
    if (way && (!other || way->time.seconds < other->seconds)) other = way->planned(form);
  };
  std::optional<Candidate> found = quickest_way(problem, card, options);
  // In another form it may need a workspace that there is not, or have kernels that count farther.
  const std::vector<Problem> forms = forms_of(problem);
  for (auto form = forms.begin() + 1; form != forms.end(); ++form) {
    const std::optional<Candidate> way = quickest_way(*form, card, options);
    if (!way || (found && way->time.seconds > found->time.seconds)) {
      leave(*form, way);
      continue;
    }
    leave(problem, found);
    problem = *form;
    found = way;
  }
  return found;
}

}  // namespace

Plan plan(const Problem& asked, std::string_view card_name, const GemmOptions& options) {
  auto data = std::make_shared<PlanData>();
  const BuiltInCard& card = find_card(card_name);
  data->card = &card;
  data->batch_invariant = options.batch_invariant;
  data->problem = resolved(asked);
  validate(data->problem);
  validate_batch(data->problem);
  validate_groups(data->problem);
  if (has_results(data->problem)) {
    const Weighing weighing{options, order_of_any_rows(data->problem, card, options.prepared)};
    data->problem = with_plain_lines(data->problem);
    const bool free = !options.batch_invariant && options.kernel.empty() && !options.packs;
    const ChoiceTable* const table = free ? options.table.get() : nullptr;
    const ChoiceTable::Entry* entry = nullptr;
    if (table)  // its lines may be of any form, as ids are
      for (const Problem& form : forms_of(data->problem))
        if (!entry) entry = table->find(form);
    std::optional<Candidate> best;
    if (entry) {
      Weighing told = weighing;
      told.kernel = entry->kernel;
      told.packs = entry->packs;
      best = weigh(data->problem, card, told, data->other);
      if (best) {
        data->table = table->hash();
        data->weighed_with = std::move(told);
      }
    }
    // The table knows neither the card nor where lines begin: what cannot be done as it says is done as without it.
    if (!best) {
      best = weigh(data->problem, card, weighing, data->other);
      data->weighed_with = weighing;
    }
    if (!best) {
      const BrokenRule broken = why_no_way(data->problem, card, weighing);
      throw Refusal(broken.id, broken.why);
    }
    data->way = way_of(with_row_major_results(data->problem), *best->kernel, card.gpu.sms, best->copied, best->there,
                       best->parts)
                    .value();
    data->planned = best->planned(data->problem);
  }
  data->id = to_string(plan_id(*data));
  return Plan(std::move(data));
}

Plan plan_of(std::string_view text) {
  const PlanId id = parse_plan_id(text);
  auto data = std::make_shared<PlanData>();
  data->card = &find_card(id.card);
  data->problem = id.problem;
  data->id = text;
  data->table = id.table;
  const auto refuse = [&](RefusalId broken, const std::string& why) {
    throw Refusal(broken, fmt::format("the plan {} cannot be made: {}", text, why));
  };
  if (slug_of(data->card->gpu) != id.card)
    refuse(RefusalId::plan_id_card,
           fmt::format("its card is {}, which is written {}", id.card, slug_of(data->card->gpu)));
  validate(data->problem);
  validate_batch(data->problem);
  validate_groups(data->problem);
  const Problem problem = with_row_major_results(data->problem);
  const bool nothing = !has_results(problem);
  if (nothing && !id.kernel.empty())
    refuse(RefusalId::plan_id_kernel, fmt::format("D has no elements, and its kernel is {}; write none", id.kernel));
  if (!nothing && id.kernel.empty())
    refuse(RefusalId::plan_id_kernel, "D has elements, and its kernel is none; write one that computes it");
  if (nothing) {
    const std::string is = to_string(plan_id(*data));
    if (is != text) refuse(RefusalId::plan_id_form, fmt::format("of D without elements it is {}", is));
    return Plan(std::move(data));
  }
  const LibraryKernel* const known = library_kernel(find_kernel(id.kernel));
  std::optional<Way> way;
  if (known && known->rung->runs_on(data->card->gpu.compute_capability, known->kernel->kind))
    way = way_of(problem, *known, data->card->gpu.sms, exchanged(data->problem, id.packs),
                 exchanged(data->problem, id.prepared), id.parts);
  const auto time = way ? time_of(*way, problem.batch, *data->card, id.waits) : std::nullopt;
  if (time) data->planned = Candidate(*way, *time).planned(data->problem);
  // Of a matrix without elements there is no copy.
  if (!time || to_string(plan_id(*data)) != text) {
    const Weighing options{{.workspace_bytes = SIZE_MAX,
                            .fast_accumulation = true,
                            .kernel = id.kernel,
                            .packs = id.packs,
                            .prepared = id.prepared},
                           SumOrder::depends};
    // What it says is prepared may be what no run could find prepared.
    if (const auto found = quickest_way(data->problem, *data->card, options)) {
      data->planned = found->planned(data->problem);
      refuse(RefusalId::plan_id_form, fmt::format("that of its kernel is {}", to_string(plan_id(*data))));
    }
    const BrokenRule broken = why_no_way(data->problem, *data->card, options);
    refuse(broken.id, broken.why);
  }
  data->way = *std::move(way);
  return Plan(std::move(data));
}

}  // namespace lapidary
