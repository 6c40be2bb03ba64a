#include "trial/advice.hpp"

#include <fmt/format.h>

#include "core/math.hpp"
#include "layout/access.hpp"

namespace lapidary::trial {
namespace {

Advice advice_on(const emulator::AccessSite& site) {
  const bool global = emulator::is_global(site.access), store = emulator::is_write(site.access);
  const int units = global ? sectors(site.worst) : wavefronts(site.worst, store);
  const int minimum = global ? ceil_div(distinct_bytes(site.worst), 32) : minimum_wavefronts(site.worst, store);
  return {global ? Advice::Waste::sectors : Advice::Waste::bank_conflicts,
          site.file,
          site.line,
          site.memory,
          store,
          units,
          minimum,
          site.units == site.instructions * static_cast<std::uint64_t>(units)};
}

}  // namespace

std::vector<Advice> advice_of(const emulator::Report& report) {
  std::uint64_t worst_excess = 0, worst_sectors = 0;
  const emulator::AccessSite *bank = nullptr, *sector = nullptr;
  for (const emulator::AccessSite& site : report.sites) {
    using emulator::Access;
    if (site.access == Access::shared_load || site.access == Access::shared_store) {
      if (site.units <= site.minimum + worst_excess || site.units * 2 < site.minimum * 3) continue;
      worst_excess = site.units - site.minimum;
      bank = &site;
    } else if (site.access == Access::global_load || site.access == Access::global_store) {
      if (site.units < 17 * site.instructions || site.units <= worst_sectors) continue;
      worst_sectors = site.units;
      sector = &site;
    }
  }
  std::vector<Advice> all;
  for (const emulator::AccessSite* one : {sector, bank})
    if (one) all.push_back(advice_on(*one));
  return all;
}

std::string text_of(const Advice& advice) {
  const std::string place = fmt::format("{}:{}", advice.file, advice.line);
  const std::string units = fmt::format("{}{}", advice.alike ? "" : "up to ", advice.units);
  if (advice.waste == Advice::Waste::bank_conflicts)
    return fmt::format("{}: bank conflicts, {} wavefronts for one {} where {} would do", place, units,
                       advice.store ? "store" : "load", advice.minimum);
  return fmt::format(
      "{}: the lanes of a warp touch {} sectors of {} with one instruction; neighbouring threads should touch "
      "neighbouring elements",
      place, units, advice.memory);
}

}  // namespace lapidary::trial
