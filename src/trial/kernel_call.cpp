#include "trial/kernel_call.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cctype>

#include "core/error.hpp"
#include "trial/evaluate.hpp"
#include "trial/tokens.hpp"

namespace lapidary::trial {
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

std::string signature(const CudaKernel& kernel) {
  std::vector<std::string> parameters;
  for (const CudaParameter& p : kernel.parameters) parameters.push_back(p.type + " " + p.name);
  return fmt::format("{}({})", kernel.name, fmt::join(parameters, ", "));
}

/// Where a type is a parameter of the kernel's template that a function of the host's gives it: how to give it.
std::string template_hint(const CudaKernel& kernel, const std::string& type) {
  std::string values;
  bool named = false;
  for (const CudaParameter& p : kernel.template_parameters) {
    const bool is_type = p.type == "typename" || p.type == "class";
    named = named || (is_type && find_word(type, p.name, 0) != type.npos);
    values += fmt::format("{}{}", values.empty() ? "" : ", ", is_type ? "float" : p.name);
  }
  return named ? fmt::format("; give the template its arguments, as in --kernel '{}<{}>'", kernel.name, values) : "";
}

/// Finds the sizes of a kernel that is not given them.
void bind_constants(Call& call, const CudaSource& source) {
  if (call.has("M") || call.has("N") || call.has("K")) return;
  const std::vector<CudaParameter>& parameters = call.kernel->parameters;
  if (std::any_of(parameters.begin(), parameters.end(), [](const CudaParameter& p) { return !p.members.empty(); }))
    return;  // structures have their sizes
  if (source.definitions().constant("M") && source.definitions().constant("N") && source.definitions().constant("K")) {
    call.constants = {{"M", "M"}, {"N", "N"}, {"K", "K"}};
    return;
  }
  for (const char* name : {"N", "n", "WIDTH", "Width", "width", "SIZE", "Size", "size", "MATRIX_SIZE", "MAT_SIZE",
                           "MATRIX_WIDTH", "DIM", "DIMENSION"}) {
    if (!source.definitions().constant(name)) continue;
    call.square = true;
    call.constants = {{"M", name}, {"N", name}, {"K", name}};
    return;
  }
  throw InvalidArgument(fmt::format(
      "{}: no parameter is a size, and neither M, N and K nor N, WIDTH or SIZE are constants of the file{}",
      signature(*call.kernel),
      call.kernel->template_parameters.empty() ? "" : "; sizes that are template parameters cannot be tried"));
}

/// Whether the text of a kernel assigns to an element of a pointer by its name: `C[i] = `, `C[i] += `, `C[i].x = `.
bool stores_to(const std::string& code, const CudaKernel& kernel, const std::string& name) {
  for (std::size_t at = find_word(code, name, kernel.begin); at < kernel.end; at = find_word(code, name, at + 1)) {
    std::size_t i = skip_blanks(code, at + name.size());
    if (code[i] != '[') continue;
    while (i < kernel.end && (code[i] == '[' || code[i] == '.')) {
      const std::size_t member = skip_blanks(code, i + 1);
      i = skip_blanks(code, code[i] == '[' ? behind_bracket(code, i) : member + word_at(code, member).size());
    }
    if (std::string_view("+-*/").find(code[i]) != std::string_view::npos) ++i;
    if (code[i] == '=' && code[i + 1] != '=') return true;
  }
  return false;
}

/// What three matrices are whose names do not tell it of all: those whose names do are what these say, unless two say
/// the same; the only one that is assigned to, or that is not const, is C; the others follow in order.
void bind_matrices(Call& call, const std::vector<std::size_t>& pointers, const std::string& code) {
  const auto role = [&](std::size_t i) -> std::string& { return call.roles[pointers[i]]; };
  const auto is = [&](const char* name) { return role(0) == name || role(1) == name || role(2) == name; };
  const auto is_stored = [&](std::size_t i) {
    return stores_to(code, *call.kernel, call.kernel->parameters[pointers[i]].name);
  };
  for (std::size_t i = 0; i < 3; ++i) {
    if (!is_stored(i) || is_stored((i + 1) % 3) || is_stored((i + 2) % 3)) continue;
    for (const std::size_t other : {(i + 1) % 3, (i + 2) % 3})
      if (role(other) == "C" || role(other) == "D") role(other) = "";
    role(i) = "C";
  }
  for (std::size_t i = 0; i < 3; ++i)
    if (role(i) == "D" && !is("C")) role(i) = "C";
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (role(i) == role(j)) role(i) = role(j) = "";
  const auto is_const = [&](std::size_t i) {
    const std::string& type = call.kernel->parameters[pointers[i]].elements()->type;
    return type.find("const") < type.find('*');
  };
  for (std::size_t i = 0; i < 3; ++i)
    if (!is("C") && !is_const(i) && is_const((i + 1) % 3) && is_const((i + 2) % 3)) role(i) = "C";
  for (std::size_t i = 0; i < 3; ++i)
    for (const char* next : {"A", "B", "C"})
      if (role(i).empty() && !is(next)) role(i) = next;
}

/// What nvcc refuses of a kernel, or what could not run, and the host's compiler takes.
void refuse_what_nvcc_does(const CudaSource& source, const CudaKernel& kernel) {
  if (!kernel.returns.empty())
    throw InvalidArgument(
        fmt::format("{} returns {}; a __global__ function must return void", signature(kernel), kernel.returns));
  for (const char* word : {"try", "catch", "throw"})
    if (find_word(source.code(), word, kernel.begin) < kernel.end)
      throw InvalidArgument(
          fmt::format("{} has a `{}`; there are no exceptions in device code", signature(kernel), word));
  for (const CudaParameter& parameter : kernel.parameters)
    if (parameter.is_reference())
      throw InvalidArgument(fmt::format(
          "{}: `{}` is a reference, to memory of the host that a GPU does not read; kernels take arguments by value",
          signature(kernel), parameter.name));
}

void bind_parameters(Call& call, const CudaSource& source, const Request& request) {
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
        request.roles.empty() && parameter.is_pointer() && (name == "alpha" || name == "beta"))
      by_value(parameter, name);
  if (!request.roles.empty()) {
    call.roles = split_arguments(request.roles);
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
    if (!known(pointers) && pointers.size() == 3) bind_matrices(call, pointers, source.code());
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
    const std::string type = source.definitions().without_aliases(
        with_arguments(elements ? elements->type : parameter.type, kernel.template_parameters, call.template_values));
    const auto is = [&](const char* word) { return type.find(word) != type.npos; };
    if (elements && !is("half") && !is("bfloat16") && !is("float") && !is("double"))
      throw InvalidArgument(
          fmt::format("{}: `{}` is of type {}; matrices of float, half, bfloat16 and double are supported{}",
                      signature(kernel), parameter.name, type, template_hint(kernel, type)));
    call.elements.push_back(is("half")       ? Element::f16
                            : is("bfloat16") ? Element::bf16
                            : is("double")   ? Element::f64
                                             : Element::f32);
  }
}

/// The sizes for which a launch has one variable, as letters; empty if it has one for each.
std::string equal_in(const CudaLaunch& launch, const Call& call) {
  std::map<std::string, std::string> sizes;
  for (std::size_t i = 0; i < std::min(call.roles.size(), launch.arguments.size()); ++i) {
    const std::string &role = call.roles[i], &passed = launch.arguments[i];
    if (role != "M" && role != "N" && role != "K") continue;
    // Of a number that is passed the grid is often one, too, so that it says nothing of other sizes.
    if (!passed.empty() && !std::isdigit(static_cast<unsigned char>(passed[0]))) sizes[passed] += role;
  }
  for (const auto& [passed, letters] : sizes)
    if (letters.size() > 1) return letters;
  return "";
}

}  // namespace

void Call::make_equal(Problem& problem) const {
  for (const char size : equal) size_named(problem, size) = size_named(problem, equal[0]);
}

bool is_size(std::string_view role) { return role == "M" || role == "N" || role == "K"; }
std::int64_t& size_named(Problem& problem, char size) {
  return size == 'M' ? problem.M : size == 'N' ? problem.N : problem.K;
}

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
    static const std::map<std::string, std::string> names = {
        {"a", "A"},      {"b", "B"},      {"c", "C"},   {"d", "D"},   {"x", "A"},    {"y", "B"},    {"out", "C"},
        {"output", "C"}, {"result", "C"}, {"lhs", "A"}, {"rhs", "B"}, {"left", "A"}, {"right", "B"}};
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

Call bind_call(const CudaSource& source, const Request& request) {
  Call call{};
  const std::size_t angle = request.kernel.find('<');
  call.kernel = &choose_kernel(source, request.kernel.substr(0, angle));
  call.launch = source.launch_of(*call.kernel);
  if (angle != std::string::npos)
    call.template_values = split_arguments(request.kernel.substr(angle + 1, request.kernel.rfind('>') - angle - 1));
  else if (call.launch)
    call.template_values = call.launch->template_arguments;
  refuse_what_nvcc_does(source, *call.kernel);
  bind_parameters(call, source, request);
  const bool as_launched = call.launch && request.grid.empty() && !request.m && !request.n && !request.k;
  call.equal = call.square ? "MNK" : as_launched ? equal_in(*call.launch, call) : "";
  std::sort(call.equal.begin(), call.equal.end(), [](char a, char b) { return a != 'K' && (b == 'K' || a < b); });
  if (call.has("D") && !call.has("C"))
    std::replace(call.roles.begin(), call.roles.end(), std::string("D"), std::string("C"));
  return call;
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
      if (type == "typename" || type == "class")
        value = source.definitions().without_aliases(value);  // of a function of the host's
      if (type == "typename" || type == "class" || type == "bool") continue;
      value = std::to_string(
          evaluate(value, [&](const std::string& name) { return source.definitions().before(call.position(), name); }));
    }
    instance += fmt::format("<{}>", fmt::join(call.template_values, ", "));
  }
  return instance;
}

}  // namespace lapidary::trial
