#include "emulator/counter_sums.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "emulator/symbols.hpp"

namespace lapidary::emulator {
namespace {

void add(Counters& to, Access access, const SiteCounters& site) {
  const auto global = [&](GlobalCounters& counters) {
    counters.requests += site.instructions;
    counters.sectors += site.units;
  };
  const auto bulk = [&](BulkCounters& counters) {
    counters += {.requests = site.instructions,
                 .sectors = site.units,
                 .bytes = site.distinct_bytes,
                 .shared_bytes = site.shared_bytes,
                 .multicast_bytes = site.multicast_bytes};
  };
  const auto shared = [&](SharedCounters& counters) {
    counters.instructions += site.instructions;
    counters.wavefronts += site.units;
    counters.minimum += site.minimum;
  };
  switch (access) {
    case Access::global_load: global(to.global_load); break;
    case Access::global_store: global(to.global_store); break;
    case Access::global_atomic: global(to.global_atomic); break;
    case Access::async_copy: global(to.async_copy); break;
    case Access::bulk_load: bulk(to.bulk_load); break;
    case Access::bulk_store: bulk(to.bulk_store); break;
    case Access::shared_load: shared(to.shared_load); break;
    case Access::shared_store: shared(to.shared_store); break;
    case Access::shared_atomic: shared(to.shared_atomic); break;
    case Access::cluster_load: shared(to.cluster_load); break;
    case Access::cluster_store: shared(to.cluster_store); break;
    case Access::cluster_atomic: shared(to.cluster_atomic); break;
    case Access::async_issue:
    case Access::async_arrival: break;
  }
}

}  // namespace

void SiteCounters::merge(const SiteCounters& other) {
  instructions += other.instructions;
  lanes += other.lanes;
  units += other.units;
  lines += other.lines;
  minimum += other.minimum;
  distinct_bytes += other.distinct_bytes;
  shared_bytes += other.shared_bytes;
  multicast_bytes += other.multicast_bytes;
  // Of equals the one of the first block, so that the choice does not depend on which host thread ran which block.
  const auto rank = [](const SiteCounters& s) { return std::tuple(-s.worst_excess, s.worst_block, s.worst_warp); };
  if (rank(other) >= rank(*this)) return;
  worst = other.worst;
  worst_excess = other.worst_excess;
  worst_block = other.worst_block;
  worst_warp = other.worst_warp;
}

void Sites::merge(const Sites& other) {
  for (const auto& [key, counters] : other.memory) memory[key].merge(counters);
  for (const auto& [pc, count] : other.fma) fma[pc] += count;
  for (const auto& [pc, counters] : other.mma) mma[pc] += counters;
  for (const auto& [pc, counters] : other.wgmma) wgmma[pc] += counters;
  bytes_in_flight = std::max(bytes_in_flight, other.bytes_in_flight);
}

BulkCounters& operator+=(BulkCounters& sum, const BulkCounters& other) {
  sum.requests += other.requests;
  sum.sectors += other.sectors;
  sum.bytes += other.bytes;
  sum.shared_bytes += other.shared_bytes;
  sum.multicast_bytes += other.multicast_bytes;
  return sum;
}

MmaCounters& operator+=(MmaCounters& sum, const MmaCounters& other) {
  sum.instructions += other.instructions;
  sum.flop += other.flop;
  return sum;
}

WgmmaCounters& operator+=(WgmmaCounters& sum, const WgmmaCounters& other) {
  sum.instructions += other.instructions;
  sum.shared_bytes += other.shared_bytes;
  sum.flop += other.flop;
  return sum;
}

Counters& operator+=(Counters& sum, const Counters& other) {
  const auto global = [](GlobalCounters& a, const GlobalCounters& b) {
    a.requests += b.requests;
    a.sectors += b.sectors;
  };
  const auto shared = [](SharedCounters& a, const SharedCounters& b) {
    a.instructions += b.instructions;
    a.wavefronts += b.wavefronts;
    a.minimum += b.minimum;
  };
  global(sum.global_load, other.global_load);
  global(sum.global_store, other.global_store);
  global(sum.global_atomic, other.global_atomic);
  global(sum.async_copy, other.async_copy);
  sum.bulk_load += other.bulk_load;
  sum.bulk_store += other.bulk_store;
  shared(sum.shared_load, other.shared_load);
  shared(sum.shared_store, other.shared_store);
  shared(sum.shared_atomic, other.shared_atomic);
  shared(sum.cluster_load, other.cluster_load);
  shared(sum.cluster_store, other.cluster_store);
  shared(sum.cluster_atomic, other.cluster_atomic);
  sum.mma += other.mma;
  sum.wgmma += other.wgmma;
  sum.fma += other.fma;
  return sum;
}

Report report_of(const Sites& sites, std::span<const std::string> memories) {
  std::vector<std::uintptr_t> pcs;
  for (const auto& [key, counters] : sites.memory) pcs.push_back(SiteKey(key).pc());
  for (const auto& [pc, count] : sites.fma) pcs.push_back(pc);
  for (const auto& [pc, counters] : sites.mma) pcs.push_back(pc);
  for (const auto& [pc, counters] : sites.wgmma) pcs.push_back(pc);
  std::sort(pcs.begin(), pcs.end());
  pcs.erase(std::unique(pcs.begin(), pcs.end()), pcs.end());
  const auto lines = source_lines(pcs);

  Report report;
  std::map<std::pair<std::string, int>, Counters> by_line;
  std::map<std::tuple<std::string, int, Access, std::string, int>, std::pair<SiteCounters, std::vector<std::uintptr_t>>>
      by_site;
  const auto line_of = [&](std::uintptr_t pc) {
    const auto line = lines.find(pc);
    return line == lines.end() ? std::pair(std::string(), 0) : std::pair(line->second.file, line->second.line);
  };
  for (const auto& [bits, counters] : sites.memory) {
    const SiteKey key(bits);
    const auto [file, line] = line_of(key.pc());
    add(by_line[{file, line}], key.access(), counters);
    auto& [sum, site_pcs] = by_site[{file, line, key.access(), memories[key.memory()], key.bytes()}];
    sum.merge(counters);
    site_pcs.push_back(key.pc());
  }
  for (const auto& [pc, count] : sites.fma) by_line[line_of(pc)].fma += count;
  for (const auto& [pc, counters] : sites.mma) by_line[line_of(pc)].mma += counters;
  for (const auto& [pc, counters] : sites.wgmma) by_line[line_of(pc)].wgmma += counters;
  report.bytes_in_flight = sites.bytes_in_flight;
  for (auto& [place, entry] : by_site) {
    const auto& [file, line, access, memory, bytes] = place;
    auto& [c, site_pcs] = entry;
    std::sort(site_pcs.begin(), site_pcs.end());
    AccessSite site{.file = file,
                    .line = line,
                    .access = access,
                    .memory = memory,
                    .bytes = bytes,
                    .instructions = c.instructions,
                    .lanes = c.lanes,
                    .units = c.units,
                    .lines = c.lines,
                    .minimum = c.minimum,
                    .distinct_bytes = c.distinct_bytes,
                    .shared_bytes = c.shared_bytes,
                    .multicast_bytes = c.multicast_bytes,
                    .worst = c.worst,
                    .worst_block = c.worst_block,
                    .worst_warp = c.worst_warp,
                    .pcs = std::move(site_pcs)};
    report.sites.push_back(std::move(site));
  }
  for (const auto& [line, counters] : by_line) {
    report.total += counters;
    report.lines.push_back({line.first, line.second, counters});
  }
  return report;
}

}  // namespace lapidary::emulator
