#include "trial/advice.hpp"

#include <fmt/format.h>

#include <optional>

namespace lapidary::trial {

std::vector<Advice> advice_of(const emulator::Report& report) {
  std::uint64_t worst_excess = 0, worst_sectors = 0;
  std::optional<Advice> bank, sector;
  for (const emulator::LineCounters& line : report.lines) {
    const emulator::Counters& c = line.counters;
    const std::uint64_t wavefronts = c.shared_load.wavefronts + c.shared_store.wavefronts;
    const std::uint64_t minimum = c.shared_load.minimum + c.shared_store.minimum;
    if (wavefronts > minimum + worst_excess && wavefronts * 2 >= minimum * 3) {
      worst_excess = wavefronts - minimum;
      bank = {Advice::Waste::bank_conflicts, line.file, line.line,
              static_cast<double>(wavefronts) / static_cast<double>(minimum)};
    }
    for (const emulator::GlobalCounters& g : {c.global_load, c.global_store}) {
      if (g.requests == 0 || g.sectors < 17 * g.requests || g.sectors <= worst_sectors) continue;
      worst_sectors = g.sectors;
      sector = {Advice::Waste::sectors, line.file, line.line,
                static_cast<double>(g.sectors) / static_cast<double>(g.requests)};
    }
  }
  std::vector<Advice> all;
  for (const std::optional<Advice>& one : {sector, bank})
    if (one) all.push_back(*one);
  return all;
}

std::string text_of(const Advice& advice) {
  if (advice.waste == Advice::Waste::bank_conflicts)
    return fmt::format("{}:{}: bank conflicts, {:.1f} wavefronts where 1 would do", advice.file, advice.line,
                       advice.rate);
  return fmt::format(
      "{}:{}: the lanes of a warp touch {:.0f} sectors with one instruction; neighbouring threads should touch "
      "neighbouring elements",
      advice.file, advice.line, advice.rate);
}

}  // namespace lapidary::trial
