#include "lens/explain.hpp"

#include <algorithm>

#include "kernels/sources.hpp"
#include "kernels/streamed.hpp"
#include "lens/compiled_accesses.hpp"
#include "lens/counter_comparison.hpp"
#include "lens/memory_traffic.hpp"
#include "lens/prediction.hpp"
#include "lens/rung_record.hpp"
#include "model/measured.hpp"

namespace lapidary::lens {
namespace {

std::optional<Executed> executed_of(const Explanation& e) {
  if (!takes_recorded_path(e) || !e.compiled->main_loop()) return std::nullopt;
  if (e.compiled->is_warpgroup()) return Executed{model::warpgroup_pass(*e.compiled), std::nullopt};
  if (!e.program) return std::nullopt;
  return Executed{e.program->pass, e.program->warp};
}

}  // namespace

Explanation explain(const Question& q) {
  if (const Choice choice = choose(*q.kernel, q.problem); choice.kernel != q.kernel) {
    Explanation e = explain({&find_rung(choice.kernel->rung), choice.kernel, q.problem, q.gpu});
    e.instead = q.kernel;
    e.why = choice.why;
    return e;
  }
  const Problem& p = q.problem;
  Explanation e{};
  e.question = q;
  e.observation = observation_of(q);
  const model::GemmShape gemm = q.gemm();
  e.flop = model::flop(gemm);
  e.compulsory_bytes = model::compulsory_bytes(gemm);
  e.intensity = model::arithmetic_intensity(e.flop, e.compulsory_bytes);
  e.least = least_time(e);
  e.matrices = matrix_traffic(q, e.observation.written);
  e.operand_reads = operand_reads(q, e.matrices);
  e.shared = shared_traffic(e.observation.written);
  e.shared_loads = shared_loads(q, e.observation);
  e.compiled = model::find_compiled(q.kernel->id());
  e.stale = e.compiled && e.compiled->source_hash != rung_source_hash(q.rung->name());
  if (e.compiled) {
    e.compiled_accesses = compiled_accesses(*e.compiled, e.observation.written);
    e.addresses = model::address_work(*e.compiled);
  }
  predict(e);
  e.executed = executed_of(e);
  for (const model::MeasuredRate& rate : model::measured_rates(q.gpu))
    if (rate.id == q.kernel->id() && rate.mode == "burst" && rate.size == p.M && p.M == p.N && p.N == p.K)
      e.measured_seconds = e.flop / rate.flops;
  for (const model::MeasuredCounters& launch : model::measured_counters(q.gpu)) {
    if (launch.id != q.kernel->id() || launch.M != p.M || launch.N != p.N || launch.K != p.K ||
        launch.reads_c != p.reads_c())
      continue;
    e.counters = compare_counters(e, launch.counters);
    e.stalls = stalls_of(launch.counters);
  }
  return e;
}

std::optional<Explanation> explain_on_record(const Question& question) {
  for (const model::MeasuredCounters& launch : model::measured_counters(question.gpu)) {
    if (launch.id != question.kernel->id()) continue;
    if (!question.kernel->builds[static_cast<std::size_t>(Build::instrumented)]) break;
    Question q = question;
    q.problem = {.kind = question.problem.kind,
                 .M = launch.M,
                 .N = launch.N,
                 .K = launch.K,
                 .beta = launch.reads_c ? Factor::any : Factor::zero};
    if (choose(*q.kernel, q.problem).kernel == q.kernel) return explain(q);
  }
  return std::nullopt;
}

Problem page_problem(const KernelEntry& kernel) {
  Problem problem = {.kind = kernel.kind, .M = page_size, .N = page_size, .K = page_size};
  if (!refusal(kernel, resolved(problem)).empty())
    (streams_a(kernel.tile) ? problem.N : problem.M) = short_side(kernel.tile);
  return problem;
}

Explanation explain_for_page(const Rung& rung, const model::Gpu& gpu) {
  const KernelEntry& kernel = rung.kernels.front();
  return explain({&rung, &kernel, page_problem(kernel), gpu});
}

}  // namespace lapidary::lens
