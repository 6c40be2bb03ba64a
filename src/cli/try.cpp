#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/run.hpp"
#include "cli/command.hpp"
#include "cli/counter_table.hpp"
#include "cli/cuda_source.hpp"
#include "cli/json.hpp"
#include "cli/kernel_object.hpp"
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
  std::string file, kernel, roles, grid, block, shared = "", keep;
  std::optional<std::int64_t> m, n, k;
  std::int64_t seed = 1;
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
  bool square = false;                       ///< one size stands for M, N and K
  Type type = Type::f32;

  bool has(std::string_view role) const { return std::find(roles.begin(), roles.end(), role) != roles.end(); }
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
  for (std::size_t i = 0; i < call.roles.size(); ++i) {
    std::string type = kernel.parameters[i].type;
    if (!kernel.parameters[i].is_pointer()) continue;
    for (std::size_t t = 0; t < std::min(kernel.template_parameters.size(), call.template_values.size()); ++t)
      if (type.find(kernel.template_parameters[t].name) != type.npos) type = call.template_values[t];
    const bool half = type.find("half") != type.npos;
    if (!half && type.find("float") == type.npos)
      throw InvalidArgument(fmt::format("{}: `{}` is of type {}; matrices of float and half are supported",
                                        signature(kernel), kernel.parameters[i].name, type));
    if (half) call.type = Type::f16;
  }
  for (std::size_t i = 0; i < call.roles.size(); ++i)
    if (call.type == Type::f16 && kernel.parameters[i].is_pointer() &&
        kernel.parameters[i].type.find("float") != std::string::npos)
      throw InvalidArgument(
          fmt::format("{}: `{}` is of another type than the others; all matrices must be of float or "
                      "all of half",
                      signature(kernel), kernel.parameters[i].name));
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
  std::string fault;  ///< empty if there was none
  bench::Verification verification;
  WrongResults wrong;
  emulator::Report report;

  bool ok() const { return fault.empty() && verification.ok; }
};

Trial try_problem(const KernelObject& object, const bench::ProblemSpec& spec, const LaunchShape& shape) {
  Trial trial{spec, shape, {}, {}, {}, {}};
  LaunchShape launched = shape;
  launched.shared_bytes = object.shared_bytes(shape.shared_bytes);
  const bench::Problem problem = bench::make_problem(spec);
  const bench::Reference reference(problem);
  const auto execute = [&](bool check) {
    const std::unique_ptr<Device> device = open_emulator({.count = true, .check = check});
    bench::GuardedMatrix A(*device, spec.type, problem.A.extent(), 0, "A");
    bench::GuardedMatrix B(*device, spec.type, problem.B.extent(), 0, "B");
    bench::GuardedMatrix C(*device, spec.type, problem.C.extent(), 0, "C");
    bench::GuardedMatrix D(*device, spec.type, spec.in_place ? 0 : spec.M * spec.ldd, 0, "D");
    bench::HostMatrix result = spec.in_place ? problem.C : bench::HostMatrix(spec.type, spec.M, spec.N, spec.ldd);
    A.upload(problem.A);
    B.upload(problem.B);
    C.upload(problem.C);
    bench::GuardedMatrix& output = spec.in_place ? C : D;
    output.upload(result);
    const KernelArguments arguments{spec.M,     spec.N,    spec.K,   spec.lda, spec.ldb, spec.ldc, spec.ldd,
                                    spec.alpha, spec.beta, A.data(), B.data(), C.data(), D.data()};
    device->stream().machine->run(launched, object.body(arguments));
    output.download(result);
    trial.verification = reference.verify(result);
    trial.wrong = find_wrong_results(problem, reference, result);
    trial.report = device->stream().machine->report();
  };
  try {
    execute(true);
  } catch (const KernelFault& fault) {
    trial.fault = object.explain(fault.what());
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

  bench::ProblemSpec spec;
  spec.type = call.type;
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
  const Trial trial = try_problem(object, spec, shape);
  std::optional<Trial> ragged;
  if (trial.ok() && !arguments.m && !arguments.n && !arguments.k) {
    bench::ProblemSpec odd = spec;
    odd.M = 101;
    odd.N = call.square ? 101 : 133;
    odd.K = call.square ? 101 : 75;
    odd.lda = odd.ldb = odd.ldc = odd.ldd = 0;
    odd = bench::resolve(odd);
    ragged = try_problem(object, odd, shape_of(source, call, arguments, odd));
  }
  const ExitCode code = trial.ok() ? success : wrong_result;
  const std::string todo = trial.report.lines.empty() ? "" : advice(trial.report);
  if (arguments.json) {
    Json json{{"file", arguments.file},     {"kernel", instance},
              {"type", name_of(spec.type)}, {"alpha", spec.alpha},
              {"beta", spec.beta},          {"shared_bytes", object.static_shared_bytes() + shape.shared_bytes}};
    json.update(json_of(trial));
    json["advice"] = todo;
    json["ragged"] = ragged ? json_of(*ragged) : Json();
    print(json);
    return code;
  }
  const bool colour = report::wants_colour(stdout);
  const char* const verdict = !trial.fault.empty()      ? "FAULT"
                              : !trial.verification.ok  ? "WRONG"
                              : ragged && !ragged->ok() ? "right, but not at every size:"
                                                        : "right";
  fmt::print("{}  {} at {}\n", report::styled(verdict, trial.ok() ? report::Style::good : report::Style::bad, colour),
             instance, sizes_of(spec));
  print_trial(trial, 2);
  if (trial.ok()) {
    fmt::print("  {}\n  no race, no illegal access, nothing read before it was written\n", trial.verification.message);
    if (ragged && ragged->ok()) {
      fmt::print("  right at {} too\n", sizes_of(ragged->spec));
    } else if (ragged) {
      fmt::print("at {}, which no tile divides:\n", sizes_of(ragged->spec));
      print_trial(*ragged, 2);
    }
    if (!todo.empty()) {
      fmt::print("to fix first, for speed:\n");
      print_lines(todo, 2);
    }
  }
  fmt::print("computed D = {}A B{}, {}, row-major, grid {}, block {}, {} bytes of shared memory\n",
             spec.alpha == 1 ? "" : fmt::format("{} ", spec.alpha),
             spec.beta == 0 ? "" : fmt::format(" + {} C", spec.beta), name_of(spec.type), extent_text(shape.grid),
             extent_text(shape.block), object.static_shared_bytes() + shape.shared_bytes);
  if (trial.ok()) {
    print_counters(trial.report);
    fmt::print("a * b + c of plain C++ is not seen and not counted as fma; not timed: this is the emulated machine\n");
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
  app->add_option("--seed", a->seed, "seed of the random data (1)")->check(whole_number(0));
  app->add_option("--keep", a->keep, "leave what was compiled in this directory")->type_name("DIR");
  app->add_flag("--json", a->json, "print JSON");
  return {app, [a] { return execute(*a); }};
}

}  // namespace lapidary::cli
