#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "bench/host_problem.hpp"
#include "bench/rates.hpp"
#include "cli/command.hpp"
#include "cli/counter_table.hpp"
#include "cli/json.hpp"
#include "cli/options.hpp"
#include "lens/source_text.hpp"
#include "report/progress.hpp"
#include "report/terminal.hpp"
#include "report/text.hpp"
#include "trial/trial.hpp"

namespace lapidary::cli {
namespace {

using trial::EmulatedRun;
using trial::GpuRun;
using trial::Trial;

/// InitialC, in words.
constexpr std::array initial_c_names = {"nan", "zeros", "numbers"};

struct TryOptions {
  trial::Request request;
  std::string initial_c = initial_c_names.front(), sums = name_of(trial::Element::f32);
  bool json = false;
};

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
void print_printed(const EmulatedRun& run, int indent) {
  if (run.printed.empty()) return;
  constexpr int most = 20;
  std::size_t end = 0;
  for (int i = 0; i < most && end < run.printed.size(); ++i)
    end = std::min(run.printed.find('\n', end), run.printed.size() - 1) + 1;
  print_lines(fmt::format("it printed at {}:", bench::sizes_of(run.spec.problem)), indent);
  print_lines(run.printed.substr(0, end), indent + 2);
  if (end < run.printed.size()) print_lines("and more", indent + 2);
}

void print_run(const EmulatedRun& run, int indent) {
  print_printed(run, indent);
  if (run.fault) print_lines(run.fault->message, indent);
  if (run.verification.results == 0) return;
  if (!run.verification.ok) {
    print_lines(run.verification.message, indent);
    if (!run.wrong.pattern.empty()) print_lines("wrong: " + run.wrong.pattern, indent);
    if (!run.wrong.cause.empty()) print_lines(run.wrong.cause, indent);
    if (run.wrong.pattern.empty()) print_lines(run.wrong.map, indent + 2);
    lens::SourceText sources;
    const bool stored = run.wrong.mistake != trial::Mistake::unwritten;  // the wrong ones
    for (const emulator::LineCounters& line : run.report.lines)
      if (stored && line.counters.global_store.requests)
        print_lines(fmt::format("stored at {}:{}  {}", line.file, line.line, sources.line(line.file, line.line)),
                    indent);
  } else if (run.fault) {
    print_lines(
        "in the order in which the emulated machine ran the threads, the results are right; on a GPU they need not be",
        indent);
  }
}

Json json_of(const EmulatedRun& run) {
  Json json{{"m", run.spec.problem.M},
            {"n", run.spec.problem.N},
            {"k", run.spec.problem.K},
            {"lda", run.operands.A.ld},
            {"ldb", run.operands.B.ld},
            {"ldc", run.operands.C.ld},
            {"ldd", run.operands.D.ld},
            {"grid", {run.shape.grid.x, run.shape.grid.y, run.shape.grid.z}},
            {"block", {run.shape.block.x, run.shape.block.y, run.shape.block.z}}};
  if (!run.fault) {
    add_verification(json, run.verification);
    json["counters"] = counters_json(run.report.total);
    json["lines"] = lines_json(run.report);
    json["bytes_in_flight"] = run.report.bytes_in_flight;
    json["divergent_intervals"] = run.report.divergent_intervals;
  } else {
    add_fault(json, run.fault->message);
  }
  json["order"] = run.order;
  json["printed"] = run.printed;
  json["pattern"] = run.wrong.pattern;
  json["cause"] = run.wrong.cause;
  return json;
}

Json json_of(const GpuRun& gpu) {
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

void print_gpu(const GpuRun& gpu) {
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

std::string type_text(const trial::Operands& operands) {
  const trial::Element a = operands.A.element, b = operands.B.element, d = operands.D.element;
  if (a == b && b == d && operands.C.element == d) return name_of(d);
  return fmt::format("{} x {} to {}", name_of(a), name_of(b), name_of(d));
}

std::string layout_text(const trial::Layouts& layouts) {
  const auto order = [](bool column_major) { return column_major ? "column-major" : "row-major"; };
  if (layouts.a == layouts.b && layouts.b == layouts.c) return order(layouts.a);
  return fmt::format("A {}, B {}, C {}", order(layouts.a), order(layouts.b), order(layouts.c));
}

std::string factors_text(const trial::Factors& factors) {
  return fmt::format("alpha = {} and beta = {}", factors.alpha, factors.beta);
}

std::string advice_text(const Trial& trial) {
  std::string text;
  for (const trial::Advice& advice : trial.advice) text += text_of(advice) + "\n";
  return text;
}

Json json_of(const Trial& trial, const std::string& file) {
  Json factors = Json::array();
  for (const trial::Factors& one : trial.factors) factors.push_back({one.alpha, one.beta});
  Json sizes = Json::object();
  for (const auto& [name, role] : trial.sizes) sizes[name] = role;
  Json matrices = Json::object();
  for (const auto& [name, role] : trial.matrices) matrices[name] = role;
  Json json{{"file", file},
            {"kernel", trial.kernel},
            {"type", type_text(trial.run.operands)},
            {"layout", to_string(trial.layouts)},
            {"alpha", trial.run.spec.alpha},
            {"beta", trial.run.spec.beta},
            {"sizes", sizes},
            {"matrices", matrices},
            {"factors", factors},
            {"reads_c_at_zero", trial.reads_c_at_zero},
            {"sums", name_of(trial.run.operands.sums)},
            {"initial_c", initial_c_names[static_cast<std::size_t>(trial.run.initial_c)]},
            {"launches", trial.launches},
            {"launch_line", trial.launch_line > 0 ? Json(trial.launch_line) : Json()},
            {"shared_bytes", trial.shared_bytes}};
  json.update(json_of(trial.run));
  json["compiled"] = nullptr;
  if (const auto& compiled = trial.compiled)
    json["compiled"] = {{"by", compiled->by.empty() ? Json() : Json(compiled->by)},
                        {"counters", counters_json(compiled->report.total)},
                        {"lines", lines_json(compiled->report)}};
  json["advice"] = advice_text(trial);
  json["right_with_layout"] = trial.right_with ? Json(to_string(*trial.right_with)) : Json();
  json["tried"] = trial.tried;
  json["wrong_too"] = trial.wrong_too;
  json["equal_sizes"] = trial.equal;
  json["not_taken"] = trial.not_taken;
  json["warnings"] = trial.warnings;
  json["other"] = trial.other ? json_of(*trial.other) : Json();
  json["gpu"] = json_of(trial.gpu);
  json["not_timed"] = trial.gpu.not_timed.empty() ? Json() : Json(trial.gpu.not_timed);
  return json;
}

/// What there is to say of a kernel that is right.
void print_right(const Trial& trial) {
  const EmulatedRun& run = trial.run;
  fmt::print("  {}\n  no race, no illegal access, nothing read before it was written\n", run.verification.message);
  fmt::print("  right in {} random orders of blocks and threads, too\n", trial.launches - 1);
  std::string others;
  for (std::size_t i = 1; i < trial.factors.size(); ++i)
    others += fmt::format("{}{} and {}", others.empty() ? "" : ", ", trial.factors[i].alpha, trial.factors[i].beta);
  if (!others.empty()) fmt::print("  right with other alpha and beta, too: {}\n", others);
  if (trial.reads_c_at_zero)
    fmt::print(
        "  with numbers in C: where beta is 0 it reads C, too, which the BLAS does not, as NaN there spoils D\n");
  if (trial.other && trial.other->ok()) {
    fmt::print("  right on {} more of the problems of `lapidary check`\n", trial.tried.size());
  } else if (trial.other) {
    fmt::print("at {} ({}):\n", bench::sizes_of(trial.other->spec.problem), trial.tried.back());
    print_run(*trial.other, 2);
    for (const std::string& one : trial.wrong_too) fmt::print("also at {}\n", one);
  }
  if (!trial.not_taken.empty()) fmt::print("  some sizes are none that it takes, as {}\n", trial.not_taken);
  if (!trial.advice.empty()) {
    fmt::print("to fix first, for speed:\n");
    print_lines(advice_text(trial), 2);
  }
}

void print_trial(const Trial& trial) {
  const EmulatedRun& run = trial.run;
  const bench::RandomProblem& spec = run.spec;
  const bool told = trial.takes_leading_dimensions;
  const char* const verdict = run.fault              ? "FAULT"
                              : !run.verification.ok ? "WRONG"
                              : trial.other && !trial.other->ok()
                                  ? (told ? "right, but not at every size and leading dimension:"
                                          : "right, but not at every size:")
                              : !trial.warnings.empty() ? "right, but for what the compiler warns of:"
                                                        : "right";
  fmt::print("{}  {} at {}\n",
             report::styled(verdict, run.ok() ? report::Style::good : report::Style::bad, report::wants_colour(stdout)),
             trial.kernel, bench::sizes_of(spec.problem));
  print_run(run, 2);
  if (!run.ok() && trial.launches > 1 && trial.factors.size() == 1)
    fmt::print("it is right {}\n", run.order ? "with blocks and threads in order, and not in a random one"
                                             : "when it is launched first, and not when it is launched again");
  if (!run.ok() && trial.factors.size() > 1) fmt::print("it is right with {}\n", factors_text(trial.factors.front()));
  if (trial.launch_line > 0)
    fmt::print("it is launched as in line {}, the first of launches that differ; --grid and --block take another\n",
               trial.launch_line);
  if (trial.right_with)
    fmt::print("it is right where R is row-major and C column-major, for A, B, C: --layout {}\n",
               to_string(*trial.right_with));
  if (!run.ok() && !trial.right_with && !(trial.sizes.empty() && trial.matrices.empty())) {
    std::string taken;
    const auto add = [&](const std::string& name, const std::string& what) {
      taken += fmt::format("{}{} {}", taken.empty() ? "" : ", ", name, what);
    };
    for (const auto& [name, role] : trial.matrices) add(name, "is " + role);
    for (const auto& [name, role] : trial.sizes)
      add(name, role == "M"   ? "has the rows of A and D"
                : role == "N" ? "has the columns of B and D"
                              : "is what A and B share");
    fmt::print("{}: so they are taken, and --args says otherwise\n", taken);
  }
  if (run.ok()) print_right(trial);
  if (!trial.warnings.empty()) {
    fmt::print("the compiler warns of what the emulated machine does not see, variables of a thread's own:\n");
    print_lines(trial.warnings, 2);
  }
  if (!trial.equal.empty())
    fmt::print("the launch has {}: such sizes alone are tried; -m, -n, -k and --grid try others\n",
               fmt::join(trial.equal, " = "));
  fmt::print("computed D = {}A B{}, {}, {}, grid {}, block {}, {} bytes of shared memory\n",
             spec.alpha == 1 ? "" : fmt::format("{} ", spec.alpha),
             spec.beta == 0 ? "" : fmt::format(" + {} C", spec.beta), type_text(run.operands),
             layout_text(trial.layouts), extent_text(run.shape.grid), extent_text(run.shape.block), trial.shared_bytes);
  if (!trial.constants.empty()) {
    const Problem& p = spec.problem;
    const bool square = trial.constants.at("M") == trial.constants.at("N");
    fmt::print("compiled with {} = {}{}\n", trial.constants.at("M"), p.M,
               square ? "" : fmt::format(", N = {}, K = {}", p.N, p.K));
  }
  if (!run.fault) {
    print_counters(trial.compiled ? trial.compiled->report : run.report);
    fmt::print("a * b + c of plain C++ is not seen and not counted as fma\n");
    if (trial.compiled)
      fmt::print(
          "{} loads from shared memory are written; scalars that lie side by side are counted as one, {}\n",
          report::with_separators(run.report.total.shared_load.instructions),
          trial.compiled->by.empty()
              ? "as nvcc merges them where it can tell that they are aligned (a guess, without its machine code of "
                "the kernel: nvcc and nvdisasm on the PATH give it)"
              : fmt::format("as wide as {} makes them", trial.compiled->by));
  }
  if (run.ok()) print_gpu(trial.gpu);
}

ExitCode execute(const TryOptions& options) {
  trial::Request request = options.request;
  const auto* const named = std::find(initial_c_names.begin(), initial_c_names.end(), options.initial_c);
  request.initial_c = static_cast<trial::InitialC>(named - initial_c_names.begin());
  for (const trial::Element sums : {trial::Element::f16, trial::Element::bf16})
    if (options.sums == name_of(sums)) request.sums = sums;
  const Trial trial = [&] {
    report::Progress progress;
    progress.update(request.file, -1);
    return trial::try_kernel(request);
  }();
  if (options.json)
    print(json_of(trial, options.request.file));
  else
    print_trial(trial);
  return trial.ok() && (!trial.other || trial.other->ok()) ? success : wrong_result;
}

}  // namespace

Command add_try(App program) {
  App app = program.add_subcommand(
      "try", "compile a CUDA file of your own and say what its matrix multiplication gets wrong and what it costs");
  const auto options = std::make_shared<TryOptions>();
  trial::Request* const a = &options->request;
  app.add_option("FILE", a->file, "CUDA C++ with a __global__ function that computes D = alpha A B + beta C")
      .required()
      .type_name("");
  app.add_option("--kernel", a->kernel, "which one, with template arguments if it has them: 'sgemm<64, 64, 8, 8>'")
      .type_name("NAME");
  app.add_option("--args", a->roles,
                 "what its parameters are, in their order (by their names): M N K alpha beta A B C D lda ldb ldc ldd, "
                 "with commas")
      .type_name("LIST");
  app.add_option("--grid", a->grid, "blocks, \"x, y, z\", expressions in M, N, K (those of <<<...>>> in the file)")
      .type_name("EXPR");
  app.add_option("--block", a->block, "threads of a block (likewise)").type_name("EXPR");
  app.add_option("--shared", a->shared, "bytes of extern __shared__ memory (likewise)").type_name("EXPR");
  app.add_option("-m", a->m, "rows of A and D (128, or two blocks; without sizes also those of `lapidary check`)")
      .check(whole_number(1));
  app.add_option("-n", a->n, "columns of B and D (256, for kernels of one size 128, or two blocks)")
      .check(whole_number(1));
  app.add_option("-k", a->k, "columns of A and rows of B (64, or three steps of the loop along it, BK or TILE_SIZE)")
      .check(whole_number(1));
  app.add_option("--layout", a->layout,
                 "of A, B, C: R for row-major and C for column-major (RRR), or as in BLAS: NN is CCC, TN is RCC")
      .type_name("LETTERS");
  for (const auto& [name, place, line] :
       {std::tuple("--lda", &a->lda, "row or column of A"), std::tuple("--ldb", &a->ldb, "row or column of B"),
        std::tuple("--ldc", &a->ldc, "row or column of C"), std::tuple("--ldd", &a->ldd, "row or column of D")})
    app.add_option(name, *place,
                   fmt::format("elements from one {} to the next, of kernels that are told (its length)", line))
        .check(whole_number(1));
  app.add_option("--alpha", a->alpha, "of kernels that are told (2)").check(finite_number());
  app.add_option("--beta", a->beta, "of kernels that are told (3)").check(finite_number());
  app.add_option("--initial-c", options->initial_c,
                 "what C holds before a kernel that is given no beta, or one of 0: nan, which it must not read; zeros, "
                 "to which it may add; numbers, for one that computes D = A B + C")
      .check(one_of(std::vector<std::string>(initial_c_names.begin(), initial_c_names.end())));
  app.add_option("--sums", options->sums, "what the kernel adds up in on purpose (f32)")
      .check(one_of({"f32", "f16", "bf16"}));
  app.add_option("--size", a->size, "M = N = K when timed on a GPU (4096)").check(whole_number(1, 1 << 16));
  app.add_option("--seed", a->seed, "seed of the random data (1)").check(whole_number(0));
  app.add_option("--keep", a->keep, "leave what was compiled in this directory").type_name("DIR");
  app.add_flag("--json", options->json, "print JSON");
  return {app, [options] { return execute(*options); }};
}

}  // namespace lapidary::cli
