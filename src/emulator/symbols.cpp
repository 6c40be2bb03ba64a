#include "emulator/symbols.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>

#include "core/shell_word.hpp"

namespace lapidary::emulator {
namespace {

// Whose code stands for the line that calls it.
bool is_wrapper(std::string_view file) {
  constexpr std::array rooms = {"core/", "layout/", "ptx/", "emulator/", "device/", "tile/vector.hpp"};
  for (const std::string_view room : rooms)
    for (const std::string_view root : {"src/", "include/lapidary/"})
      if (file.find(std::string(root).append(room)) != file.npos) return true;
  for (const std::string_view headers : {"trial/cuda/", "/include/c++/"})
    if (file.find(headers) != file.npos) return true;
  return false;
}
// ... and for the kernel's line that calls it.
bool is_helper(std::string_view file) { return is_wrapper(file) || file.find("src/tile/") != file.npos; }

// The build gives the project's root this name (cmake/LapidaryKernels.cmake).
std::string below_root(const std::string& file) {
  constexpr std::string_view root = "/./";
  return file.starts_with(root) ? file.substr(root.size()) : file;
}

struct Module {
  std::string path;
  std::uintptr_t base;
  bool program;
};

// A position-independent program is listed without a name; its load address is the difference to be taken off.
Module module_of(std::uintptr_t pc) {
  Dl_info info;
  link_map* map = nullptr;
  if (!dladdr1(reinterpret_cast<void*>(pc), &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) || !map) return {};
  const bool program = !map->l_name || !map->l_name[0];
  return {program ? std::filesystem::read_symlink("/proc/self/exe").string() : map->l_name, map->l_addr, program};
}

std::vector<std::string> lines_of(const std::string& command) {
  std::vector<std::string> lines;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (!pipe) return lines;
  std::array<char, 4096> buffer;
  while (std::fgets(buffer.data(), buffer.size(), pipe.get())) {
    lines.emplace_back(buffer.data());
    while (!lines.back().empty() && lines.back().back() == '\n') lines.back().pop_back();
  }
  return lines;
}

// One line of addr2line: "file:line", "file:line (discriminator n)" or "??:0".
SourceLine parse(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos || text.starts_with("??")) return {};
  return {below_root(text.substr(0, colon)), std::atoi(text.c_str() + colon + 1)};
}

/// The lines of a chain of inlined calls, innermost first; at least one.
using Chain = std::vector<SourceLine>;

using Chains = std::unordered_map<std::uintptr_t, Chain>;

/// Those that addr2line finds in a module, whose instructions it loads as in the file.
Chains chains_in(const std::string& path, std::uintptr_t base, const std::vector<std::uintptr_t>& pcs) {
  Chains chains;
  constexpr std::size_t batch = 1000;  // keeps the command below the kernel's limit
  for (std::size_t first = 0; first < pcs.size(); first += batch) {
    const std::size_t last = std::min(pcs.size(), first + batch);
    std::string command = fmt::format("addr2line -i -a -e {}", shell_word(path));
    // A return address belongs to the instruction before it.
    for (std::size_t i = first; i < last; ++i) command += fmt::format(" {:#x}", pcs[i] - 1 - base);
    // -a prints the address before the frames of each, innermost first.
    std::size_t current = first - 1;
    for (const std::string& line : lines_of(command + " 2>/dev/null")) {
      if (line.starts_with("0x"))
        ++current;
      else
        chains[pcs[current]].push_back(parse(line));
    }
  }
  return chains;
}

/// Of the program's own instructions, each asked for once: addr2line takes a tenth of a second to read a large program,
/// and kernels are observed again and again. Those of libraries are not kept, which another one may take the place of.
class ProgramChains {
 public:
  void find(const Module& program, const std::vector<std::uintptr_t>& pcs, Chains& found) {
    std::unique_lock lock(mutex_);
    std::vector<std::uintptr_t> unknown;
    for (const std::uintptr_t pc : pcs)
      if (!known_.contains(pc)) unknown.push_back(pc);
    // addr2line takes stack and time. A fibre whose stack ends in here is a fault, which asks for lines itself.
    lock.unlock();
    Chains asked = chains_in(program.path, program.base, unknown);
    lock.lock();
    known_.merge(asked);
    for (const std::uintptr_t pc : pcs)
      if (const auto chain = known_.find(pc); chain != known_.end()) found.insert(*chain);
  }

 private:
  std::mutex mutex_;
  Chains known_;
};

/// Those of each instruction that has debug information.
Chains chains_of(const std::vector<std::uintptr_t>& pcs) {
  static ProgramChains of_program;
  std::map<std::string, std::pair<Module, std::vector<std::uintptr_t>>> by_module;
  for (const std::uintptr_t pc : pcs) {
    const Module module = module_of(pc);
    if (module.path.empty()) continue;
    auto& [of, its] = by_module[module.path];
    of = module;
    its.push_back(pc);
  }
  Chains chains;
  for (const auto& [path, entry] : by_module) {
    const auto& [module, its] = entry;
    if (module.program)
      of_program.find(module, its, chains);
    else
      chains.merge(chains_in(path, module.base, its));
  }
  return chains;
}

/// The innermost line that is known and does not stand for its caller; the innermost of all if there is none.
SourceLine first_outside(bool (*stands_for_caller)(std::string_view), const Chain& chain) {
  const auto found = std::find_if(chain.begin(), chain.end(), [&](const SourceLine& line) {
    return !line.file.empty() && !stands_for_caller(line.file);
  });
  return found == chain.end() ? chain.front() : *found;
}

}  // namespace

std::string to_string(const SourceLine& line) {
  if (line.file.empty()) return "unknown line";
  return fmt::format("{}:{}{}{}", line.file, line.line, line.caller.empty() ? "" : ", called at ", line.caller);
}

SourceLine source_line(CallSite where) { return {below_root(where.file), static_cast<int>(where.line)}; }

std::unordered_map<std::uintptr_t, SourceLine> source_lines(const std::vector<std::uintptr_t>& pcs) {
  std::unordered_map<std::uintptr_t, SourceLine> found;
  for (const auto& [pc, chain] : chains_of(pcs)) found[pc] = first_outside(is_helper, chain);
  return found;
}

std::optional<SourceLine> source_line(std::uintptr_t pc) {
  const auto chains = chains_of({pc});
  if (chains.empty()) return std::nullopt;
  const Chain& chain = chains.begin()->second;
  SourceLine line = first_outside(is_wrapper, chain);
  const SourceLine kernel = first_outside(is_helper, chain);
  if (is_helper(line.file) && !is_helper(kernel.file)) line.caller = to_string(kernel);
  return line;
}

}  // namespace lapidary::emulator
