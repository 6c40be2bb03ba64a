#include "cli/trial.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "cli/gpu_kernel.hpp"
#include "cli/matrix_image.hpp"
#include "device/device.hpp"

namespace lapidary::cli {
namespace {

/// Takes what kernels print to standard output, which is the program's own: there it would stand in the middle of JSON.
class Printed {
 public:
  /// @param text  where it is in the end, of much the beginning, with `?` for bytes that are no text
  explicit Printed(std::string& text) : text_(text), file_(std::tmpfile()) {
    std::fflush(stdout);
    if (!file_) return;
    output_ = dup(STDOUT_FILENO);
    dup2(fileno(file_), STDOUT_FILENO);
  }
  ~Printed() {
    if (!file_) return;
    std::fflush(stdout);
    dup2(output_, STDOUT_FILENO);
    close(output_);
    text_.resize(std::size_t{1} << 14);
    const ssize_t bytes = pread(fileno(file_), text_.data(), text_.size(), 0);
    text_.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
    for (char& c : text_)
      if (c != '\n' && c != '\t' && (c < ' ' || c > '~')) c = '?';
    std::fclose(file_);
  }
  Printed(const Printed&) = delete;
  Printed& operator=(const Printed&) = delete;

 private:
  std::string& text_;
  std::FILE* file_;
  int output_ = -1;
};

/// Random data in the types of a kernel, and its product.
class TrialProblem {
 public:
  TrialProblem(const bench::RandomProblem& spec, const Operands& operands, UnusedC unused = UnusedC::poison)
      : operands_(operands), problem_(rounded(spec, operands, unused)), reference_(problem_) {}

  /// What a run left behind.
  struct Outcome {
    MatrixImage D;
    std::vector<std::pair<const char*, std::int64_t>> changed;  ///< inputs and how many of their elements are others
  };

  /// Copies the operands to a device, lets `launch` run the kernel there and reads them back.
  template <class Launch>
  Outcome run(Device& device, const Launch& launch) const {
    const bench::RandomProblem& spec = problem_.spec;
    const Problem& p = spec.problem;
    const MatrixImage a(problem_.A, operands_.A), b(problem_.B, operands_.B), c(problem_.C, operands_.C);
    MatrixImage d = p.in_place ? c : MatrixImage({p.kind.result, p.M, p.N, p.N}, operands_.D);
    const DeviceBuffer A(device, a.bytes(), "A"), B(device, b.bytes(), "B"), C(device, c.bytes(), "C"),
        D(device, p.in_place ? 0 : d.bytes(), "D");
    device.upload(A.data(), a.data(), a.bytes());
    device.upload(B.data(), b.data(), b.bytes());
    device.upload(C.data(), c.data(), c.bytes());
    const DeviceBuffer& result = p.in_place ? C : D;
    if (!p.in_place) device.upload(D.data(), d.data(), d.bytes());
    launch(KernelArguments{p.M, p.N, p.K, operands_.A.ld, operands_.B.ld, operands_.C.ld, operands_.D.ld, spec.alpha,
                           spec.beta, A.data(), B.data(), C.data(), result.data()});
    device.synchronize();
    device.download(d.data(), result.data(), d.bytes());
    Outcome outcome{std::move(d), {}};
    const auto compare = [&](const char* name, const MatrixImage& before, const DeviceBuffer& buffer) {
      MatrixImage after = before;
      device.download(after.data(), buffer.data(), after.bytes());
      if (const std::int64_t changed = after.changed_from(before)) outcome.changed.emplace_back(name, changed);
    };
    compare("A", a, A);
    compare("B", b, B);
    if (!p.in_place) compare("C", c, C);
    return outcome;
  }

  bench::Verification verify(const Outcome& outcome) const {
    const MatrixImage& D = outcome.D;
    bench::Verification found = reference_.verify(D.matrix(problem_.spec.problem.kind.result));
    if (found.ok && operands_.D.element == Element::f64) verify_double(D, found);
    found.outside = D.changed_between();
    if (found.outside > 0) {
      found.ok = false;
      found.message += fmt::format("; {} elements between the {} of D were changed", found.outside,
                                   operands_.D.column_major ? "columns" : "rows");
    }
    for (const auto& [name, changed] : outcome.changed) {
      found.ok = false;
      found.message += fmt::format("; {} elements of {} were changed, which is an input", changed, name);
    }
    return found;
  }

  WrongResults find_wrong(const Outcome& outcome) const {
    return find_wrong_results(problem_, reference_, outcome.D.matrix(problem_.spec.problem.kind.result));
  }

 private:
  static bench::HostProblem rounded(const bench::RandomProblem& spec, const Operands& operands, UnusedC unused) {
    bench::RandomProblem made = spec;
    if (unused == UnusedC::numbers && made.beta == 0) made.beta = 1;  // C is made as one that is read
    bench::HostProblem problem = bench::make_problem(made);
    problem.spec = bench::resolve(spec);
    round_to(problem.A, operands.A.element);
    round_to(problem.B, operands.B.element);
    round_to(problem.C, operands.C.element);
    return problem;
  }

  /// Holds results of f64 that are right as f32 against the bound once more, in units of f64. The reference's own error
  /// is as large as theirs; twice their sum is allowed.
  void verify_double(const MatrixImage& D, bench::Verification& found) const {
    constexpr double finer = 4 * 0x1p-53 / 0x1p-24;
    double worst = -1;
    for (std::int64_t i = 0; i < problem_.spec.problem.M; ++i) {
      for (std::int64_t j = 0; j < problem_.spec.problem.N; ++j) {
        const auto place = static_cast<std::size_t>(i * problem_.spec.problem.N + j);
        const double error = std::abs(D.at(i, j) - reference_.results()[place]);
        const double bound = finer * reference_.bounds()[place];
        found.wrong += error > bound;
        if (error / bound <= worst) continue;
        worst = error / bound;
        found.max_error = error;
        found.bound = bound;
        found.row = i;
        found.col = j;
      }
    }
    found.ok = found.wrong == 0;
    const std::string verdict = found.ok ? fmt::format("all {} results are right", found.results)
                                         : fmt::format(
                                               "{} of {} results are right to single precision only, so "
                                               "something that they are computed with is float",
                                               found.wrong, found.results);
    found.message = fmt::format("{}; the largest error is {:.2g} where {:.2g} is allowed", verdict, found.max_error,
                                found.bound);
  }

  Operands operands_;
  bench::HostProblem problem_;
  bench::Reference reference_;
};

}  // namespace

Trial try_problem(const KernelObject& object, const bench::RandomProblem& spec, const LaunchShape& shape,
                  const Operands& operands, UnusedC unused) {
  Trial trial{spec, shape, operands, {}, {}, {}, {}, {}, {}};
  LaunchShape launched = shape;
  launched.shared_bytes = object.shared_bytes(shape.shared_bytes);
  const TrialProblem problem(spec, operands, unused);
  const auto execute = [&](bool check) {
    const Printed printed(trial.printed);
    const std::unique_ptr<Device> device = open_emulator({.count = true, .check = check});
    const TrialProblem::Outcome outcome = problem.run(*device, [&](const KernelArguments& arguments) {
      device->stream().machine->run(launched, object.body(arguments));
    });
    trial.verification = problem.verify(outcome);
    trial.wrong = problem.find_wrong(outcome);
    trial.report = device->stream().machine->report();
  };
  try {
    execute(true);
  } catch (const KernelFault& fault) {
    trial.fault = object.explain(fault.what());
    trial.kind = fault.kind();
    // What a race or an unwritten word does to the results is worth knowing; other faults cannot be run past.
    if (fault.kind() == FaultKind::race || fault.kind() == FaultKind::uninitialised) {
      try {
        execute(false);
      } catch (const KernelFault&) {
      }
    }
  }
  return trial;
}

std::string other_layouts(const KernelObject& object, const Call& call, const TryOptions& options, const Trial& trial,
                          const Layouts& tried) {
  const bool given = !options.layout.empty() || options.lda || options.ldb || options.ldc || options.ldd;
  if (trial.ok() || given || trial.wrong.factors || (trial.kind && *trial.kind != FaultKind::out_of_bounds)) return "";
  for (const Layouts& layouts :
       {Layouts{true, true, true}, Layouts{false, true, false}, Layouts{true, false, false}, Layouts{false, true, true},
        Layouts{true, false, true}, Layouts{true, true, false}, Layouts{false, false, true}}) {
    if (layouts == tried) continue;
    if (try_problem(object, trial.spec, trial.shape, operands_of(call, layouts, trial.spec.problem, options, 0)).ok())
      return to_string(layouts);
  }
  return "";
}

GpuTrial try_on_gpu(const CudaSource& source, const Call& call, const std::string& instance, const Layouts& layouts,
                    const TryOptions& options, const Trial& right,
                    const std::function<LaunchShape(const Problem&)>& shape) {
  GpuTrial trial;
  if (gpu_count() == 0) {
    trial.not_timed = "there is no GPU that this program can run it on";
    return trial;
  }
  try {
    const std::unique_ptr<Device> device = open_gpu();
    trial.device = device->properties().name;
    const GpuKernel kernel(source, *call.kernel, instance, call.roles, device->properties().compute_capability,
                           options.keep);
    const TrialProblem problem(right.spec, right.operands);
    std::string ignored;
    const Printed printed(ignored);
    trial.verification = problem.verify(problem.run(
        *device, [&](const KernelArguments& given) { kernel.launch(right.shape, given, device->stream()); }));
    if (!trial.verification.ok) {
      trial.not_timed = "it is wrong there";
      return trial;
    }
    if (!call.constants.empty()) throw InvalidArgument("its sizes are constants of the file");
    const std::optional<Type> type = type_of(call.element("A")), result = type_of(right.operands.D.element);
    if (!type || !result || call.element("B") != call.element("A"))
      throw InvalidArgument("kernels whose A and B are of one type, and none of them of double, are timed");
    bench::RandomProblem spec = right.spec;
    Problem& timed = spec.problem;
    timed.M = timed.N = timed.K = trial.size = options.size;
    timed.lda = timed.ldb = timed.ldc = timed.ldd = 0;
    spec = bench::resolve(spec);
    const LaunchShape launched = shape(timed);
    const Operands stored = operands_of(call, layouts, timed, {}, 0);
    timed.kind = {*type, *result};
    trial.time = bench::time_kernel(*device, timed, [&](const Stream& stream, const lapidary::Operands& at) {
      // Kernels that read C find it in D, beta being 0.
      kernel.launch(launched,
                    {timed.M, timed.N, timed.K, stored.A.ld, stored.B.ld, stored.C.ld, stored.D.ld, 1, 0,
                     const_cast<void*>(at.A), const_cast<void*>(at.B), at.D, at.D},
                    stream);
    });
  } catch (const InvalidArgument& error) {
    trial.not_timed = error.what();
  }
  return trial;
}

}  // namespace lapidary::cli
