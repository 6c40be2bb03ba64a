#include "trial/trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <numeric>
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
#include "trial/several_tiles.hpp"
#include "trial/tokens.hpp"

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
    if (run.order == 0 && run.wrong.mistake == Mistake::unwritten)
      run.wrong.cause =
          "no thread writes them when it is launched again: what a launch leaves in `__device__` variables is not set "
          "back, or by the host, which is not run";
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

/// Several arrays of the launch's shared memory, which all begin at its first byte.
void look_at_extern_shared(const CudaSource& source, const CudaKernel& kernel, EmulatedRun& run) {
  static const std::regex declared = pattern(R"(\bextern\s+__shared__\s[^;]*?(\w+)\s*\[\s*\])");
  if (run.ok() || !run.wrong.cause.empty()) return;
  const std::string& code = source.code();
  std::vector<std::string> names;
  for (auto found = std::sregex_iterator(code.begin(), code.end(), declared); found != std::sregex_iterator();
       ++found) {
    const std::string name = (*found)[1];
    const bool known = std::find(names.begin(), names.end(), name) != names.end();
    if (!known && find_word(code, name, kernel.begin) < kernel.end) names.push_back(name);
  }
  if (names.size() < 2) return;
  run.wrong.cause = fmt::format(
      "{} and {} are both `extern __shared__`, and begin at the same byte: one is to begin behind the other", names[0],
      names[1]);
}

/// Whether a kernel is given a factor in a parameter that holds this one.
bool takes_factor(const Call& call, const char* role, float value) {
  if (!call.has(role)) return false;
  static const std::regex wide = pattern(R"(\b(float|double)\b)"),
                          narrow = pattern(R"(\b(half|__half|__nv_bfloat16|nv_bfloat16)\b)");
  const auto place = std::find(call.roles.begin(), call.roles.end(), role) - call.roles.begin();
  const std::string& type = call.kernel->parameters[static_cast<std::size_t>(place)].type;
  const bool is_narrow = to_float(from_float<f16>(value)) == value && to_float(from_float<bf16>(value)) == value;
  return value == std::trunc(value) || std::regex_search(type, wide) || (is_narrow && std::regex_search(type, narrow));
}

/// Whether a kernel that is right with numbers in C reads it where beta is 0, and has results that are none of NaN.
bool reads_c_at_zero(const KernelObject& object, const Call& call, const Request& request, const EmulatedRun& run) {
  if (!run.ok() || request.beta || request.initial_c != InitialC::nan || !takes_factor(call, "beta", 0)) return false;
  bench::RandomProblem at_zero = run.spec;
  at_zero.beta = 0;
  return !run_emulated(object, bench::resolve(at_zero), run.shape, run.operands, InitialC::nan).ok();
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
  // Such as no number of 16 bits is, to which a kernel may round them, where it is given them as f32.
  const auto fraction = [&](const char* role, float value) { return takes_factor(call, role, value) ? value : 0.5f; };
  try_with(fraction("alpha", 0.7f), fraction("beta", 0.6f));
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
  p.N = asked.N;
  p.K = asked.K;
  call.make_equal(p);
  const Gaps gaps = gaps_of(resolved(asked));
  p.lda = p.K + (call.has("lda") ? gaps.a : 0);
  p.ldb = p.N + (call.has("ldb") ? gaps.b : 0);
  p.ldc = p.N + (call.has("ldc") || p.in_place ? gaps.c : 0);
  p.ldd = p.in_place ? p.ldc : p.N + (call.has("ldd") ? gaps.d : 0);
  if (!request.alpha && takes_factor(call, "alpha", checked.alpha)) own.alpha = checked.alpha;
  if (!request.beta && takes_factor(call, "beta", checked.beta)) own.beta = checked.beta;
  return bench::resolve(own);
}

/// A problem of other sizes, whose lines have nothing between them.
bench::CheckProblem sized(const bench::RandomProblem& spec, const Problem& sizes, std::string tries) {
  bench::CheckProblem problem{spec, std::move(tries)};
  Problem& p = problem.spec.problem;
  p.M = sizes.M;
  p.N = sizes.N;
  p.K = sizes.K;
  p.lda = p.ldb = p.ldc = p.ldd = 0;
  return problem;
}

/// Sums that go several times round any ring of stages, whose depth nobody knows here; with one size for K and others
/// as long as is quick.
bench::CheckProblem long_sums(const Call& call, const bench::RandomProblem& spec) {
  Problem p{.M = 32, .N = 64, .K = 1152};
  if (call.is_equal('K'))
    for (const char size : call.equal) size_named(p, size) = 192;
  return sized(spec, p, "sums longer than rings of stages");
}

/// Where the request's problem is right: each size alone as one that is no multiple of the kernel's tile, by whole
/// vectors if that can be, so that what goes wrong is not their alignment.
std::vector<bench::CheckProblem> beside_whole_tiles(const Call& call, const TileShape& tile,
                                                    const bench::RandomProblem& spec) {
  std::vector<bench::CheckProblem> problems;
  const std::int64_t vector = 16 / size_of(spec.problem.kind.type);
  for (const char size : {'M', 'N', 'K'}) {
    const bool together = call.is_equal(size);
    if (together && size != call.equal[0]) continue;
    std::int64_t whole = 1;
    std::string names;
    for (const char one : {'M', 'N', 'K'}) {
      if (one != size && !(together && call.is_equal(one))) continue;
      whole = std::lcm(whole, std::int64_t{std::max(one == 'M' ? tile.m : one == 'N' ? tile.n : tile.k, 1)});
      names += fmt::format("{}{}", names.empty() ? "" : " = ", one);
    }
    if (whole == 1 && names != "K") continue;  // of K the step may be one that nothing tells
    Problem p = spec.problem;
    size_named(p, size) += whole == 1 || vector % whole ? vector : 1;
    if (together) call.make_equal(p);
    const std::string rule = whole == 1 ? fmt::format("not {}", spec.problem.K)
                                        : fmt::format("no multiple of {}", whole);
    problems.push_back(sized(spec, p, fmt::format("{} is {}", names, rule)));
  }
  return problems;
}

/// What went wrong, in a line.
std::string in_short(const EmulatedRun& run) {
  const std::string& text = run.fault ? run.fault->message : run.verification.message;
  return text.substr(0, text.find_first_of(run.fault ? "\n" : ";"));
}

/// The same kernel on other problems.
class Others {
 public:
  Others(const KernelObject& object, const CudaSource& source, const Call& call, const Layouts& layouts,
         const bench::RandomProblem& spec, const Request& request, Trial& trial)
      : object_(object),
        source_(source),
        call_(call),
        layouts_(layouts),
        spec_(spec),
        request_(request),
        longer_(request),
        trial_(trial) {
    longer_.lda = longer_.ldb = longer_.ldc = longer_.ldd = std::nullopt;
  }

  /// On the problems that rungs are checked on, until one is wrong; if the launch has no block for some of them, also
  /// where it does.
  void run() {
    constexpr TileShape usual = {32, 64, 8};
    run_list(usual);
    if (!right_ || trial_.not_taken.empty()) return;
    const TileShape tile = tile_of(source_, call_, request_);
    // All of them: what is not wrong is as telling as what is.
    for (const bench::CheckProblem& problem : beside_whole_tiles(call_, tile, spec_)) run_on(problem, most_products);
    if (right_) run_list({tile.m ? tile.m : usual.m, tile.n ? tile.n : usual.n, tile.k ? tile.k : usual.k});
  }

 private:
  /// Multiply-adds; with one size for all three there may be many.
  static constexpr std::int64_t quick = 8 << 20;

  void run_list(const TileShape& tile) {
    std::vector<bench::CheckProblem> problems = bench::check_problems(spec_.problem.kind, tile);
    problems.push_back(long_sums(call_, spec_));
    for (const bench::CheckProblem& problem : problems)
      if (right_) run_on(problem, quick);
  }

  void run_on(const bench::CheckProblem& problem, std::int64_t most) {
    const auto other = allowed(call_, request_, spec_, problem.spec);
    if (!other || other->problem.M * other->problem.N * other->problem.K > most) return;
    const Problem& p = other->problem;
    const std::pair one = {p, Factors{other->alpha, other->beta}};
    if (std::find(run_.begin(), run_.end(), one) != run_.end()) return;
    run_.push_back(one);
    const Operands operands = operands_of(call_, layouts_, p, longer_, gaps_of(p));
    LaunchShape shape{};
    try {
      shape = shape_of(source_, call_, request_, p);
      check_shared_memory(source_, call_, request_, shape, object_.static_shared_bytes());
    } catch (const InvalidArgument& error) {  // a number of blocks that is rounded down may be 0
      if (trial_.not_taken.empty()) trial_.not_taken = fmt::format("{}: {}", bench::sizes_of(p), error.what());
      return;
    }
    // Every second one in a random order.
    const std::uint64_t order = trial_.tried.size() % 2 ? trial_.tried.size() + 1 : 0;
    EmulatedRun found = run_emulated(object_, *other, shape, operands, numbers_unless_given(request_), order);
    if (right_) {
      right_ = found.ok();
      trial_.tried.push_back(problem.tries);
      trial_.other = std::move(found);
    } else if (!found.ok()) {
      trial_.wrong_too.push_back(fmt::format("{} ({}): {}", bench::sizes_of(p), problem.tries, in_short(found)));
    }
  }

  const KernelObject& object_;
  const CudaSource& source_;
  const Call& call_;
  const Layouts& layouts_;
  const bench::RandomProblem& spec_;
  const Request& request_;
  Request longer_;
  Trial& trial_;
  std::vector<std::pair<Problem, Factors>> run_;
  bool right_ = true;  ///< up to now
};

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

/// Whether the names of all matrices tell what they are. Results may be called D where there is no C.
bool are_named(const Call& call) {
  for (std::size_t i = 0; i < call.roles.size(); ++i) {
    const CudaParameter& parameter = call.kernel->parameters[i];
    if (!parameter.elements()) continue;
    const std::string named = role_of(parameter);
    if (named != call.roles[i] && !(named == "D" && call.roles[i] == "C")) return false;
  }
  return true;
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
              .equal = call.square ? "" : call.equal,
              .warnings = object.warnings(),
              .run = run_emulated(object, spec, shape, operands_of(call, layouts, p, request, {}), request.initial_c)};
  for (std::size_t i = 0; i < call.roles.size() && !call.square; ++i)
    if (is_size(call.roles[i])) trial.sizes.emplace_back(call.kernel->parameters[i].name, call.roles[i]);
  if (call.launch && source.has_other_launch(*call.launch) && (request.grid.empty() || request.block.empty()))
    trial.launch_line = source.line_of(call.launch->position);
  if (request.roles.empty() && !are_named(call))
    for (std::size_t i = 0; i < call.roles.size(); ++i)
      if (call.kernel->parameters[i].elements())
        trial.matrices.emplace_back(call.kernel->parameters[i].name, call.roles[i]);
  trial.launches = try_orders(object, trial.run);
  trial.factors = try_factors(object, call, request, trial.run);
  trial.reads_c_at_zero = reads_c_at_zero(object, call, request, trial.run);
  look_at_c(object, call, trial.run);
  look_at_volatile(source, trial.run);
  look_at_extern_shared(source, *call.kernel, trial.run);
  if (trial.run.ok()) {
    if (!request.m && !request.n && !request.k && call.constants.empty())
      Others(object, source, call, layouts, spec, request, trial).run();
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
