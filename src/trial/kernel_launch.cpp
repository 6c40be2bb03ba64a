#include "trial/kernel_launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <vector>

#include "core/error.hpp"
#include "trial/call_text.hpp"
#include "trial/evaluate.hpp"
#include "trial/tokens.hpp"

namespace lapidary::trial {
namespace {

/// Whether M, N or K in the file's launch is something else than the size: a constant that the kernel is not passed.
bool is_other_constant(const CudaSource& source, const Call& call, const std::string& size) {
  if (!call.launch || !source.definitions().constant(size) || !call.constants.empty()) return false;
  const auto role = std::find(call.roles.begin(), call.roles.end(), size);
  const auto place = static_cast<std::size_t>(role - call.roles.begin());
  if (place >= call.launch->arguments.size()) return false;
  std::optional<std::string> passed = call.launch->arguments[place];
  for (int i = 0; i < 4 && passed; ++i) {
    if (*passed == size) return false;
    passed = source.definitions().before(call.position(), *passed);
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
    const std::string meaning = source.definitions().without_aliases(name);
    return meaning.find("::") == meaning.npos ? std::optional(meaning) : std::nullopt;
  }
  for (const auto& [role, constant] : call.constants)
    if (constant == name) return size(role);
  for (std::size_t i = 0; i < std::min(call.template_values.size(), call.kernel->template_parameters.size()); ++i)
    if (call.kernel->template_parameters[i].name == name && call.template_values[i] != name)
      return call.template_values[i];
  return source.definitions().before(call.position(), name);
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
      const auto definition = word ? source.definitions().before(call.position(), text) : std::nullopt;
      if (!definition) break;
      text = *definition;
    }
  }
  return split_arguments(text);
}

}  // namespace

LaunchShape shape_of(const CudaSource& source, const Call& call, const Request& request, const Problem& problem) {
  const auto value = [&](const std::string& expression, bool in_file) {
    return evaluate(expression, [&](const std::string& name) { return look_up(source, call, problem, name, in_file); });
  };
  const std::string example =
      "; give the launch, as in --grid \"ceil_div(N,32), ceil_div(M,32)\" --block \"32,32\" [--shared \"2*32*32*4\"]";
  const auto extent = [&](const std::string& given, std::size_t place, const char* what) {
    const std::vector<std::string> parts = extents_of(source, call, given, place);
    if (parts.size() > 3)
      throw InvalidArgument(fmt::format("the {} has {} extents; it has one to three{}", what, parts.size(), example));
    if (parts.empty())
      throw InvalidArgument(
          fmt::format("{} has no launch of {} that tells the {}{}", source.path(), call.kernel->name, what, example));
    std::array<std::int64_t, 3> values = {1, 1, 1};
    try {
      for (std::size_t i = 0; i < parts.size(); ++i) values[i] = value(parts[i], given.empty());
    } catch (const InvalidArgument& error) {
      throw InvalidArgument(fmt::format("the {} is not known: {}{}", what, error.what(), example));
    }
    const std::int64_t most = what == std::string_view("block") ? LaunchLimits::threads : LaunchLimits::grid_x;
    for (const std::int64_t side : values)
      if (side < 1 || side > most)
        throw InvalidArgument(fmt::format("the {} has an extent of {}; legal are 1 to {}", what, side, most));
    return Extent3(values[0], values[1], values[2]);
  };
  LaunchShape shape{};
  shape.kernel = call.kernel->name.c_str();
  shape.grid = extent(request.grid, 0, "grid");
  shape.block = extent(request.block, 1, "block");
  std::string shared = request.shared;
  if (shared.empty() && call.launch && call.launch->configuration.size() > 2) shared = call.launch->configuration[2];
  if (!shared.empty()) {
    const std::int64_t bytes = value(shared, request.shared.empty());
    if (bytes < 0 || bytes > LaunchLimits::shared_bytes_opt_in)
      throw InvalidArgument(fmt::format("{} is {} bytes; a block has at most {}",
                                        request.shared.empty()
                                            ? fmt::format("`{}`, the shared memory of the launch in line {},", shared,
                                                          source.line_of(call.launch->position))
                                            : "--shared",
                                        bytes, LaunchLimits::shared_bytes_opt_in));
    shape.shared_bytes = static_cast<unsigned>(bytes);
  }
  const std::uint64_t threads = std::uint64_t{shape.block.x} * shape.block.y * shape.block.z;
  if (threads > LaunchLimits::threads)
    throw InvalidArgument(fmt::format("{} is launched with {} threads a block; 1 to {} are legal", call.kernel->name,
                                      threads, LaunchLimits::threads));
  if (!call.kernel->launch_bounds.empty()) {
    std::int64_t bounds = LaunchLimits::threads;
    try {
      bounds = value(call.kernel->launch_bounds, true);
    } catch (const InvalidArgument&) {  // what cannot be read limits nothing
    }
    if (threads > static_cast<std::uint64_t>(bounds))
      throw InvalidArgument(fmt::format("{} is launched with {} threads a block; its __launch_bounds__ allow {}",
                                        call.kernel->name, threads, bounds));
  }
  return shape;
}

void check_shared_memory(const CudaSource& source, const Call& call, const Request& request, const LaunchShape& shape,
                         unsigned static_bytes) {
  const unsigned bytes = static_bytes + shape.shared_bytes;
  if (bytes > LaunchLimits::shared_bytes_opt_in)
    throw InvalidArgument(
        fmt::format("{} has {} bytes of shared memory, {} of them in variables; a block has at most {}",
                    call.kernel->name, bytes, static_bytes, LaunchLimits::shared_bytes_opt_in));
  // Of a launch that is the user's and not the file's the rest of the host's code is not known.
  const bool of_file = call.launch && request.shared.empty() && shape.shared_bytes > 0;
  if (of_file && bytes > LaunchLimits::shared_bytes_default && !source.mentions("MaxDynamicSharedMemorySize") &&
      !source.mentions("MAX_DYNAMIC_SHARED_SIZE_BYTES"))
    throw InvalidArgument(fmt::format(
        "{} is launched with {} bytes of shared memory; without cudaFuncSetAttribute({}, "
        "cudaFuncAttributeMaxDynamicSharedMemorySize, {}) a block has at most {}",
        call.kernel->name, bytes, call.kernel->name, shape.shared_bytes, LaunchLimits::shared_bytes_default));
}

}  // namespace lapidary::trial
