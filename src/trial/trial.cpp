#include "trial/trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <regex>
#include <utility>

#include "bench/check.hpp"
#include "core/error.hpp"
#include "core/pattern.hpp"
#include "lens/observe.hpp"
#include "trial/cuda_source.hpp"
#include "trial/kernel_call.hpp"
#include "trial/kernel_launch.hpp"
#include "trial/kernel_object.hpp"
#include "trial/kernel_problem.hpp"
#include "trial/load_widths.hpp"

namespace lapidary::trial {
namespace {

/// The same problem once more, in other orders of blocks and threads, and with what earlier launches have left in
/// variables of the device. `run` becomes the first that is wrong. Returns how often it was launched, in all.
int try_orders(const KernelObject& object, EmulatedRun& run) {
  constexpr std::uint64_t most = 2;
  int launches = 1;
  for (std::uint64_t order = 1; order <= most && run.ok(); ++order) {
    ++launches;
    EmulatedRun again = run_emulated(object, run.spec, run.shape, run.operands, run.initial_c, order);
    if (again.ok()) continue;
    // What is wrong in any order now was left wrong by the launches before.
    EmulatedRun in_order = run_emulated(object, run.spec, run.shape, run.operands, run.initial_c);
    run = std::move(in_order.ok() ? again : in_order);
  }
  return launches;
}

/// What else C may hold. That it is not read where beta is 0 is no more than a promise of BLAS: most kernels that are
/// given beta compute beta C always.
InitialC numbers_unless_given(const Request& request) {
  return request.initial_c == InitialC::nan ? InitialC::numbers : request.initial_c;
}

/// Of results that are no numbers, what a kernel does with C: once more with one of numbers.
void look_at_c(const KernelObject& object, const Call& call, EmulatedRun& run) {
  if (run.fault || run.initial_c != InitialC::nan || run.spec.beta != 0 || run.wrong.mistake != Mistake::not_numbers)
    return;
  const EmulatedRun given = run_emulated(object, run.spec, run.shape, run.operands, InitialC::numbers, run.order);
  if (given.fault) return;
  if (given.wrong.mistake == Mistake::not_numbers) {
    run.wrong.cause =
        "they are not numbers, whatever C holds: what lies between the rows is read, or memory before it is written, "
        "or a variable or array of the thread's own is added to before it is set, or 0 is divided by 0";
  } else if (given.wrong.mistake == Mistake::c_without_beta && !call.has("beta")) {
    run.wrong.mistake = Mistake::adds_to_c;
    run.wrong.cause =
        "A B is added to what C holds, which is nothing in memory that is new: --initial-c zeros is for a kernel "
        "whose C is set to 0 before, --initial-c numbers for one that computes D = A B + C";
  } else {
    run.wrong.mistake = Mistake::reads_c;
    run.wrong.cause = "C is read where beta is 0, and may hold NaN or infinity there; with numbers in it ";
    run.wrong.cause += given.ok()                  ? "all results are right"
                       : given.wrong.cause.empty() ? "they are wrong, too"
                                                   : "they are wrong, too: " + given.wrong.cause;
  }
}

/// A barrier that is missing between accesses to volatile memory shows in the results alone: they are taken for words
/// that threads tell each other.
void look_at_volatile(const CudaSource& source, EmulatedRun& run) {
  static const std::regex qualifier = pattern(R"(\bvolatile\b(?!\s*\())");  // not of inline PTX
  if (run.fault || run.ok() || !run.wrong.cause.empty() || !std::regex_search(source.code(), qualifier)) return;
  run.wrong.cause =
      "accesses to volatile memory are taken for words that threads tell each other, and are no race: without "
      "`volatile` what no barrier orders is reported";
}

/// Whether a kernel is given a factor in a parameter that holds this one.
bool takes_factor(const Call& call, const char* role, float value) {
  if (!call.has(role)) return false;
  static const std::regex real = pattern(R"(\b(float|double|half|__half|__nv_bfloat16|nv_bfloat16)\b)");
  const auto place = std::find(call.roles.begin(), call.roles.end(), role) - call.roles.begin();
  return value == std::trunc(value) ||
         std::regex_search(call.kernel->parameters[static_cast<std::size_t>(place)].type, real);
}

/// The same problem with factors for which kernels take ways of their own: 0 and 1, and what may be taken for them, a
/// negative number and one between the two. Those that are given stay. Returns what it was tried with; `run` becomes
/// the first that is wrong.
std::vector<Factors> try_factors(const KernelObject& object, const Call& call, const Request& request,
                                 EmulatedRun& run) {
  const bench::RandomProblem spec = run.spec;
  std::vector<Factors> tried = {{spec.alpha, spec.beta}};
  const auto chosen = [&](const char* role, const std::optional<float>& given, float own, float other) {
    return !given && takes_factor(call, role, other) ? other : own;
  };
  const auto try_with = [&](float alpha, float beta) {
    if (!run.ok()) return;
    const Factors one{chosen("alpha", request.alpha, spec.alpha, alpha), chosen("beta", request.beta, spec.beta, beta)};
    if (std::find(tried.begin(), tried.end(), one) != tried.end()) return;
    bench::RandomProblem other = spec;
    other.alpha = one.alpha;
    other.beta = one.beta;
    tried.push_back(one);
    EmulatedRun again = run_emulated(object, bench::resolve(other), run.shape, run.operands,
                                     numbers_unless_given(request));
    if (!again.ok()) run = std::move(again);
  };
  try_with(spec.alpha, 0);
  try_with(1, spec.beta);
  try_with(1, 0);
  try_with(1, 1);
  try_with(0, spec.beta);
  try_with(-1, 1);
  try_with(spec.alpha, -1);
  try_with(0.5f, 0.5f);
  return tried;
}

/// Whether a matrix's leading dimension is one of the kernel's parameters, and of 64 bits.
bool takes_far_lines(const Call& call, const char* role) {
  if (!call.has(role)) return false;
  static const std::regex wide = pattern(R"(\b(u?int64_t|size_t|ssize_t|ptrdiff_t|long)\b)");
  const auto place = std::find(call.roles.begin(), call.roles.end(), role) - call.roles.begin();
  return std::regex_search(call.kernel->parameters[static_cast<std::size_t>(place)].type, wide);
}

/// What is left of a problem that rungs are checked on, if the kernel's arguments allow it: bases stay aligned, lines
/// are far apart where all leading dimensions that the kernel takes have 64 bits, and factors are those of the list
/// where the kernel is given them.
std::optional<bench::RandomProblem> allowed(const Call& call, const Request& request, const bench::RandomProblem& spec,
                                            const bench::RandomProblem& checked) {
  bench::RandomProblem own = spec;
  const Problem& asked = checked.problem;
  Problem& p = own.problem;
  const bool far = std::any_of(std::begin(all_matrices), std::end(all_matrices),
                               [&](Matrix matrix) { return bench::is_far(shape_of(asked, matrix)); });
  if (checked.displacement != bench::Displacement{}) return std::nullopt;
  const char* const told[] = {"lda", "ldb", "ldc", "ldd"};
  const auto narrow = [&](const char* role) { return call.has(role) && !takes_far_lines(call, role); };
  const bool none = std::none_of(std::begin(told), std::end(told), [&](const char* role) { return call.has(role); });
  if (far && (none || std::any_of(std::begin(told), std::end(told), narrow))) return std::nullopt;
  p.M = asked.M;
  p.N = call.square ? asked.M : asked.N;
  p.K = call.square ? asked.M : asked.K;
  constexpr std::int64_t quick = 8 << 20;  // multiply-adds; with one size for all three there may be many
  if (p.M * p.N * p.K > quick) return std::nullopt;
  const Gaps gaps = gaps_of(resolved(asked));
  p.lda = p.K + (call.has("lda") ? gaps.a : 0);
  p.ldb = p.N + (call.has("ldb") ? gaps.b : 0);
  p.ldc = p.N + (call.has("ldc") || p.in_place ? gaps.c : 0);
  p.ldd = p.in_place ? p.ldc : p.N + (call.has("ldd") ? gaps.d : 0);
  if (!request.alpha && takes_factor(call, "alpha", checked.alpha)) own.alpha = checked.alpha;
  if (!request.beta && takes_factor(call, "beta", checked.beta)) own.beta = checked.beta;
  return bench::resolve(own);
}

/// Sums that go several times round any ring of stages, whose depth nobody knows here; with one size for all three as
/// long as is quick.
bench::CheckProblem long_sums(const Call& call, const bench::RandomProblem& spec) {
  bench::CheckProblem problem{spec, "sums longer than rings of stages"};
  Problem& p = problem.spec.problem;
  p.M = call.square ? 192 : 32;
  p.N = call.square ? 192 : 64;
  p.K = call.square ? 192 : 1152;
  p.lda = p.ldb = p.ldc = p.ldd = 0;
  return problem;
}

/// The same kernel on the problems that rungs are checked on, until one is wrong.
void try_others(const KernelObject& object, const CudaSource& source, const Call& call, const Layouts& layouts,
                const bench::RandomProblem& spec, const Request& request, Trial& trial) {
  constexpr TileShape tile = {32, 64, 8};
  std::vector<std::pair<Problem, Factors>> tried;
  Request longer = request;
  longer.lda = longer.ldb = longer.ldc = longer.ldd = std::nullopt;
  std::vector<bench::CheckProblem> problems = bench::check_problems(spec.problem.kind, tile);
  problems.push_back(long_sums(call, spec));
  for (const bench::CheckProblem& problem : problems) {
    const auto other = allowed(call, request, spec, problem.spec);
    if (!other) continue;
    const Problem& p = other->problem;
    const std::pair one = {p, Factors{other->alpha, other->beta}};
    if (std::find(tried.begin(), tried.end(), one) != tried.end()) continue;
    tried.push_back(one);
    const Operands operands = operands_of(call, layouts, p, longer, gaps_of(p));
    LaunchShape shape{};
    try {
      shape = shape_of(source, call, request, p);
      check_shared_memory(source, call, request, shape, object.static_shared_bytes());
    } catch (const InvalidArgument& error) {  // a number of blocks that is rounded down may be 0
      if (trial.not_taken.empty()) trial.not_taken = fmt::format("{}: {}", bench::sizes_of(p), error.what());
      continue;
    }
    trial.tried.push_back(problem.tries);
    // Every second one in a random order.
    const std::uint64_t order = trial.tried.size() % 2 ? 0 : trial.tried.size();
    trial.other = run_emulated(object, *other, shape, operands, numbers_unless_given(request), order);
    if (!trial.other->ok()) return;
  }
}

/// Layouts with which a kernel is right that is wrong or out of bounds with those that were tried.
std::optional<Layouts> other_layouts(const KernelObject& object, const Call& call, const Request& request,
                                     const EmulatedRun& run, const Layouts& tried) {
  const bool given = !request.layout.empty() || request.lda || request.ldb || request.ldc || request.ldd;
  const bool of_layouts = run.fault ? run.fault->kind == FaultKind::out_of_bounds : !is_of_factors(run.wrong.mistake);
  if (run.ok() || given || !of_layouts) return std::nullopt;
  for (const Layouts& layouts :
       {Layouts{true, true, true}, Layouts{false, true, false}, Layouts{true, false, false}, Layouts{false, true, true},
        Layouts{true, false, true}, Layouts{true, true, false}, Layouts{false, false, true}}) {
    if (layouts == tried) continue;
    const Operands stored = operands_of(call, layouts, run.spec.problem, request, {});
    if (run_emulated(object, run.spec, run.shape, stored, run.initial_c).ok()) return layouts;
  }
  return std::nullopt;
}

/// Counts loads from shared memory as the machine has them. nvcc is asked for their widths only where its answer
/// matters.
std::optional<AsCompiled> as_compiled(const CudaSource& source, const Call& call, const KernelObject& object,
                                      const Request& request, const std::string& instance, const EmulatedRun& run) {
  const auto loads = [](const emulator::Report& report) { return report.total.shared_load.instructions; };
  if (run.fault || loads(run.report) == 0) return std::nullopt;
  const Variables before = object.variables();
  using Widest = std::function<unsigned(const std::string& file, int line)>;
  const auto merged = [&](const Widest& widest) {
    const auto merge = lens::merged_loads(run.report, widest);
    if (merge.empty()) return run.report;
    emulator::Report report = count_merged(object, run, merge);
    before.restore();
    return report;
  };
  AsCompiled compiled{merged({}), {}};
  if (loads(compiled.report) == loads(run.report)) return std::nullopt;
  const auto widths = load_widths(source, *call.kernel, instance, call.roles, request.keep);
  if (!widths) return compiled;
  compiled = {merged([&](const std::string& file, int line) { return widths->widest(file, line); }), widths->compiler};
  if (loads(compiled.report) == loads(run.report)) return std::nullopt;
  return compiled;
}

/// Takes from what outlives the source and the object of a kernel what points into them.
void detach(emulator::Report& report) {
  report.launches.clear();
  for (emulator::AccessSite& site : report.sites) site.pcs.clear();
}
void detach(EmulatedRun& run) {
  run.shape.kernel = "";
  detach(run.report);
}

}  // namespace

Trial try_kernel(const Request& request) {
  CudaSource source(request.file);
  Call call = bind_call(source, request);
  const Layouts layouts = request.layout.empty() ? Layouts() : parse_layouts(request.layout);
  const bench::RandomProblem spec = problem_of(source, call, request);
  const Problem& p = spec.problem;
  for (const auto& [role, constant] : call.constants)
    source.redefine(constant, std::to_string(role == "M" ? p.M : role == "N" ? p.N : p.K));

  const std::string instance = instantiate(source, call);
  const LaunchShape shape = shape_of(source, call, request, p);
  const KernelObject object(source, *call.kernel, instance, call.roles, request.keep);
  check_shared_memory(source, call, request, shape, object.static_shared_bytes());
  Trial trial{.kernel = instance,
              .layouts = layouts,
              .shared_bytes = object.static_shared_bytes() + shape.shared_bytes,
              .takes_leading_dimensions = call.has("lda") || call.has("ldb") || call.has("ldc") || call.has("ldd"),
              .constants = call.constants,
              .warnings = object.warnings(),
              .run = run_emulated(object, spec, shape, operands_of(call, layouts, p, request, {}), request.initial_c)};
  trial.launches = try_orders(object, trial.run);
  trial.factors = try_factors(object, call, request, trial.run);
  look_at_c(object, call, trial.run);
  look_at_volatile(source, trial.run);
  if (trial.run.ok()) {
    if (!request.m && !request.n && !request.k && call.constants.empty())
      try_others(object, source, call, layouts, spec, request, trial);
    trial.gpu = run_on_gpu(source, call, instance, layouts, request, trial.run);
  } else {
    trial.right_with = other_layouts(object, call, request, trial.run, layouts);
  }
  trial.compiled = as_compiled(source, call, object, request, instance, trial.run);
  trial.advice = advice_of(trial.compiled ? trial.compiled->report : trial.run.report);
  detach(trial.run);
  if (trial.other) detach(*trial.other);
  if (trial.compiled) detach(trial.compiled->report);
  return trial;
}

}  // namespace lapidary::trial
