#include "trial/kernel_object.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "core/error.hpp"
#include "core/launch_shape.hpp"
#include "core/math.hpp"
#include "core/pattern.hpp"
#include "core/shell_word.hpp"
#include "lens/source_text.hpp"
#include "trial/call_text.hpp"

namespace lapidary::trial {
namespace {

/// What a kernel does wrong with variables of a thread's own, of which no access is reported.
constexpr const char* warned_of =
    "-Wno-all -Wno-extra -Wno-unknown-warning-option -Wno-volatile -Wno-deprecated-volatile -Wuninitialized -Wmaybe-uninitialized -Warray-bounds -Wstringop-overflow "
    "-Waggressive-loop-optimizations -Wvla";

/// What nvcc defines where it compiles kernels, for an H200. Headers of this project, which look for it, come before.
constexpr const char* as_nvcc =
    "#define __CUDACC__ 1\n#define __NVCC__ 1\n#define __CUDA_ARCH__ 900\n#define __CUDACC_VER_MAJOR__ 13\n"
    "#define __CUDACC_VER_MINOR__ 0\n";

/// Between shared variables: as long as all banks, so that what follows keeps its bank.
constexpr unsigned red_zone_bytes = 128;

std::string compiler() {
  const char* const chosen = std::getenv("CXX");
  if (chosen && *chosen) return chosen;
  for (const char* name : {"c++", "g++", "clang++"})
    if (run_command(fmt::format("command -v {}", name)).status == 0) return name;
  if (run_command("command -v sh").status != 0)
    throw InvalidArgument("no command can be started: are all file descriptors taken (ulimit -n), or is PATH empty?");
  throw InvalidArgument("there is no C++ compiler: set CXX to one, g++ 12 or clang++ 16 or newer");
}

/// What the compiler looks for headers in: the sources', or what is installed beside share/lapidary.
std::string include_options() {
  const std::filesystem::path stand_ins = stand_in_headers(), rooms = stand_ins.parent_path().parent_path();
  return fmt::format("-I {} -I {}", shell_word(stand_ins.string()), shell_word(rooms.string()));
}

std::string launcher(const CudaSource& source, const CudaKernel& kernel, const std::string& instance,
                     const std::vector<std::string>& roles) {
  return fmt::format(
      R"(
#line 1 "/./{0}: the call of the kernel"
{3}#define LAPIDARY_EXPORT extern "C" __attribute__((visibility("default"), no_sanitize("thread")))
LAPIDARY_EXPORT ::lapidary::SharedVariable* lapidary_variables() {{ return ::lapidary::SharedVariable::first; }}
LAPIDARY_EXPORT void lapidary_set_dynamic_offset(unsigned offset) {{ ::lapidary::dynamic_offset = offset; }}
LAPIDARY_EXPORT void lapidary_run(const void* context) {{
  if (::lapidary::emulator::abi::first_in_block()) {{
    unsigned char* const base = static_cast<unsigned char*>(::lapidary::emulator::abi::dynamic_shared());
    for (const auto* v = ::lapidary::SharedVariable::first; v; v = v->next)
      if (v->red_zone_bytes) ::lapidary::emulator::abi::red_zone(base + v->offset + v->bytes, v->red_zone_bytes);
  }}
  const auto& arguments = *static_cast<const ::lapidary::KernelArguments*>(context);
  {4}{1}{2};
}}
)",
      in_literal(source.path()), instance, call_of(kernel, roles), without_macros(), in_scope(kernel));
}

/// The compiler's errors in the user's file, without the paths and notes of others.
std::string errors_of(const std::string& output, const std::string& path) {
  std::istringstream lines(output);
  std::string text, fallback;
  bool shown = false;
  int errors = 0;
  for (std::string line; std::getline(lines, line);) {
    const bool located = std::regex_search(line, pattern(R"(:\d+:\d+: (fatal )?(error|note|warning):)"));
    if (located) {
      shown = line.starts_with("/./" + path) && line.find("error:") != line.npos && ++errors <= 5;
      if (fallback.empty()) fallback = line;
      if (shown) line = line.substr(3);
    } else if (line.starts_with("/./") || line.starts_with("In file") || !line.starts_with(" ")) {
      shown = false;
    }
    if (shown) text += "\n" + line;
  }
  return text.empty() ? "\n" + (fallback.empty() ? output : fallback) : text;
}

/// What the compiler warns of in what a kernel may execute of the user's file, once each, without its notes and the
/// text of the lines. Of a function that is part of several kernels once it is inlined, it tells which.
std::string warnings_of(const std::string& output, const CudaSource& source, const CudaKernel& kernel) {
  const std::vector<bool> reached = source.reached_by(kernel);
  const std::string place = "/./" + source.path() + ":";
  const auto is_reached = [&](const std::string& line, std::size_t at) {
    const int number = std::atoi(line.c_str() + at + place.size());
    return number <= 0 || static_cast<std::size_t>(number) >= reached.size() ||
           reached[static_cast<std::size_t>(number)];
  };
  std::istringstream lines(output);
  std::string text;
  bool of_another = false;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = line.find(place);
    if (line.starts_with("In ") || line.find(": In ") != line.npos) of_another = false;
    if (line.find(" inlined from ") != line.npos) of_another = of_another || (at != line.npos && !is_reached(line, at));
    if (at != 0 || line.find(" warning: ") == line.npos || of_another || !is_reached(line, at)) continue;
    line = line.substr(3) + "\n";
    if (text.find(line) == text.npos) text += line;
  }
  return text;
}

}  // namespace

KernelObject::KernelObject(const CudaSource& source, const CudaKernel& kernel, const std::string& instance,
                           const std::vector<std::string>& roles, const std::string& keep)
    : path_(source.path()), folder_(keep) {
  compile(source, kernel,
          fmt::format("#include \"cuda_runtime.h\"\n{}#line 1 \"/./{}\"\n{}{}", as_nvcc, in_literal(path_),
                      source.rewritten(CudaSource::Target::emulator), launcher(source, kernel, instance, roles)));
  library_ = SharedObject(folder_.file("kernel.so"));
  run_ = library_.function<void (*)(const void*)>("lapidary_run");
  std::vector<SharedVariable*> variables;
  const auto first = library_.function<SharedVariable* (*)()>("lapidary_variables");
  for (SharedVariable* variable = first(); variable; variable = variable->next) {
    const std::size_t place = source.shared_sites()[static_cast<std::size_t>(variable->site)];
    const bool of_another = std::any_of(source.kernels().begin(), source.kernels().end(), [&](const CudaKernel& k) {
      return k.begin <= place && place < k.end && k.begin != kernel.begin;
    });
    if (!of_another) variables.push_back(variable);
  }
  std::sort(variables.begin(), variables.end(),
            [](const SharedVariable* a, const SharedVariable* b) { return a->site < b->site; });
  unsigned in_block = 0;  // offset without red zones, as on a GPU
  for (SharedVariable* variable : variables) {
    in_block = round_up(in_block, std::max(variable->alignment, 4u));
    variable->offset = in_block + red_zone_bytes * static_cast<unsigned>(variables_.size());
    variable->red_zone_bytes = red_zone_bytes;
    in_block += variable->bytes;
    variables_.push_back(variable);
  }
  static_bytes_ = in_block;
  arena_bytes_ = round_up(in_block, 16u) + red_zone_bytes * static_cast<unsigned>(variables_.size());
  library_.function<void (*)(unsigned)>("lapidary_set_dynamic_offset")(arena_bytes_);
  if (static_bytes_ > LaunchLimits::shared_bytes_default)
    throw InvalidArgument(fmt::format(
        "the __shared__ variables of {} take {} bytes; nvcc allows {}, more must be `extern __shared__` memory",
        kernel.name, static_bytes_, LaunchLimits::shared_bytes_default));
}

void KernelObject::compile(const CudaSource& source, const CudaKernel& kernel, const std::string& unit) {
  const std::string cxx = compiler();
  const std::string file = folder_.file("kernel.cpp"), object = folder_.file("kernel.o");
  std::ofstream(file) << unit;
  const bool clang = run_command(cxx + " --version").output.find("clang") != std::string::npos;
  // Those of instrumented kernels (cmake/LapidaryKernels.cmake), whichever compiler the program itself was built by.
  const std::string options = clang ? LAPIDARY_OPTIONS_CLANG : LAPIDARY_OPTIONS_GNU " -fmax-errors=20";
  const std::string folder = std::filesystem::absolute(source.path()).parent_path().string();
  const Finished compiled = run_command(fmt::format(
      "{} -std=c++20 -x c++ -c {} {} -fdiagnostics-color=never -DLAPIDARY_INSTRUMENTED -Dmain=lapidary_main "
      "-iquote {} {} {} -o {}",
      cxx, options, warned_of, shell_word(folder), include_options(), shell_word(file), shell_word(object)));
  if (compiled.status != 0)
    throw InvalidArgument(
        fmt::format("{} does not compile:{}", source.path(), errors_of(compiled.output, source.path())));
  warnings_ = warnings_of(compiled.output, source, kernel);
  // No error of the compiler's, as functions of the host's may have such arrays.
  if (const std::size_t at = warnings_.find("[-Wvla"); at != warnings_.npos) {
    const std::size_t begin = warnings_.rfind('\n', at) + 1;  // npos + 1 is the beginning
    const std::string line = warnings_.substr(begin, warnings_.find(" warning: ", begin) - begin);
    throw InvalidArgument(
        fmt::format("{} does not compile:\n{} error: an array of the kernel has a length that no constant tells",
                    source.path(), line));
  }
  const Finished linked = run_command(fmt::format("{} -shared -Wl,-Bsymbolic {} -o {}", cxx, shell_word(object),
                                                  shell_word(folder_.file("kernel.so"))));
  if (linked.status != 0) throw InvalidArgument(fmt::format("{} cannot be linked:\n{}", source.path(), linked.output));
}

std::string KernelObject::name_of(std::int64_t offset) const {
  const SharedVariable* variable = nullptr;
  for (const SharedVariable* candidate : variables_)
    if (candidate->offset <= offset) variable = candidate;
  if (offset >= arena_bytes_ || !variable) {
    if (offset < 0) return fmt::format("{} bytes before the block's shared memory", -offset);
    return fmt::format("byte {} of the `extern __shared__` memory", offset - arena_bytes_);
  }
  std::int64_t element = (offset - variable->offset) / variable->element_bytes;
  const std::int64_t elements = variable->bytes / variable->element_bytes;
  if (element >= elements)
    return fmt::format("element {} of {}, which has {} of them", element, variable->name, elements);
  std::string index;
  for (int i = 3; i >= 0; --i) {
    if (variable->extents[i] == 0) continue;
    index = fmt::format("[{}]", element % variable->extents[i]) + index;
    element /= variable->extents[i];
  }
  return variable->name + index;
}

std::string KernelObject::explain(const emulator::Fault& fault) const {
  const std::string text = to_text(fault, [&](std::int64_t offset) { return name_of(offset); });
  lens::SourceText sources;
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    out += (out.empty() ? "" : "\n") + line;
    const std::size_t at = line.rfind(path_ + ":");
    if (at == line.npos) continue;
    const std::string code = sources.line(path_, std::atoi(line.c_str() + at + path_.size() + 1));
    if (!code.empty()) out += "\n      " + code;
  }
  return out;
}

}  // namespace lapidary::trial
