#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bench/rates.hpp"
#include "cli/command.hpp"
#include "cli/counter_table.hpp"
#include "cli/cuda_source.hpp"
#include "cli/json.hpp"
#include "cli/kernel_call.hpp"
#include "cli/kernel_object.hpp"
#include "cli/matrix_image.hpp"
#include "cli/options.hpp"
#include "cli/trial.hpp"
#include "core/error.hpp"
#include "lens/source_text.hpp"
#include "report/terminal.hpp"
#include "report/text.hpp"

namespace lapidary::cli {
namespace {

std::string extent_text(const Extent3& e) { return fmt::format("({}, {}, {})", e.x, e.y, e.z); }

void print_lines(const std::string& text, int indent) {
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    fmt::print("{:{}}{}\n", "", indent, text.substr(begin, end - begin));
    begin = end + 1;
  }
}

/// What the kernel printed, of much the beginning.
void print_printed(const Trial& trial, int indent) {
  if (trial.printed.empty()) return;
  constexpr int most = 20;
  std::size_t end = 0;
  for (int i = 0; i < most && end < trial.printed.size(); ++i)
    end = std::min(trial.printed.find('\n', end), trial.printed.size() - 1) + 1;
  print_lines("it printed:", indent);
  print_lines(trial.printed.substr(0, end), indent + 2);
  if (end < trial.printed.size()) print_lines("and more", indent + 2);
}

void print_trial(const Trial& trial, int indent) {
  print_printed(trial, indent);
  if (!trial.fault.empty()) print_lines(trial.fault, indent);
  if (trial.verification.results == 0) return;
  if (!trial.verification.ok) {
    print_lines(trial.verification.message, indent);
    if (!trial.wrong.pattern.empty()) print_lines("wrong: " + trial.wrong.pattern, indent);
    if (!trial.wrong.cause.empty()) print_lines(trial.wrong.cause, indent);
    if (trial.wrong.pattern.empty()) print_lines(trial.wrong.map, indent + 2);
    lens::SourceText sources;
    for (const emulator::LineCounters& line : trial.report.lines)
      if (line.counters.global_store.requests)
        print_lines(fmt::format("stored at {}:{}  {}", line.file, line.line, sources.line(line.file, line.line)),
                    indent);
  } else if (!trial.fault.empty()) {
    print_lines(
        "in the order in which the emulated machine ran the threads, the results are right; on a GPU they need not be",
        indent);
  }
}

/// The line that wastes most, of those that waste much.
std::string advice(const emulator::Report& report) {
  std::string text;
  std::uint64_t worst_excess = 0, worst_sectors = 0;
  std::string bank, sector;
  for (const emulator::LineCounters& line : report.lines) {
    const emulator::Counters& c = line.counters;
    const std::uint64_t wavefronts = c.shared_load.wavefronts + c.shared_store.wavefronts;
    const std::uint64_t minimum = c.shared_load.minimum + c.shared_store.minimum;
    if (wavefronts > minimum + worst_excess && wavefronts * 2 >= minimum * 3) {
      worst_excess = wavefronts - minimum;
      bank = fmt::format("{}:{}: bank conflicts, {:.1f} wavefronts where 1 would do\n", line.file, line.line,
                         static_cast<double>(wavefronts) / static_cast<double>(minimum));
    }
    for (const emulator::GlobalCounters& g : {c.global_load, c.global_store}) {
      if (g.requests == 0 || g.sectors < 17 * g.requests || g.sectors <= worst_sectors) continue;
      worst_sectors = g.sectors;
      sector = fmt::format(
          "{}:{}: the lanes of a warp touch {:.0f} sectors with one instruction; neighbouring threads "
          "should touch neighbouring elements\n",
          line.file, line.line, static_cast<double>(g.sectors) / static_cast<double>(g.requests));
    }
  }
  return sector + bank;
}

Json json_of(const Trial& trial) {
  Json json{{"m", trial.spec.problem.M},
            {"n", trial.spec.problem.N},
            {"k", trial.spec.problem.K},
            {"lda", trial.operands.A.ld},
            {"ldb", trial.operands.B.ld},
            {"ldc", trial.operands.C.ld},
            {"ldd", trial.operands.D.ld},
            {"grid", {trial.shape.grid.x, trial.shape.grid.y, trial.shape.grid.z}},
            {"block", {trial.shape.block.x, trial.shape.block.y, trial.shape.block.z}}};
  if (trial.fault.empty()) {
    add_verification(json, trial.verification);
    json["counters"] = counters_json(trial.report.total);
    json["lines"] = lines_json(trial.report);
    json["bytes_in_flight"] = trial.report.bytes_in_flight;
    json["divergent_intervals"] = trial.report.divergent_intervals;
  } else {
    add_fault(json, trial.fault);
  }
  json["printed"] = trial.printed;
  json["pattern"] = trial.wrong.pattern;
  json["cause"] = trial.wrong.cause;
  return json;
}

Json json_of(const GpuTrial& gpu) {
  if (gpu.device.empty()) return nullptr;
  Json json{{"device", gpu.device}};
  if (gpu.verification.results > 0) add_verification(json, gpu.verification);
  if (gpu.time) {
    const auto rate = [&](const bench::Timing& time) {
      return bench::tflops(gpu.size, gpu.size, gpu.size, time.median_ms);
    };
    json.update({{"size", gpu.size},
                 {"tflops", rate(gpu.time->kernel)},
                 {"median_ms", gpu.time->kernel.median_ms},
                 {"min_ms", gpu.time->kernel.min_ms},
                 {"max_ms", gpu.time->kernel.max_ms},
                 {"cublas_tflops", gpu.time->cublas ? Json(rate(*gpu.time->cublas)) : Json()}});
  }
  return json;
}

void print_gpu(const GpuTrial& gpu) {
  if (gpu.verification.results > 0)
    fmt::print("{} on {}: {}\n", gpu.verification.ok ? "right" : "WRONG", gpu.device, gpu.verification.message);
  if (!gpu.time) {
    fmt::print("not timed: {}\n", gpu.not_timed);
    return;
  }
  const double ms = gpu.time->kernel.median_ms;
  fmt::print("{:.1f} TFLOP/s at M = N = K = {}, {:.3f} ms a launch, the median of bursts",
             bench::tflops(gpu.size, gpu.size, gpu.size, ms), gpu.size, ms);
  if (gpu.time->cublas)
    fmt::print("; cuBLAS in turns with it {:.1f} TFLOP/s",
               bench::tflops(gpu.size, gpu.size, gpu.size, gpu.time->cublas->median_ms));
  fmt::print("\n");
}

std::string type_text(const Call& call, const Operands& operands) {
  const Element a = call.element("A"), b = call.element("B"), d = operands.D.element;
  if (a == b && b == d && operands.C.element == d) return name_of(d);
  return fmt::format("{} x {} to {}", name_of(a), name_of(b), name_of(d));
}

std::string layout_text(const Layouts& layouts) {
  const auto order = [](bool column_major) { return column_major ? "column-major" : "row-major"; };
  if (layouts.a == layouts.b && layouts.b == layouts.c) return order(layouts.a);
  return fmt::format("A {}, B {}, C {}", order(layouts.a), order(layouts.b), order(layouts.c));
}

/// The same kernel on sizes that no tile divides, and leading dimensions longer than rows, where it is told.
Trial try_ragged(const KernelObject& object, const CudaSource& source, const Call& call, const Layouts& layouts,
                 const bench::RandomProblem& spec, const TryOptions& options) {
  bench::RandomProblem odd = spec;
  Problem& p = odd.problem;
  p.M = 101;
  p.N = call.square ? 101 : 133;
  p.K = call.square ? 101 : 75;
  p.lda = p.ldb = p.ldc = p.ldd = 0;
  odd = bench::resolve(odd);
  TryOptions longer = options;
  longer.lda = longer.ldb = longer.ldc = longer.ldd = std::nullopt;
  const Operands operands = operands_of(call, layouts, p, longer, 3);
  LaunchShape shape{};
  try {
    shape = shape_of(source, call, options, p);
  } catch (const InvalidArgument& error) {  // a number of blocks that is rounded down may be 0
    return {odd, shape, operands, error.what(), {}, {}, {}, {}, {}};
  }
  return try_problem(object, odd, shape, operands);
}

using Factors = std::pair<float, float>;  ///< alpha and beta

/// The same problem with factors for which kernels take ways of their own: where beta is 0, and where alpha is 1. Those
/// that are given stay. Returns what it was tried with; `trial` becomes the first that is wrong.
std::vector<Factors> try_factors(const KernelObject& object, const Call& call, const TryOptions& options,
                                 Trial& trial) {
  const bench::RandomProblem spec = trial.spec;
  std::vector<Factors> tried = {{spec.alpha, spec.beta}};
  const auto try_with = [&](float alpha, float beta) {
    if (!trial.ok()) return;
    bench::RandomProblem other = spec;
    other.alpha = alpha;
    other.beta = beta;
    tried.emplace_back(alpha, beta);
    // That C is not read is no more than a promise of BLAS: most kernels that are given beta compute beta C always.
    Trial again = try_problem(object, bench::resolve(other), trial.shape, trial.operands, UnusedC::numbers);
    if (!again.ok()) trial = std::move(again);
  };
  if (call.has("beta") && !options.beta) try_with(spec.alpha, 0);
  if (call.has("alpha") && !options.alpha) try_with(1, spec.beta);
  return tried;
}

std::string factors_text(const Factors& factors) {
  return fmt::format("alpha = {} and beta = {}", factors.first, factors.second);
}

ExitCode execute(const TryOptions& options) {
  CudaSource source(options.file);
  Call call = bind_call(source, options);
  const Layouts layouts = options.layout.empty() ? Layouts() : parse_layouts(options.layout);
  const bench::RandomProblem spec = problem_of(source, call, options);
  const Problem& p = spec.problem;
  for (const auto& [role, constant] : call.constants)
    source.redefine(constant, std::to_string(role == "M" ? p.M : role == "N" ? p.N : p.K));

  const std::string instance = instantiate(source, call);
  const LaunchShape shape = shape_of(source, call, options, p);
  const KernelObject object(source, *call.kernel, instance, call.roles, options.keep);
  const Operands operands = operands_of(call, layouts, p, options, 0);
  Trial trial = try_problem(object, spec, shape, operands);
  const std::vector<Factors> factors = try_factors(object, call, options, trial);
  std::optional<Trial> ragged;
  if (trial.ok() && !options.m && !options.n && !options.k && call.constants.empty())
    ragged = try_ragged(object, source, call, layouts, spec, options);
  const std::string other = other_layouts(object, call, options, trial, layouts);
  GpuTrial gpu;
  if (trial.ok())
    gpu = try_on_gpu(source, call, instance, layouts, options, trial,
                     [&](const Problem& of) { return shape_of(source, call, options, of); });
  const bool wrong_on_gpu = gpu.verification.results > 0 && !gpu.verification.ok;
  const ExitCode code = trial.ok() && !wrong_on_gpu ? success : wrong_result;
  const std::string todo = trial.report.lines.empty() ? "" : advice(trial.report);
  if (options.json) {
    Json json{{"file", options.file},
              {"kernel", instance},
              {"type", type_text(call, operands)},
              {"layout", to_string(layouts)},
              {"alpha", trial.spec.alpha},
              {"beta", trial.spec.beta},
              {"factors", factors},
              {"shared_bytes", object.static_shared_bytes() + shape.shared_bytes}};
    json.update(json_of(trial));
    json["advice"] = todo;
    json["right_with_layout"] = other.empty() ? Json() : Json(other);
    json["ragged"] = ragged ? json_of(*ragged) : Json();
    json["gpu"] = json_of(gpu);
    json["not_timed"] = gpu.not_timed.empty() ? Json() : Json(gpu.not_timed);
    print(json);
    return code;
  }
  const bool told = call.has("lda") || call.has("ldb") || call.has("ldc") || call.has("ldd");
  const char* const padded = told ? ", leading dimensions 3 longer than a row or column" : "";
  const bool colour = report::wants_colour(stdout);
  const char* const verdict = !trial.fault.empty()      ? "FAULT"
                              : !trial.verification.ok  ? "WRONG"
                              : ragged && !ragged->ok() ? (told ? "right, but not at every size and leading dimension:"
                                                                : "right, but not at every size:")
                                                        : "right";
  fmt::print("{}  {} at {}\n", report::styled(verdict, trial.ok() ? report::Style::good : report::Style::bad, colour),
             instance, sizes_of(p));
  print_trial(trial, 2);
  if (!trial.ok() && factors.size() > 1) fmt::print("it is right with {}\n", factors_text(factors.front()));
  if (!other.empty())
    fmt::print("it is right where R is row-major and C column-major, for A, B, C: --layout {}\n", other);
  if (trial.ok()) {
    fmt::print("  {}\n  no race, no illegal access, nothing read before it was written\n", trial.verification.message);
    for (std::size_t i = 1; i < factors.size(); ++i) fmt::print("  right with {}, too\n", factors_text(factors[i]));
    if (ragged && ragged->ok()) {
      fmt::print("  right at {}{}, too\n", sizes_of(ragged->spec.problem), padded);
    } else if (ragged) {
      fmt::print("at {}{}, which no tile divides:\n", sizes_of(ragged->spec.problem), padded);
      print_trial(*ragged, 2);
    }
    if (!todo.empty()) {
      fmt::print("to fix first, for speed:\n");
      print_lines(todo, 2);
    }
  }
  fmt::print("computed D = {}A B{}, {}, {}, grid {}, block {}, {} bytes of shared memory\n",
             trial.spec.alpha == 1 ? "" : fmt::format("{} ", trial.spec.alpha),
             trial.spec.beta == 0 ? "" : fmt::format(" + {} C", trial.spec.beta), type_text(call, operands),
             layout_text(layouts), extent_text(shape.grid), extent_text(shape.block),
             object.static_shared_bytes() + shape.shared_bytes);
  if (!call.constants.empty())
    fmt::print("compiled with {} = {}{}\n", call.constants["M"], p.M,
               call.square ? "" : fmt::format(", N = {}, K = {}", p.N, p.K));
  if (trial.ok()) {
    print_counters(trial.report);
    fmt::print("a * b + c of plain C++ is not seen and not counted as fma\n");
    print_gpu(gpu);
  }
  return code;
}

}  // namespace

Command add_try(CLI::App& program) {
  CLI::App* app = program.add_subcommand(
      "try", "compile a CUDA file of your own and say what its matrix multiplication gets wrong and what it costs");
  const auto a = std::make_shared<TryOptions>();
  app->add_option("FILE", a->file, "CUDA C++ with a __global__ function that computes D = alpha A B + beta C")
      ->required()
      ->type_name("");
  app->add_option("--kernel", a->kernel, "which one, with template arguments if it has them: 'sgemm<64, 64, 8, 8>'")
      ->type_name("NAME");
  app->add_option("--args", a->roles,
                  "what its parameters are, in their order (by their names): M N K alpha beta A B C D lda ldb ldc ldd, "
                  "with commas")
      ->type_name("LIST");
  app->add_option("--grid", a->grid, "blocks, \"x, y, z\", expressions in M, N, K (those of <<<...>>> in the file)")
      ->type_name("EXPR");
  app->add_option("--block", a->block, "threads of a block (likewise)")->type_name("EXPR");
  app->add_option("--shared", a->shared, "bytes of extern __shared__ memory (likewise)")->type_name("EXPR");
  app->add_option("-m", a->m, "rows of A and D (128; without sizes also 101 x 133 x 75)")->check(whole_number(1));
  app->add_option("-n", a->n, "columns of B and D (256, for kernels of one size 128)")->check(whole_number(1));
  app->add_option("-k", a->k, "columns of A and rows of B (64)")->check(whole_number(1));
  app->add_option("--layout", a->layout,
                  "of A, B, C: R for row-major and C for column-major (RRR), or as in BLAS: NN is CCC, TN is RCC")
      ->type_name("LETTERS");
  for (const auto& [name, place, line] :
       {std::tuple("--lda", &a->lda, "row or column of A"), std::tuple("--ldb", &a->ldb, "row or column of B"),
        std::tuple("--ldc", &a->ldc, "row or column of C"), std::tuple("--ldd", &a->ldd, "row or column of D")})
    app->add_option(name, *place,
                    fmt::format("elements from one {} to the next, of kernels that are told (its length)", line))
        ->check(whole_number(1));
  app->add_option("--alpha", a->alpha, "of kernels that are told (2)")->check(finite_number());
  app->add_option("--beta", a->beta, "of kernels that are told (3)")->check(finite_number());
  app->add_option("--size", a->size, "M = N = K when timed on a GPU (4096)")->check(whole_number(1, 1 << 16));
  app->add_option("--seed", a->seed, "seed of the random data (1)")->check(whole_number(0));
  app->add_option("--keep", a->keep, "leave what was compiled in this directory")->type_name("DIR");
  app->add_flag("--json", a->json, "print JSON");
  return {app, [a] { return execute(*a); }};
}

}  // namespace lapidary::cli
