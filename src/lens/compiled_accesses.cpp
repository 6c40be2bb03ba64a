#include "lens/compiled_accesses.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace lapidary::lens {
namespace {

using emulator::Access;
using emulator::AccessSite;
using model::InstructionClass;

using AccessesByPlace = std::map<std::tuple<std::string, int, InstructionClass>, CompiledAccess>;

/// Whether of a kind, over all lines that the problem executes, the machine code has instructions of each width in the
/// ratio in which they are written.
bool has_widths_as_written(const AccessesByPlace& accesses, InstructionClass kind) {
  std::map<int, std::pair<std::uint64_t, std::uint64_t>> widths;  // written, in the machine code
  for (const auto& [place, access] : accesses) {
    if (access.kind != kind || access.written.empty()) continue;
    for (const auto& [bytes, count] : access.written) widths[bytes].first += count;
    for (const auto& [bytes, count] : access.machine) widths[bytes].second += static_cast<std::uint64_t>(count);
  }
  if (widths.empty()) return false;
  const auto [written, machine] = widths.begin()->second;
  return std::all_of(widths.begin(), widths.end(), [&, written = written, machine = machine](const auto& width) {
    const auto [own_written, own_machine] = width.second;
    return own_written > 0 && own_machine > 0 && own_written * machine == written * own_machine;
  });
}

}  // namespace

model::InstructionClass class_of(emulator::Access access) {
  switch (access) {
    case Access::global_load: return InstructionClass::global_load;
    case Access::async_copy: return InstructionClass::async_copy;
    case Access::bulk_load:
    case Access::bulk_store: return InstructionClass::bulk_copy;
    case Access::shared_load: return InstructionClass::shared_load;
    case Access::shared_store: return InstructionClass::shared_store;
    default: return InstructionClass::global_store;
  }
}

std::vector<CompiledAccess> compiled_accesses(const model::CompiledKernel& compiled, const emulator::Report& written) {
  AccessesByPlace found;
  for (const model::MachineInstruction& i : compiled.instructions) {
    if (i.bytes == 0 || i.line == 0) continue;
    CompiledAccess& access = found
                                 .try_emplace({i.file, i.line, i.kind},
                                              CompiledAccess{i.file, i.line, i.kind, {}, {}, false})
                                 .first->second;
    ++access.machine[i.bytes];
  }
  for (const AccessSite& site : written.sites) {
    const auto place = found.find({site.file, site.line, class_of(site.access)});
    if (place != found.end()) place->second.written[site.bytes] += site.instructions;
  }
  std::vector<CompiledAccess> accesses;
  for (auto& [place, access] : found) {
    access.exchanged = has_widths_as_written(found, access.kind);
    accesses.push_back(access);
  }
  return accesses;
}

}  // namespace lapidary::lens
