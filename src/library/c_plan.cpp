#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "library/c_face.hpp"

struct lapidary_plan {
  explicit lapidary_plan(lapidary::Plan made, const std::optional<lapidary::Operands>& asked = {})
      : plan(std::move(made)), operands(asked) {}

  const lapidary::Plan plan;
  const std::optional<lapidary::Operands> operands;  ///< that it was created with; nothing if it was from its id
  mutable std::once_flag told;
  mutable std::string why;
};

namespace lapidary::c_face {
namespace {

Operands operands_of(const lapidary_plan& plan, float alpha, float beta, const lapidary_operands& given) {
  const Epilogue& epilogue = plan.plan.problem().epilogue;
  Operands operands = plan.operands.value_or(Operands());
  if (!plan.operands && epilogue.scale) required(given.scale, "the scale of the operands");
  if (!plan.operands && epilogue.clamp) required(given.limits, "the limits of the operands");
  operands.A = given.A;
  operands.B = given.B;
  operands.C = given.C;
  operands.D = given.D;
  operands.prepared_a = given.prepared_a;
  operands.prepared_b = given.prepared_b;
  operands.alpha = alpha;
  operands.beta = beta;
  operands.group_ends = given.group_ends;
  if (given.bias) operands.bias = given.bias;
  if (given.residual) operands.residual = given.residual;
  if (given.scale) operands.scale = *given.scale;
  if (given.limits) operands.low = given.limits[0], operands.high = given.limits[1];
  if (given.device_alpha) operands.device_alpha = given.device_alpha;
  if (given.device_beta) operands.device_beta = given.device_beta;
  return operands;
}

}  // namespace
}  // namespace lapidary::c_face

using namespace lapidary;
using namespace lapidary::c_face;

lapidary_status lapidary_table_create(const char* text, lapidary_table** table) {
  return guarded([&] {
    lapidary_table*& place = required(table, "the place of the table");
    place = new lapidary_table{std::make_shared<const ChoiceTable>(&required(text, "the text"))};
  });
}

void lapidary_table_destroy(lapidary_table* table) { delete table; }

lapidary_status lapidary_plan_create(lapidary_context* context, const char* card, float alpha, const lapidary_matrix* A,
                                     const lapidary_matrix* B, float beta, const lapidary_matrix* C,
                                     const lapidary_matrix* D, const lapidary_options* options, lapidary_plan** plan) {
  return guarded([&] {
    lapidary_plan*& place = required(plan, "the place of the plan");
    const auto [problem, operands] = asked(alpha, A, B, beta, C, D, options).product();
    GemmOptions known = options_of(options);
    const lapidary_options given = known_of(options);
    known.prepared = {given.prepared_a != 0, given.prepared_b != 0};
    place = new lapidary_plan(card ? lapidary::plan(problem, card, known) : context_of(context).plan(problem, known),
                              operands);
  });
}

lapidary_status lapidary_plan_from_id(const char* id, lapidary_plan** plan) {
  return guarded([&] {
    lapidary_plan*& place = required(plan, "the place of the plan");
    place = new lapidary_plan(plan_of(&required(id, "the id")));
  });
}

void lapidary_plan_destroy(lapidary_plan* plan) { delete plan; }

lapidary_status lapidary_plan_describe(const lapidary_plan* plan, lapidary_plan_info* info) {
  return guarded([&] {
    const lapidary_plan& known = required(plan, "the plan");
    lapidary_plan_info& place = required(info, "the place of what the plan says");
    require_size(place.size, offsetof(lapidary_plan_info, id), sizeof(place), "place of what the plan says",
                 "lapidary_plan_info");
    std::call_once(known.told, [&] { known.why = known.plan.why(); });
    const PlannedWay& way = known.plan.way();
    const ErrorBound bound = known.plan.error_bound();
    const lapidary_plan_info all = {
        .size = place.size,
        .id = known.plan.id().c_str(),
        .card = known.plan.card().c_str(),
        .kernel = way.kernel.c_str(),
        .why = known.why.c_str(),
        .seconds = way.seconds,
        .workspace_bytes = way.workspace_bytes,
        .prepared_a_bytes = known.plan.prepared_bytes(Matrix::A),
        .prepared_b_bytes = known.plan.prepared_bytes(Matrix::B),
        .packs_a = way.packs_a,
        .packs_b = way.packs_b,
        .finishes = way.finishes,
        .batch_invariant = known.plan.batch_invariant(),
        .error_products = bound.products,
        .error_addend = bound.addend,
        .error_rounding = bound.rounding,
        .error_least = bound.least,
        .parts = way.parts,
        .waits = way.waits,
    };
    std::memcpy(&place, &all, place.size);
  });
}

lapidary_status lapidary_prepare(lapidary_context* context, const lapidary_plan* plan, void* stream,
                                 lapidary_operand operand, const void* from, void* to) {
  return guarded([&] {
    const Plan& known = required(plan, "the plan").plan;
    const Stream where = stream_of(context, stream);
    context_of(context).prepare(known, where, value_of(static_cast<int>(operand), "the operand", Matrix::B), from, to);
  });
}

lapidary_status lapidary_run(lapidary_context* context, const lapidary_plan* plan, void* stream, float alpha,
                             float beta, const lapidary_operands* operands, void* workspace) {
  return guarded([&] {
    const lapidary_plan& known = required(plan, "the plan");
    const lapidary_operands given = known_of(&required(operands, "the argument operands"));
    const Stream where = stream_of(context, stream);
    context_of(context).run(known.plan, where, operands_of(known, alpha, beta, given), workspace);
  });
}
