#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bench/rates.hpp"
#include "bench/timing.hpp"
#include "cli/command.hpp"
#include "cli/counter_table.hpp"
#include "cli/cuda_source.hpp"
#include "cli/gpu_kernel.hpp"
#include "cli/json.hpp"
#include "cli/kernel_object.hpp"
#include "cli/matrix_image.hpp"
#include "cli/options.hpp"
#include "cli/wrong_results.hpp"
#include "core/error.hpp"
#include "device/device.hpp"
#include "lens/source_text.hpp"
#include "report/terminal.hpp"
#include "report/text.hpp"

namespace lapidary::cli {
namespace {

struct Arguments {
  std::string file, kernel, roles, grid, block, shared, layout, keep;
  std::optional<std::int64_t> m, n, k, lda, ldb, ldc, ldd;
  std::int64_t seed = 1, size = 4096;
  bool json = false;
};

constexpr std::array roles = {"M", "N", "K", "alpha", "beta", "A", "B", "C", "D", "lda", "ldb", "ldc", "ldd"};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// The kernel to run, and how it is called.
struct Call {
  const CudaKernel* kernel;
  const CudaLaunch* launch;                  ///< in the file, or null
  std::vector<std::string> template_values;  ///< as written
  std::vector<std::string> roles;            ///< one a parameter
  std::vector<Element> elements;             ///< of the parameters that are matrices
  bool square = false;                       ///< one size stands for M, N and K

  bool has(std::string_view role) const { return std::find(roles.begin(), roles.end(), role) != roles.end(); }
  Element element(std::string_view role) const {
    return elements[static_cast<std::size_t>(std::find(roles.begin(), roles.end(), role) - roles.begin())];
  }
};

/// The matrices in a kernel's memory; of a kernel that has one of C and D, both are the same.
struct Operands {
  Storage A, B, C, D;
};

std::string names_of(const CudaSource& source) {
  std::vector<std::string> names;
  for (const CudaKernel& kernel : source.kernels()) names.push_back(kernel.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

const CudaKernel& choose_kernel(const CudaSource& source, const std::string& name) {
  if (source.kernels().empty())
    throw InvalidArgument(fmt::format("{} has no __global__ function with a body", source.path()));
  if (name.empty() && source.kernels().size() > 1)
    throw InvalidArgument(fmt::format("{} has {} kernels; name one of them with --kernel: {}", source.path(),
                                      source.kernels().size(), names_of(source)));
  for (const CudaKernel& kernel : source.kernels())
    if (name.empty() || kernel.name == name) return kernel;
  throw InvalidArgument(fmt::format("{} has no kernel {}; it has {}", source.path(), name, names_of(source)));
}

/// The role that a parameter's name tells, or nothing.
std::string role_of(const CudaParameter& parameter) {
  std::string name = lower(parameter.name);
  if (parameter.is_pointer()) {
    for (const char* prefix : {"d_", "dev_", "device_", "mat_", "matrix_", "matrix", "mat", "g_", "ptr_"})
      if (name.starts_with(prefix) && name.size() > std::string_view(prefix).size())
        name = name.substr(std::string_view(prefix).size());
    for (const char* suffix : {"_d", "_ptr", "_dev", "_device", "mat"})
      if (name.ends_with(suffix) && name.size() > std::string_view(suffix).size())
        name.resize(name.size() - std::string_view(suffix).size());
    if (name.size() == 2 && (name[0] == 'd' || name[0] == 'g')) name = name.substr(1);
    static const std::map<std::string, std::string> names = {{"a", "A"},   {"b", "B"},      {"c", "C"},
                                                             {"d", "D"},   {"x", "A"},      {"y", "B"},
                                                             {"out", "C"}, {"output", "C"}, {"result", "C"}};
    const auto found = names.find(name);
    return found == names.end() ? "" : found->second;
  }
  static const std::map<std::string, std::string> names = {
      {"m", "M"},          {"n", "N"},     {"k", "K"},      {"alpha", "alpha"}, {"beta", "beta"}, {"lda", "lda"},
      {"ldb", "ldb"},      {"ldc", "ldc"}, {"ldd", "ldd"},  {"rows", "M"},      {"cols", "N"},    {"num_a_rows", "M"},
      {"num_b_cols", "N"}, {"inner", "K"}, {"m_size", "M"}, {"n_size", "N"},    {"k_size", "K"}};
  const auto found = names.find(name);
  return found == names.end() ? "" : found->second;
}

std::string signature(const CudaKernel& kernel) {
  std::vector<std::string> parameters;
  for (const CudaParameter& p : kernel.parameters) parameters.push_back(p.type + " " + p.name);
  return fmt::format("{}({})", kernel.name, fmt::join(parameters, ", "));
}

void bind_parameters(Call& call, const Arguments& arguments) {
  const CudaKernel& kernel = *call.kernel;
  const auto fail = [&](const std::string& why) {
    throw InvalidArgument(fmt::format("{}: {}; say what its parameters are, as in --args \"M,N,K,alpha,A,B,beta,C\"",
                                      signature(kernel), why));
  };
  if (!arguments.roles.empty()) {
    call.roles = split_arguments(arguments.roles);
    if (call.roles.size() != kernel.parameters.size())
      fail(fmt::format("it has {} parameters and --args names {}", kernel.parameters.size(), call.roles.size()));
    for (const std::string& role : call.roles)
      if (std::find(roles.begin(), roles.end(), role) == roles.end())
        fail(fmt::format("`{}` in --args is none of {}", role, fmt::join(roles, ", ")));
  } else {
    std::vector<std::size_t> sizes, pointers;
    for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
      const CudaParameter& parameter = kernel.parameters[i];
      call.roles.push_back(role_of(parameter));
      if (parameter.is_pointer())
        pointers.push_back(i);
      else if (!call.roles[i].starts_with("ld") && call.roles[i] != "alpha" && call.roles[i] != "beta")
        sizes.push_back(i);
    }
    const auto known = [&](const std::vector<std::size_t>& places) {
      return std::all_of(places.begin(), places.end(), [&](std::size_t i) { return !call.roles[i].empty(); });
    };
    if (!known(pointers) && pointers.size() == 3)
      for (std::size_t i = 0; i < 3; ++i) call.roles[pointers[i]] = std::string(1, "ABC"[i]);
    if (sizes.size() == 1) call.roles[sizes[0]] = "N";
    if (!known(sizes) && sizes.size() == 3)
      for (std::size_t i = 0; i < 3; ++i) call.roles[sizes[i]] = std::string(1, "MNK"[i]);
    for (std::size_t i = 0; i < call.roles.size(); ++i)
      if (call.roles[i].empty()) fail(fmt::format("what `{}` means is not known", kernel.parameters[i].name));
  }
  for (const char* needed : {"A", "B"})
    if (!call.has(needed)) fail(fmt::format("no parameter is {}", needed));
  if (!call.has("C") && !call.has("D")) fail("no parameter is C or D");
  for (std::size_t i = 0; i < call.roles.size(); ++i) {
    const bool matrix = call.roles[i].size() == 1 && call.roles[i] >= "A" && call.roles[i] <= "D";
    if (matrix != kernel.parameters[i].is_pointer())
      fail(fmt::format("`{}` cannot be {}", kernel.parameters[i].name, call.roles[i]));
    if (std::count(call.roles.begin(), call.roles.end(), call.roles[i]) > 1)
      fail(fmt::format("two parameters are {}", call.roles[i]));
  }
  call.square = call.has("M") + call.has("N") + call.has("K") == 1;
  for (const CudaParameter& parameter : kernel.parameters) {
    std::string type = parameter.type;
    for (std::size_t t = 0; t < std::min(kernel.template_parameters.size(), call.template_values.size()); ++t)
      if (type.find(kernel.template_parameters[t].name) != type.npos) type = call.template_values[t];
    const auto is = [&](const char* word) { return type.find(word) != type.npos; };
    if (parameter.is_pointer() && !is("half") && !is("float") && !is("double"))
      throw InvalidArgument(fmt::format("{}: `{}` is of type {}; matrices of float, half and double are supported",
                                        signature(kernel), parameter.name, type));
    call.elements.push_back(is("half") ? Element::f16 : is("double") ? Element::f64 : Element::f32);
  }
}

Operands operands_of(const Call& call, const Layouts& layouts, const bench::ProblemSpec& spec,
                     const Arguments& arguments, std::int64_t padding) {
  const auto storage = [&](const char* role, bool column_major, std::int64_t rows, std::int64_t cols,
                           std::initializer_list<std::pair<const char*, std::optional<std::int64_t>>> leading) {
    const std::int64_t least = least_ld(column_major, rows, cols);
    Storage stored{call.element(role), column_major, least};
    for (const auto& [name, given] : leading) {
      if (call.has(name)) stored.ld = given.value_or(least + padding);
      if (given && !call.has(name))
        throw InvalidArgument(fmt::format("--{} is given, and {} has no such parameter", name, call.kernel->name));
      if (given && *given < least)
        throw InvalidArgument(fmt::format("--{} is {}; a {} of {} has {} elements, so that is the least", name, *given,
                                          column_major ? "column" : "row", role, least));
    }
    return stored;
  };
  Operands operands{storage("A", layouts.a, spec.M, spec.K, {{"lda", arguments.lda}}),
                    storage("B", layouts.b, spec.K, spec.N, {{"ldb", arguments.ldb}}),
                    {},
                    {}};
  if (spec.in_place) {
    const bool named_d = call.has("ldd") || arguments.ldd;
    operands.C = storage("C", layouts.c, spec.M, spec.N,
                         {{named_d ? "ldd" : "ldc", named_d ? arguments.ldd : arguments.ldc}});
    operands.D = operands.C;
  } else {
    operands.C = storage("C", layouts.c, spec.M, spec.N, {{"ldc", arguments.ldc}});
    operands.D = storage("D", layouts.c, spec.M, spec.N, {{"ldd", arguments.ldd}});
  }
  return operands;
}

/// Names in launch expressions: sizes, template parameters, what the launch passes for a size, definitions of the file.
std::optional<std::string> look_up(const CudaSource& source, const Call& call, const bench::ProblemSpec& spec,
                                   const std::string& name) {
  const auto size = [&](const std::string& role) {
    return std::to_string(role == "M" ? spec.M : role == "N" ? spec.N : spec.K);
  };
  const auto is_size = [](const std::string& role) { return role == "M" || role == "N" || role == "K"; };
  for (std::size_t i = 0; i < call.roles.size(); ++i) {
    if (!is_size(call.roles[i])) continue;
    if (call.launch && i < call.launch->arguments.size() && call.launch->arguments[i] == name)
      return size(call.roles[i]);
    if (call.kernel->parameters[i].name == name) return size(call.roles[i]);
  }
  if (is_size(name)) return size(name);
  for (std::size_t i = 0; i < std::min(call.template_values.size(), call.kernel->template_parameters.size()); ++i)
    if (call.kernel->template_parameters[i].name == name && call.template_values[i] != name)
      return call.template_values[i];
  return source.definition(name, call.launch ? call.launch->position : ~std::size_t{0});
}

/// The expressions of a grid or a block: what the user gave, or the launch in the file with its dim3 variable resolved.
std::vector<std::string> extents_of(const CudaSource& source, const Call& call, const std::string& given,
                                    std::size_t place) {
  std::string text = given;
  if (text.empty() && call.launch && place < call.launch->configuration.size())
    text = call.launch->configuration[place];
  if (text.empty()) return {};
  if (given.empty()) {
    for (int i = 0; i < 4; ++i) {
      if (text.starts_with("dim3")) {
        const std::size_t open = text.find_first_of("({");
        text = text.substr(open + 1, text.size() - open - 2);
        break;
      }
      const bool word = std::all_of(text.begin(), text.end(), [](char c) { return std::isalnum(c) || c == '_'; });
      const auto definition = word ? source.definition(text, call.launch->position) : std::nullopt;
      if (!definition) break;
      text = *definition;
    }
  }
  return split_arguments(text);
}

LaunchShape shape_of(const CudaSource& source, const Call& call, const Arguments& arguments,
                     const bench::ProblemSpec& spec) {
  const auto lookup = [&](const std::string& name) { return look_up(source, call, spec, name); };
  const std::string example =
      "; give the launch, as in --grid \"ceil_div(N,32), ceil_div(M,32)\" --block \"32,32\" [--shared \"2*32*32*4\"]";
  const auto extent = [&](const std::string& given, std::size_t place, const char* what) {
    const std::vector<std::string> parts = extents_of(source, call, given, place);
    if (parts.empty() || parts.size() > 3)
      throw InvalidArgument(
          fmt::format("{} has no launch of {} that tells the {}{}", source.path(), call.kernel->name, what, example));
    std::array<std::int64_t, 3> values = {1, 1, 1};
    try {
      for (std::size_t i = 0; i < parts.size(); ++i) values[i] = evaluate(parts[i], lookup);
    } catch (const InvalidArgument& error) {
      throw InvalidArgument(fmt::format("the {} is not known: {}{}", what, error.what(), example));
    }
    for (const std::int64_t value : values)
      if (value < 1 || value > LaunchLimits::grid_x)
        throw InvalidArgument(fmt::format("the {} has an extent of {}; it must be at least 1", what, value));
    return Extent3(values[0], values[1], values[2]);
  };
  LaunchShape shape{};
  shape.kernel = call.kernel->name.c_str();
  shape.grid = extent(arguments.grid, 0, "grid");
  shape.block = extent(arguments.block, 1, "block");
  std::string shared = arguments.shared;
  if (shared.empty() && call.launch && call.launch->configuration.size() > 2) shared = call.launch->configuration[2];
  if (!shared.empty()) {
    const std::int64_t bytes = evaluate(shared, lookup);
    if (bytes < 0 || bytes > LaunchLimits::shared_bytes_opt_in)
      throw InvalidArgument(
          fmt::format("--shared is {} bytes; a block has at most {}", bytes, LaunchLimits::shared_bytes_opt_in));
    shape.shared_bytes = static_cast<unsigned>(bytes);
  }
  return shape;
}

/// One run on the emulated machine.
struct Trial {
  bench::ProblemSpec spec;
  LaunchShape shape;
  Operands operands;
  std::string fault;  ///< empty if there was none
  std::optional<FaultKind> kind;
  bench::Verification verification;
  WrongResults wrong;
  emulator::Report report;

  bool ok() const { return fault.empty() && verification.ok; }
};

/// Random data in the types of a kernel, and its product.
class TrialProblem {
 public:
  TrialProblem(const bench::ProblemSpec& spec, const Operands& operands)
      : operands_(operands), problem_(rounded(spec, operands)), reference_(problem_) {}

  /// Copies the operands to a device, lets `launch` run the kernel there and reads D back.
  template <class Launch>
  MatrixImage run(Device& device, const Launch& launch) const {
    const bench::ProblemSpec& spec = problem_.spec;
    const MatrixImage a(problem_.A, operands_.A), b(problem_.B, operands_.B), c(problem_.C, operands_.C);
    MatrixImage d = spec.in_place ? c : MatrixImage({spec.type, spec.M, spec.N, spec.N}, operands_.D);
    const DeviceBuffer A(device, a.bytes(), "A"), B(device, b.bytes(), "B"), C(device, c.bytes(), "C"),
        D(device, spec.in_place ? 0 : d.bytes(), "D");
    device.upload(A.data(), a.data(), a.bytes());
    device.upload(B.data(), b.data(), b.bytes());
    device.upload(C.data(), c.data(), c.bytes());
    const DeviceBuffer& result = spec.in_place ? C : D;
    if (!spec.in_place) device.upload(D.data(), d.data(), d.bytes());
    launch(KernelArguments{spec.M, spec.N, spec.K, operands_.A.ld, operands_.B.ld, operands_.C.ld, operands_.D.ld,
                           spec.alpha, spec.beta, A.data(), B.data(), C.data(), result.data()});
    device.synchronize();
    device.download(d.data(), result.data(), d.bytes());
    return d;
  }

  bench::Verification verify(const MatrixImage& D) const {
    bench::Verification found = reference_.verify(D.matrix(problem_.spec.type));
    if (found.ok && operands_.D.element == Element::f64) verify_double(D, found);
    found.outside = D.changed_between();
    if (found.outside > 0) {
      found.ok = false;
      found.message += fmt::format("; {} elements between the {} of D were changed", found.outside,
                                   operands_.D.column_major ? "columns" : "rows");
    }
    return found;
  }

  WrongResults find_wrong(const MatrixImage& D) const {
    return find_wrong_results(problem_, reference_, D.matrix(problem_.spec.type));
  }

 private:
  static bench::Problem rounded(const bench::ProblemSpec& spec, const Operands& operands) {
    bench::Problem problem = bench::make_problem(spec);
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
    for (std::int64_t i = 0; i < problem_.spec.M; ++i) {
      for (std::int64_t j = 0; j < problem_.spec.N; ++j) {
        const auto place = static_cast<std::size_t>(i * problem_.spec.N + j);
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
  bench::Problem problem_;
  bench::Reference reference_;
};

Trial try_problem(const KernelObject& object, const bench::ProblemSpec& spec, const LaunchShape& shape,
                  const Operands& operands) {
  Trial trial{spec, shape, operands, {}, {}, {}, {}, {}};
  LaunchShape launched = shape;
  launched.shared_bytes = object.shared_bytes(shape.shared_bytes);
  const TrialProblem problem(spec, operands);
  const auto execute = [&](bool check) {
    const std::unique_ptr<Device> device = open_emulator({.count = true, .check = check});
    const MatrixImage D = problem.run(*device, [&](const KernelArguments& arguments) {
      device->stream().machine->run(launched, object.body(arguments));
    });
    trial.verification = problem.verify(D);
    trial.wrong = problem.find_wrong(D);
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

/// Layouts with which a kernel is right that is wrong or out of bounds with row-major matrices, or nothing.
std::string other_layouts(const KernelObject& object, const Call& call, const Arguments& arguments, const Trial& trial,
                          const Layouts& tried) {
  if (trial.ok() || !arguments.layout.empty() || (trial.kind && *trial.kind != FaultKind::out_of_bounds)) return "";
  for (const Layouts& layouts :
       {Layouts{true, true, true}, Layouts{false, true, false}, Layouts{true, false, false}, Layouts{false, true, true},
        Layouts{true, false, true}, Layouts{true, true, false}, Layouts{false, false, true}}) {
    if (layouts == tried) continue;
    if (try_problem(object, trial.spec, trial.shape, operands_of(call, layouts, trial.spec, arguments, 0)).ok())
      return to_string(layouts);
  }
  return "";
}

/// How a kernel does on a GPU.
struct GpuTrial {
  std::string not_timed;  ///< why, if it was not
  std::string device;
  bench::Verification verification;
  std::int64_t size = 0;  ///< M = N = K of what was timed
  std::optional<bench::KernelTime> time;
};

std::optional<Type> type_of(Element element) {
  if (element == Element::f64) return std::nullopt;
  return element == Element::f16 ? Type::f16 : Type::f32;
}

/// @param right  a trial that ended well on the emulated machine; it is repeated first
/// @param shape  of a launch on a problem
GpuTrial try_on_gpu(const CudaSource& source, const Call& call, const std::string& instance, const Layouts& layouts,
                    const Arguments& arguments, const Trial& right,
                    const std::function<LaunchShape(const bench::ProblemSpec&)>& shape) {
  GpuTrial trial;
  if (gpu_count() == 0) {
    trial.not_timed = "there is no GPU that this program can run it on";
    return trial;
  }
  try {
    const std::unique_ptr<Device> device = open_gpu();
    trial.device = device->properties().name;
    const GpuKernel kernel(source, *call.kernel, instance, call.roles, device->properties().compute_capability,
                           arguments.keep);
    const TrialProblem problem(right.spec, right.operands);
    trial.verification = problem.verify(problem.run(
        *device, [&](const KernelArguments& given) { kernel.launch(right.shape, given, device->stream()); }));
    if (!trial.verification.ok) {
      trial.not_timed = "it is wrong there";
      return trial;
    }
    const std::optional<Type> type = type_of(call.element("A")), result = type_of(right.operands.D.element);
    if (!type || !result || call.element("B") != call.element("A"))
      throw InvalidArgument("kernels whose A and B are of one type, and none of them of double, are timed");
    bench::ProblemSpec spec = right.spec;
    spec.M = spec.N = spec.K = trial.size = arguments.size;
    spec.lda = spec.ldb = spec.ldc = spec.ldd = 0;
    spec = bench::resolve(spec);
    const LaunchShape launched = shape(spec);
    const Operands stored = operands_of(call, layouts, spec, {}, 0);
    GemmProblem timed = bench::without_data(spec);
    timed.type = *type;
    trial.time = bench::time_kernel(*device, timed, *result, [&](const Stream& stream, const GemmProblem& p) {
      // Kernels that read C find it in D, beta being 0.
      kernel.launch(launched,
                    {p.M, p.N, p.K, stored.A.ld, stored.B.ld, stored.C.ld, stored.D.ld, 1, 0, const_cast<void*>(p.A),
                     const_cast<void*>(p.B), p.D, p.D},
                    stream);
    });
  } catch (const InvalidArgument& error) {
    trial.not_timed = error.what();
  }
  return trial;
}

std::string sizes_of(const bench::ProblemSpec& spec) {
  return fmt::format("M = {}, N = {}, K = {}", spec.M, spec.N, spec.K);
}

std::string extent_text(const Extent3& e) { return fmt::format("({}, {}, {})", e.x, e.y, e.z); }

void print_lines(const std::string& text, int indent) {
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    fmt::print("{:{}}{}\n", "", indent, text.substr(begin, end - begin));
    begin = end + 1;
  }
}

void print_trial(const Trial& trial, int indent) {
  if (!trial.fault.empty()) print_lines(trial.fault, indent);
  if (trial.verification.results == 0) return;
  if (trial.verification.wrong > 0) {
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
  Json json{{"m", trial.spec.M},
            {"n", trial.spec.N},
            {"k", trial.spec.K},
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
    json["divergent_intervals"] = trial.report.divergent_intervals;
  } else {
    add_fault(json, trial.fault);
  }
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

ExitCode execute(const Arguments& arguments) {
  const CudaSource source(arguments.file);
  Call call{};
  const std::size_t angle = arguments.kernel.find('<');
  call.kernel = &choose_kernel(source, arguments.kernel.substr(0, angle));
  call.launch = source.launch_of(*call.kernel);
  const CudaKernel& kernel = *call.kernel;
  if (angle != std::string::npos)
    call.template_values = split_arguments(arguments.kernel.substr(angle + 1, arguments.kernel.rfind('>') - angle - 1));
  else if (call.launch)
    call.template_values = call.launch->template_arguments;
  bind_parameters(call, arguments);

  const Layouts layouts = arguments.layout.empty() ? Layouts() : parse_layouts(arguments.layout);
  bench::ProblemSpec spec;
  const std::int64_t side = arguments.n.value_or(arguments.m.value_or(arguments.k.value_or(128)));
  spec.M = arguments.m.value_or(call.square ? side : 128);
  spec.N = arguments.n.value_or(call.square ? side : 256);
  spec.K = arguments.k.value_or(call.square ? side : 64);
  if (call.square && (spec.M != spec.N || spec.N != spec.K))
    throw InvalidArgument(
        fmt::format("{} has one size: M, N and K must be equal, not {}", kernel.name, sizes_of(spec)));
  spec.in_place = !call.has("D") || !call.has("C");
  if (call.has("D") && !call.has("C"))
    std::replace(call.roles.begin(), call.roles.end(), std::string("D"), std::string("C"));
  spec.type = type_of(call.element(spec.in_place ? "C" : "D")).value_or(Type::f32);
  spec.alpha = call.has("alpha") ? 2 : 1;
  spec.beta = call.has("beta") ? 0.5F : 0;
  spec.seed = static_cast<std::uint64_t>(arguments.seed);
  spec = bench::resolve(spec);
  if (spec.M * spec.N > std::int64_t{1} << 22 || spec.M * spec.N * spec.K > std::int64_t{1} << 30)
    throw InvalidArgument(
        fmt::format("{} takes the emulated machine too long; stay below M N K = 2^30", sizes_of(spec)));

  std::string instance = kernel.name;
  if (!kernel.template_parameters.empty()) {
    if (call.template_values.empty()) {
      std::vector<std::string> names;
      for (const CudaParameter& p : kernel.template_parameters) names.push_back(p.name);
      throw InvalidArgument(fmt::format("{} is a template of {}; give their values, as in --kernel '{}<64, 64>'",
                                        kernel.name, fmt::join(names, ", "), kernel.name));
    }
    for (std::size_t i = 0; i < call.template_values.size(); ++i) {
      std::string& value = call.template_values[i];
      const std::string type = i < kernel.template_parameters.size() ? kernel.template_parameters[i].type : "";
      if (type == "typename" || type == "class" || type == "bool") continue;
      value = std::to_string(evaluate(value, [&](const std::string& name) {
        return source.definition(name, call.launch ? call.launch->position : ~std::size_t{0});
      }));
    }
    instance += fmt::format("<{}>", fmt::join(call.template_values, ", "));
  }
  const LaunchShape shape = shape_of(source, call, arguments, spec);
  const KernelObject object(source, kernel, instance, call.roles, arguments.keep);
  const Operands operands = operands_of(call, layouts, spec, arguments, 0);
  const Trial trial = try_problem(object, spec, shape, operands);
  std::optional<Trial> ragged;
  if (trial.ok() && !arguments.m && !arguments.n && !arguments.k) {
    bench::ProblemSpec odd = spec;
    odd.M = 101;
    odd.N = call.square ? 101 : 133;
    odd.K = call.square ? 101 : 75;
    odd.lda = odd.ldb = odd.ldc = odd.ldd = 0;
    odd = bench::resolve(odd);
    Arguments longer = arguments;  // than rows, where the kernel is told
    longer.lda = longer.ldb = longer.ldc = longer.ldd = std::nullopt;
    ragged = try_problem(object, odd, shape_of(source, call, arguments, odd),
                         operands_of(call, layouts, odd, longer, 3));
  }
  const std::string other = other_layouts(object, call, arguments, trial, layouts);
  GpuTrial gpu;
  if (trial.ok())
    gpu = try_on_gpu(source, call, instance, layouts, arguments, trial,
                     [&](const bench::ProblemSpec& of) { return shape_of(source, call, arguments, of); });
  const ExitCode code = trial.ok() ? success : wrong_result;
  const std::string todo = trial.report.lines.empty() ? "" : advice(trial.report);
  if (arguments.json) {
    Json json{{"file", arguments.file},
              {"kernel", instance},
              {"type", type_text(call, operands)},
              {"layout", to_string(layouts)},
              {"alpha", spec.alpha},
              {"beta", spec.beta},
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
             instance, sizes_of(spec));
  print_trial(trial, 2);
  if (!other.empty())
    fmt::print("it is right where R is row-major and C column-major, for A, B, C: --layout {}\n", other);
  if (trial.ok()) {
    fmt::print("  {}\n  no race, no illegal access, nothing read before it was written\n", trial.verification.message);
    if (ragged && ragged->ok()) {
      fmt::print("  right at {}{}, too\n", sizes_of(ragged->spec), padded);
    } else if (ragged) {
      fmt::print("at {}{}, which no tile divides:\n", sizes_of(ragged->spec), padded);
      print_trial(*ragged, 2);
    }
    if (!todo.empty()) {
      fmt::print("to fix first, for speed:\n");
      print_lines(todo, 2);
    }
  }
  fmt::print("computed D = {}A B{}, {}, {}, grid {}, block {}, {} bytes of shared memory\n",
             spec.alpha == 1 ? "" : fmt::format("{} ", spec.alpha),
             spec.beta == 0 ? "" : fmt::format(" + {} C", spec.beta), type_text(call, operands), layout_text(layouts),
             extent_text(shape.grid), extent_text(shape.block), object.static_shared_bytes() + shape.shared_bytes);
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
  const auto a = std::make_shared<Arguments>();
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
  app->add_option("--size", a->size, "M = N = K when timed on a GPU (4096)")->check(whole_number(1, 1 << 16));
  app->add_option("--seed", a->seed, "seed of the random data (1)")->check(whole_number(0));
  app->add_option("--keep", a->keep, "leave what was compiled in this directory")->type_name("DIR");
  app->add_flag("--json", a->json, "print JSON");
  return {app, [a] { return execute(*a); }};
}

}  // namespace lapidary::cli
