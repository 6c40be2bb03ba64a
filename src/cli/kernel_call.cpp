#include "cli/kernel_call.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cctype>
#include <cmath>
#include <initializer_list>
#include <regex>
#include <tuple>
#include <utility>

#include "cli/options.hpp"
#include "cli/shared_object.hpp"
#include "core/error.hpp"

namespace lapidary::cli {
namespace {

constexpr std::array roles = {"M", "N", "K", "alpha", "beta", "A", "B", "C", "D", "lda", "ldb", "ldc", "ldd"};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string names_of(const CudaSource& source) {
  std::vector<std::string> names;
  for (const CudaKernel& kernel : source.kernels()) names.push_back(kernel.scope + kernel.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

const CudaKernel& choose_kernel(const CudaSource& source, const std::string& name) {
  if (source.kernels().empty()) {
    const std::string included = fmt::format("{}", fmt::join(source.included_kernels(), ", "));
    throw InvalidArgument(fmt::format(
        "{} has no __global__ function with a body{}", source.path(),
        included.empty() ? ""
                         : fmt::format(", and what it includes is not searched; try the file with the kernel itself, "
                                       "with --grid and --block: {}",
                                       included)));
  }
  if (name.empty() && source.kernels().size() > 1)
    throw InvalidArgument(fmt::format("{} has {} kernels; name one of them with --kernel: {}", source.path(),
                                      source.kernels().size(), names_of(source)));
  for (const CudaKernel& kernel : source.kernels())
    if (name.empty() || kernel.name == name || kernel.scope + kernel.name == name ||
        (kernel.scope + kernel.name).ends_with("::" + name))
      return kernel;
  throw InvalidArgument(fmt::format("{} has no kernel {}; it has {}", source.path(), name, names_of(source)));
}

/// The role that a parameter's name tells, or nothing.
std::string role_of(const CudaParameter& parameter) {
  std::string name = lower(parameter.name);
  if (parameter.elements()) {
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

/// Finds the sizes of a kernel that is not given them.
void bind_constants(Call& call, const CudaSource& source) {
  if (call.has("M") || call.has("N") || call.has("K")) return;
  const std::vector<CudaParameter>& parameters = call.kernel->parameters;
  if (std::any_of(parameters.begin(), parameters.end(), [](const CudaParameter& p) { return !p.members.empty(); }))
    return;  // structures have their sizes
  if (source.constant("M") && source.constant("N") && source.constant("K")) {
    call.constants = {{"M", "M"}, {"N", "N"}, {"K", "K"}};
    return;
  }
  for (const char* name : {"N", "n", "WIDTH", "Width", "width", "SIZE", "Size", "size", "MATRIX_SIZE", "MAT_SIZE",
                           "MATRIX_WIDTH", "DIM", "DIMENSION"}) {
    if (!source.constant(name)) continue;
    call.square = true;
    call.constants = {{"M", name}, {"N", name}, {"K", name}};
    return;
  }
  throw InvalidArgument(
      fmt::format("{}: no parameter is a size, and neither M, N and K nor N, WIDTH or SIZE are constants of the file",
                  signature(*call.kernel)));
}

void bind_parameters(Call& call, const CudaSource& source, const TryOptions& options) {
  const CudaKernel& kernel = *call.kernel;
  const auto fail = [&](const std::string& why) {
    throw InvalidArgument(fmt::format("{}: {}; say what its parameters are, as in --args \"M,N,K,alpha,A,B,beta,C\"",
                                      signature(kernel), why));
  };
  const auto by_value = [&](const CudaParameter& parameter, const std::string& role) {
    throw InvalidArgument(fmt::format(
        "{0}: `{1}` is a pointer to {2}; numbers are supported that are passed by value: declare it as `{3} {1}` and "
        "use `{1}` for `*{1}` in a copy of the kernel",
        signature(kernel), parameter.name, role, role == "alpha" || role == "beta" ? "float" : "int"));
  };
  for (const CudaParameter& parameter : kernel.parameters)  // matrices may be called M and N
    if (const std::string name = lower(parameter.name);
        options.roles.empty() && parameter.is_pointer() && (name == "alpha" || name == "beta"))
      by_value(parameter, name);
  if (!options.roles.empty()) {
    call.roles = split_arguments(options.roles);
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
      if (parameter.elements())
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
    if (!matrix && kernel.parameters[i].is_pointer()) by_value(kernel.parameters[i], call.roles[i]);
    if (matrix != (kernel.parameters[i].elements() != nullptr))
      fail(fmt::format("`{}` cannot be {}", kernel.parameters[i].name, call.roles[i]));
    if (std::count(call.roles.begin(), call.roles.end(), call.roles[i]) > 1)
      fail(fmt::format("two parameters are {}", call.roles[i]));
  }
  call.square = call.has("M") + call.has("N") + call.has("K") == 1;
  bind_constants(call, source);
  for (const CudaParameter& parameter : kernel.parameters) {
    const CudaParameter* const elements = parameter.elements();
    const std::string type = source.without_aliases(
        with_arguments(elements ? elements->type : parameter.type, kernel.template_parameters, call.template_values));
    const auto is = [&](const char* word) { return type.find(word) != type.npos; };
    if (elements && !is("half") && !is("bfloat16") && !is("float") && !is("double"))
      throw InvalidArgument(
          fmt::format("{}: `{}` is of type {}; matrices of float, half, bfloat16 and double are supported",
                      signature(kernel), parameter.name, type));
    call.elements.push_back(is("half")       ? Element::f16
                            : is("bfloat16") ? Element::bf16
                            : is("double")   ? Element::f64
                                             : Element::f32);
  }
}

/// Whether M, N or K in the file's launch is something else than the size: a constant that the kernel is not passed.
bool is_other_constant(const CudaSource& source, const Call& call, const std::string& size) {
  if (!call.launch || !source.constant(size) || !call.constants.empty()) return false;
  const auto role = std::find(call.roles.begin(), call.roles.end(), size);
  const auto place = static_cast<std::size_t>(role - call.roles.begin());
  if (place >= call.launch->arguments.size()) return false;
  std::optional<std::string> passed = call.launch->arguments[place];
  for (int i = 0; i < 4 && passed; ++i) {
    if (*passed == size) return false;
    passed = source.definition(*passed, call.launch->position);
  }
  return true;
}

/// Names in launch expressions: sizes, template parameters, what the launch passes for a size, definitions of the file.
/// @param in_file  the expression is the file's, not the user's
std::optional<std::string> look_up(const CudaSource& source, const Call& call, const Problem& problem,
                                   const std::string& name, bool in_file) {
  const auto size = [&](const std::string& role) {
    return std::to_string(role == "M" ? problem.M : role == "N" ? problem.N : problem.K);
  };
  const auto is_size = [](const std::string& role) { return role == "M" || role == "N" || role == "K"; };
  for (std::size_t i = 0; i < call.roles.size(); ++i) {
    if (!is_size(call.roles[i])) continue;
    if (call.launch && i < call.launch->arguments.size() && call.launch->arguments[i] == name)
      return size(call.roles[i]);
    if (call.kernel->parameters[i].name == name) return size(call.roles[i]);
  }
  if (is_size(name) && !(in_file && is_other_constant(source, call, name))) return size(name);
  if (const std::size_t dot = name.find('.'); dot != name.npos) {  // of a matrix of the host's, as in `B.width`
    const std::string role = role_of({"*", name.substr(0, dot)});
    const std::string member = role.empty() ? "" : argument_of(name.substr(dot + 1), role);
    return is_size(member) ? std::optional(size(member)) : std::nullopt;
  }
  if (name.find("::") != name.npos) {
    const std::string meaning = source.without_aliases(name);
    return meaning.find("::") == meaning.npos ? std::optional(meaning) : std::nullopt;
  }
  for (const auto& [role, constant] : call.constants)
    if (constant == name) return size(role);
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

/// The value of alpha or beta: one that integers hold, too, and that tells it from the other one.
float factor_of(const Call& call, const std::string& role, const std::optional<float>& given, float usual,
                float untold) {
  if (!call.has(role)) {
    if (given)
      throw InvalidArgument(fmt::format("--{} is given, and {} has no such parameter", role, call.kernel->name));
    return untold;
  }
  static const std::regex integer(R"(\b(u?int\d*(_t)?|size_t|short|long|char|unsigned|signed)\b)");
  const auto place = std::find(call.roles.begin(), call.roles.end(), role) - call.roles.begin();
  const CudaParameter& parameter = call.kernel->parameters[static_cast<std::size_t>(place)];
  if (given && *given != std::trunc(*given) && std::regex_search(parameter.type, integer))
    throw InvalidArgument(fmt::format("--{} is {}; `{}` of {} is of type {}, which has whole numbers", role, *given,
                                      parameter.name, call.kernel->name, parameter.type));
  return given.value_or(usual);
}

}  // namespace

std::optional<Type> type_of(Element element) {
  if (element == Element::f64) return std::nullopt;
  return element == Element::f16 ? Type::f16 : element == Element::bf16 ? Type::bf16 : Type::f32;
}

Call bind_call(const CudaSource& source, const TryOptions& options) {
  Call call{};
  const std::size_t angle = options.kernel.find('<');
  call.kernel = &choose_kernel(source, options.kernel.substr(0, angle));
  call.launch = source.launch_of(*call.kernel);
  if (angle != std::string::npos)
    call.template_values = split_arguments(options.kernel.substr(angle + 1, options.kernel.rfind('>') - angle - 1));
  else if (call.launch)
    call.template_values = call.launch->template_arguments;
  bind_parameters(call, source, options);
  if (call.has("D") && !call.has("C"))
    std::replace(call.roles.begin(), call.roles.end(), std::string("D"), std::string("C"));
  return call;
}

bench::RandomProblem problem_of(const CudaSource& source, const Call& call, const TryOptions& options) {
  bench::RandomProblem spec;
  Problem& p = spec.problem;
  const std::int64_t side = options.n.value_or(options.m.value_or(options.k.value_or(128)));
  p.M = options.m.value_or(call.square ? side : 128);
  p.N = options.n.value_or(call.square ? side : 256);
  p.K = options.k.value_or(call.square ? side : 64);
  const bool sizes_given = options.m || options.n || options.k;
  if (!call.constants.empty() && !sizes_given) {
    const auto own = [&](const char* role) {
      return evaluate(call.constants.at(role), [&](const std::string& name) { return source.constant(name); });
    };
    const std::int64_t M = own("M"), N = own("N"), K = own("K");
    constexpr double quick = 1 << 24;  // multiply-adds, a second or two of the emulated machine
    if (M > 0 && N > 0 && K > 0 && static_cast<double>(M) * static_cast<double>(N) * static_cast<double>(K) <= quick)
      std::tie(p.M, p.N, p.K) = std::tuple(M, N, K);
  }
  if (call.square && (p.M != p.N || p.N != p.K))
    throw InvalidArgument(
        fmt::format("{} has one size: M, N and K must be equal, not {}", call.kernel->name, sizes_of(p)));
  p.in_place = !call.has("D") || !call.has("C");
  p.kind = type_of(call.element(p.in_place ? "C" : "D")).value_or(Type::f32);
  spec.alpha = factor_of(call, "alpha", options.alpha, 2, 1);
  spec.beta = factor_of(call, "beta", options.beta, 3, 0);
  spec.seed = static_cast<std::uint64_t>(options.seed);
  spec = bench::resolve(spec);
  if (p.M * p.N > std::int64_t{1} << 22 || p.M * p.N * p.K > std::int64_t{1} << 30)
    throw InvalidArgument(fmt::format("{} takes the emulated machine too long; stay below M N K = 2^30", sizes_of(p)));
  return spec;
}

std::string instantiate(const CudaSource& source, Call& call) {
  const CudaKernel& kernel = *call.kernel;
  std::string instance = kernel.scope + kernel.name;
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
      if (type == "typename" || type == "class") value = source.without_aliases(value);  // of a function of the host's
      if (type == "typename" || type == "class" || type == "bool") continue;
      value = std::to_string(evaluate(value, [&](const std::string& name) {
        return source.definition(name, call.launch ? call.launch->position : ~std::size_t{0});
      }));
    }
    instance += fmt::format("<{}>", fmt::join(call.template_values, ", "));
  }
  return instance;
}

Operands operands_of(const Call& call, const Layouts& layouts, const Problem& problem, const TryOptions& options,
                     std::int64_t padding) {
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
  Operands operands{storage("A", layouts.a, problem.M, problem.K, {{"lda", options.lda}}),
                    storage("B", layouts.b, problem.K, problem.N, {{"ldb", options.ldb}}),
                    {},
                    {}};
  if (problem.in_place) {
    const bool named_d = call.has("ldd") || options.ldd;
    operands.C = storage("C", layouts.c, problem.M, problem.N,
                         {{named_d ? "ldd" : "ldc", named_d ? options.ldd : options.ldc}});
    operands.D = operands.C;
  } else {
    operands.C = storage("C", layouts.c, problem.M, problem.N, {{"ldc", options.ldc}});
    operands.D = storage("D", layouts.c, problem.M, problem.N, {{"ldd", options.ldd}});
  }
  return operands;
}

LaunchShape shape_of(const CudaSource& source, const Call& call, const TryOptions& options, const Problem& problem) {
  const auto value = [&](const std::string& expression, bool in_file) {
    return evaluate(expression, [&](const std::string& name) { return look_up(source, call, problem, name, in_file); });
  };
  const std::string example =
      "; give the launch, as in --grid \"ceil_div(N,32), ceil_div(M,32)\" --block \"32,32\" [--shared \"2*32*32*4\"]";
  const auto extent = [&](const std::string& given, std::size_t place, const char* what) {
    const std::vector<std::string> parts = extents_of(source, call, given, place);
    if (parts.empty() || parts.size() > 3)
      throw InvalidArgument(
          fmt::format("{} has no launch of {} that tells the {}{}", source.path(), call.kernel->name, what, example));
    std::array<std::int64_t, 3> values = {1, 1, 1};
    try {
      for (std::size_t i = 0; i < parts.size(); ++i) values[i] = value(parts[i], given.empty());
    } catch (const InvalidArgument& error) {
      throw InvalidArgument(fmt::format("the {} is not known: {}{}", what, error.what(), example));
    }
    for (const std::int64_t side : values)
      if (side < 1 || side > LaunchLimits::grid_x)
        throw InvalidArgument(fmt::format("the {} has an extent of {}; it must be at least 1", what, side));
    return Extent3(values[0], values[1], values[2]);
  };
  LaunchShape shape{};
  shape.kernel = call.kernel->name.c_str();
  shape.grid = extent(options.grid, 0, "grid");
  shape.block = extent(options.block, 1, "block");
  std::string shared = options.shared;
  if (shared.empty() && call.launch && call.launch->configuration.size() > 2) shared = call.launch->configuration[2];
  if (!shared.empty()) {
    const std::int64_t bytes = value(shared, options.shared.empty());
    if (bytes < 0 || bytes > LaunchLimits::shared_bytes_opt_in)
      throw InvalidArgument(
          fmt::format("--shared is {} bytes; a block has at most {}", bytes, LaunchLimits::shared_bytes_opt_in));
    shape.shared_bytes = static_cast<unsigned>(bytes);
  }
  return shape;
}

}  // namespace lapidary::cli
