#include "trial/load_widths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "core/pattern.hpp"
#include "core/shell_word.hpp"
#include "trial/gpu_kernel.hpp"

namespace lapidary::trial {
namespace {

std::string name_of(const std::string& file) { return std::filesystem::path(file).filename().string(); }

}  // namespace

unsigned LoadWidths::widest(const std::string& file, int line) const {
  const auto found = by_line.find({name_of(file), line});
  if (found != by_line.end()) return found->second;
  unsigned most = 0;
  for (const auto& [place, bytes] : by_line) most = std::max(most, bytes);
  return most;
}

std::map<std::pair<std::string, int>, unsigned> read_load_widths(const std::string& disassembly) {
  static const std::regex place = pattern(R"re(//## File "([^"]*)", line (\d+))re");
  static const std::regex load = pattern(R"(\bLDS((?:\.\w+)*) )");
  std::map<std::pair<std::string, int>, unsigned> widths;
  std::pair<std::string, int> at;
  std::istringstream lines(disassembly);
  std::smatch match;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_search(line, match, place)) {
      at = {name_of(match[1]), std::atoi(match[2].str().c_str())};
    } else if (std::regex_search(line, match, load)) {
      const std::string form = match[1];
      const auto has = [&](const char* part) { return form.find(part) != form.npos; };
      const unsigned bytes = has(".128") ? 16 : has(".64") ? 8 : has("16") ? 2 : has("8") ? 1 : 4;
      unsigned& widest = widths[at];
      widest = std::max(widest, bytes);
    }
  }
  return widths;
}

std::optional<LoadWidths> load_widths(const CudaSource& source, const CudaKernel& kernel, const std::string& instance,
                                      const std::vector<std::string>& roles, const std::string& keep) {
  constexpr int architecture = 90;
  const std::optional<std::string> compiler = find_nvcc();
  const std::optional<std::string> nvdisasm = find_tool("NVDISASM", {"nvdisasm", "/usr/local/cuda/bin/nvdisasm"});
  if (!compiler || !nvdisasm) return std::nullopt;
  const WorkFolder folder(keep);
  const std::string unit = folder.file("machine_code.cu"), cubin = folder.file("machine_code.cubin");
  std::ofstream(unit) << gpu_unit(source, kernel, instance, roles);
  const std::string options = fmt::format("-lineinfo -cubin -o {}", shell_word(cubin));
  if (run_command(nvcc_command(*compiler, source, unit, architecture, options)).status != 0) return std::nullopt;
  const Finished code = run_command(fmt::format("{} -g -c {}", shell_word(*nvdisasm), shell_word(cubin)));
  if (code.status != 0) return std::nullopt;
  std::smatch version;
  const std::string told = run_command(*compiler + " --version").output;
  const bool known = std::regex_search(told, version, pattern(R"(V([\d.]+))"));
  return LoadWidths{fmt::format("nvcc{} for sm_{}", known ? " " + version[1].str() : "", architecture),
                    read_load_widths(code.output)};
}

}  // namespace lapidary::trial
