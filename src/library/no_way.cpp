#include "library/no_way.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "library/canonical.hpp"
#include "library/kernel_cost.hpp"
#include "library/plan_data.hpp"

namespace lapidary::library {
namespace {

/// What of the options may leave ways out. The easier one is to mend the earlier it stands.
enum Part : unsigned { of_workspace = 1, of_accumulation = 2, of_packs = 4, of_rows = 8, of_kernel = 16 };
constexpr Part parts[] = {of_workspace, of_accumulation, of_packs, of_rows, of_kernel};
constexpr unsigned all_parts = 31;

/// Options that have these parts as they are given, and of the others what leaves no way out.
Weighing only(unsigned which, const Weighing& given) {
  Weighing o{{.workspace_bytes = SIZE_MAX, .fast_accumulation = true, .prepared = given.prepared}, given.order};
  if (which & of_workspace) o.workspace_bytes = given.workspace_bytes;
  if (which & of_accumulation) o.fast_accumulation = given.fast_accumulation;
  if (which & of_packs) o.packs = given.packs;
  if (which & of_rows) o.batch_invariant = given.batch_invariant;
  if (which & of_kernel) o.kernel = given.kernel;
  return o;
}

const char* copied(const PackedOperands& packs) {
  return packs.a && packs.b ? "A and B" : packs.a ? "A" : packs.b ? "B" : "neither A nor B";
}

std::string to_string(Part part, const GemmOptions& o) {
  switch (part) {
    case of_workspace: return fmt::format("workspace_bytes = {}", o.workspace_bytes);
    case of_accumulation: return fmt::format("fast_accumulation = {}", o.fast_accumulation);
    case of_packs: return fmt::format("packs of {}", copied(o.packs.value_or(PackedOperands())));
    case of_rows: return fmt::format("batch_invariant = {}", o.batch_invariant);
    case of_kernel: break;
  }
  return fmt::format("kernel = {}", o.kernel);
}

std::size_t least_workspace(const std::vector<Candidate>& ways) {
  const auto least = std::min_element(ways.begin(), ways.end(), [](const Candidate& x, const Candidate& y) {
    return x.least_workspace_bytes < y.least_workspace_bytes;
  });
  return least->least_workspace_bytes;
}

/// What ways copy: "neither A nor B, or B".
std::string copies_of(const Problem& problem, const std::vector<Candidate>& ways) {
  std::vector<const char*> names;
  for (const PackedOperands packs : {PackedOperands(), {true, false}, {false, true}, {true, true}})
    if (std::any_of(ways.begin(), ways.end(),
                    [&](const Candidate& candidate) { return packs == candidate.packs(problem); }))
      names.push_back(copied(packs));
  return fmt::format("{}", fmt::join(names, ", or "));
}

std::set<std::string_view> names_of_library_rungs() {
  std::set<std::string_view> names;
  for (const LibraryKernel& known : library_kernels()) names.insert(known.rung->name());
  return names;
}

/// Why a kernel computes a resolved problem with row-major results on a card in no way.
BrokenRule why_not(const KernelEntry& kernel, const Problem& problem, const BuiltInCard& card) {
  const LibraryKernel* const known = library_kernel(kernel);
  if (!known)
    return {RefusalId::kernel_lesson, fmt::format("{} is a lesson; the library chooses among kernels of {}",
                                                  kernel.id(), fmt::join(names_of_library_rungs(), ", "))};
  const GemmKind types(kernel.kind.type, kernel.kind.result), asked(problem.kind.type, stored_type(problem, *known));
  if (types != asked) {
    std::string why = fmt::format("{} computes {} products; the problem is of type {}", kernel.id(), to_string(types),
                                  to_string(GemmKind(problem.kind.type, problem.kind.result)));
    if (asked.result != problem.kind.result)
      why += fmt::format(", of which it would have to compute {} for a second launch", to_string(asked));
    return {RefusalId::kernel_type, std::move(why)};
  }
  const model::Gpu& gpu = card.gpu;
  if (std::string why = refusal(*known->rung, kernel.kind, gpu.name, gpu.compute_capability); !why.empty())
    return {RefusalId::kernel_card, std::move(why)};
  // What it does not take with copies of A and B it does not take without, unless it is of batches or groups, whose
  // matrices are not copied; where neither is read there are no copies.
  const bool several = (kernel.batches && problem.batch.count > 1) || kernel.groups;
  const bool packs = problem.K > 0 && problem.alpha != Factor::zero && !several;
  BrokenRule broken = {RefusalId::kernel_card,
                       fmt::format("no block of {} fits a multiprocessor of {}", kernel.id(), gpu.name)};
  if (!way_of(problem, *known, gpu.sms, {packs, packs}, {}, 0, &broken))
    broken.why = fmt::format("{}: {}", kernel.id(), broken.why);
  return broken;
}

/// Of a problem with row-major results that no kernel computes, whatever the options are.
BrokenRule why_no_kernel(const Problem& problem, const BuiltInCard& card) {
  // What kernels do not do and the library does.
  Problem one = problem;
  one.batch = {};
  one.epilogue = {};
  one.alpha = one.beta = Factor::any;
  const bool groups = problem.groups > 0;
  if (auto broken = unsupported(one, false, false, groups)) return *std::move(broken);
  const GemmKind types(problem.kind.type, stored_type(problem));
  const KernelEntry* runs = nullptr;
  int least = INT_MAX;  // compute capability
  for (const LibraryKernel& known : library_kernels()) {
    const GemmKind& kind = known.kernel->kind;
    if (GemmKind(kind.type, kind.result) != types || known.kernel->groups != groups) continue;
    if (groups && kind != problem.kind) continue;  // they take no copies, in another order
    least = std::min(least, known.rung->architecture(kind));
    if (!runs && known.rung->runs_on(card.gpu.compute_capability, kind)) runs = known.kernel;
  }
  if (!runs) {
    const std::string why = fmt::format("no kernel of the library computes {}{} products on {}",
                                        groups ? "groups of " : "", to_string(types), card.gpu.name);
    if (least == INT_MAX) return {RefusalId::card_kernels, why + "; it was built without any"};
    const int has = card.gpu.compute_capability;
    return {RefusalId::card_kernels,
            fmt::format("{}, which has compute capability {}.{}; the least that one needs is {}.{}", why, has / 10,
                        has % 10, least / 10, least % 10)};
  }
  BrokenRule broken = why_not(*runs, problem, card);
  if (broken.id == RefusalId::kernel_card) broken.id = RefusalId::card_kernels;
  if (broken.id == RefusalId::kernel_problem) broken.id = groups ? RefusalId::groups_operands : RefusalId::shape_tiles;
  return broken;
}

/// Of parts of the options that leave no way, of which each is needed for that.
BrokenRule why_parts(unsigned which, const Problem& problem, const BuiltInCard& card, const Weighing& options) {
  std::vector<std::string> given;
  for (const Part part : parts)
    if (which & part) given.push_back(to_string(part, options));
  const Part mended = *std::find_if(std::begin(parts), std::end(parts), [&](Part part) { return which & part; });
  const std::vector<Candidate> without = ways_left(problem, card, only(which & ~mended, options));
  const auto broken = [&](RefusalId id, const std::string& why) {
    return BrokenRule{id, fmt::format("{}: {}", fmt::join(given, " and "), why)};
  };
  switch (mended) {
    case of_workspace: {
      // Beside all other options, if they leave ways: what is enough without them may not be.
      std::size_t least = SIZE_MAX;
      for (const Problem& form : forms_of(problem))
        if (const auto ways = ways_left(form, card, only(all_parts & ~of_workspace, options)); !ways.empty())
          least = std::min(least, least_workspace(ways));
      return broken(RefusalId::option_workspace, fmt::format("the least workspace that is enough is {}",
                                                             least == SIZE_MAX ? least_workspace(without) : least));
    }
    case of_accumulation:
      return broken(RefusalId::option_fast_accumulation,
                    "sums are left to tensor cores, which fast_accumulation = true allows");
    case of_packs:
      return broken(RefusalId::option_packs,
                    fmt::format("there are ways with copies of {}", copies_of(problem, without)));
    case of_rows: {
      const Candidate freely = quickest_way(problem, card, only(which & ~mended, options)).value();
      const bool depends = freely.kernel->sum_order() == SumOrder::depends || freely.parts > 1;
      return broken(RefusalId::option_batch_invariant,
                    fmt::format("{}; without batch_invariant it is {}",
                                depends ? "the order in which it adds up depends on how many rows there are"
                                        : "no kernel that adds up in the order for any number of rows takes this one",
                                freely.kernel->id));
    }
    case of_kernel: break;
  }
  const BrokenRule of_it = why_not(find_kernel(options.kernel), with_row_major_results(problem), card);
  return broken(of_it.id, of_it.why);
}

/// Of options that leave none of the ways that there are.
BrokenRule why_options(const Problem& problem, const BuiltInCard& card, const Weighing& options) {
  const auto none_left = [&](unsigned which) { return !quickest_way(problem, card, only(which, options)); };
  BrokenRule all;
  const auto add = [&](unsigned which) {
    const BrokenRule broken = why_parts(which, problem, card, options);
    all = all.why.empty() ? broken : BrokenRule{all.id, all.why + "; and " + broken.why};
  };
  // Those that leave none alone, and of the others as many as leave none together.
  unsigned together = all_parts;
  for (const Part part : parts)
    if (none_left(part)) {
      add(part);
      together &= ~part;
    }
  if (!none_left(together)) return all;
  for (const Part part : parts)
    if ((together & part) && none_left(together & ~part)) together &= ~part;
  add(together);
  return all;
}

}  // namespace

BrokenRule why_no_way(const Problem& problem, const BuiltInCard& card, const Weighing& options) {
  const bool by_options = quickest_way(problem, card, only(0, options)).has_value();
  BrokenRule broken = by_options ? why_options(problem, card, options)
                                 : why_no_kernel(with_row_major_results(problem), card);
  if (by_options) broken.why = fmt::format("nothing computes the product on {} with {}", card.gpu.name, broken.why);
  using enum RefusalId;
  constexpr RefusalId of_matrices[] = {kernel_problem, shape_tiles, shape_copy};
  if (problem.order_d == Order::column_major &&
      std::find(std::begin(of_matrices), std::end(of_matrices), broken.id) != std::end(of_matrices))
    broken.why += " (of the transposed product, as D is column-major: A, B and M, N are exchanged)";
  return broken;
}

}  // namespace lapidary::library
