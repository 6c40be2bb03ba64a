// From the accesses of single threads to those of warps: a GPU issues a load or a store once for all lanes that execute
// it together, and its cost depends on all of their addresses.
#include "emulator/access_counter.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "core/math.hpp"
#include "emulator/access_log.hpp"
#include "emulator/block.hpp"
#include "emulator/cluster.hpp"
#include "emulator/copy_engine.hpp"

namespace lapidary::emulator {

AccessCounter::AccessCounter(const Options& options, ClusterRunner& cluster, unsigned rank)
    : options_(options), cluster_(cluster), rank_(rank) {}

void AccessCounter::begin_launch(std::span<const MemoryRegion> regions) {
  regions_ = regions;
  last_region_ = {};
}

void AccessCounter::clear() {
  sites_ = {};
  divergent_intervals_ = 0;
}

void AccessCounter::count_fma(const std::unordered_map<std::uintptr_t, std::uint64_t>& fma) {
  for (const auto& [pc, count] : fma) sites_.fma[pc] += count * sample_.weight;
}

void AccessCounter::count_mma(std::uintptr_t pc, const TensorOperation& one) {
  if (!options_.count) return;
  const auto multiply_adds = static_cast<std::uint64_t>(one.M) * static_cast<unsigned>(one.N * one.K);
  sites_.mma[pc] += {.instructions = sample_.weight, .flop = 2 * multiply_adds * sample_.weight};
}

void AccessCounter::count_wgmma(std::uintptr_t pc, const WgmmaCounters& one) {
  if (!options_.count) return;
  sites_.wgmma[pc] += {.instructions = one.instructions * sample_.weight,
                       .shared_bytes = one.shared_bytes * sample_.weight,
                       .flop = one.flop * sample_.weight};
}

void AccessCounter::count_copy(const BulkCopy& copy, unsigned blocks) {
  if (!options_.count) return;
  std::vector<std::uintptr_t> sectors;
  std::uint64_t bytes = 0;
  for (const auto& [shared, global, first, end] : copy.chunks) {
    if (end <= first) continue;
    bytes += end - first;
    for (std::uintptr_t sector = (address_of(global) + first) / 32; sector <= (address_of(global) + end - 1) / 32;
         ++sector)
      if (sectors.empty() || sectors.back() != sector) sectors.push_back(sector);
  }
  // Boxes go through a tensor in its order.
  if (!std::is_sorted(sectors.begin(), sectors.end())) std::sort(sectors.begin(), sectors.end());
  sectors.erase(std::unique(sectors.begin(), sectors.end()), sectors.end());
  std::uint64_t lines = 0;
  for (std::size_t i = 0; i < sectors.size(); ++i) lines += i == 0 || sectors[i] / 4 != sectors[i - 1] / 4;
  const Access kind = copy.kind == BulkKind::load ? Access::bulk_load : Access::bulk_store;
  SiteCounters& site = sites_.memory[SiteKey(copy.pc, memory_at(copy.global), 16, kind).bits()];
  site.instructions += sample_.weight;
  site.lanes += sample_.weight;
  site.units += sectors.size() * sample_.weight;
  site.lines += lines * sample_.weight;
  site.minimum += ceil_div(bytes, std::uint64_t{32}) * sample_.weight;
  site.distinct_bytes += bytes * sample_.weight;
  site.shared_bytes += copy.bytes() * blocks * sample_.weight;
  site.multicast_bytes += bytes * (blocks - 1) * sample_.weight;
}

void AccessCounter::count_flight(std::uint64_t bytes) {
  if (options_.count) sites_.bytes_in_flight = std::max(sites_.bytes_in_flight, bytes);
}

void AccessCounter::count_interval(unsigned warp, std::span<LaneLog> logs) {
  if (!options_.merge.empty())
    for (LaneLog& log : logs)
      if (log.logged) merge_neighbours(log);
  const std::size_t counted = count_in_step(warp, logs);
  std::size_t longest = 0, shortest = ~std::size_t{0};
  for (const LaneLog& log : logs) {
    if (!log.logged) continue;
    longest = std::max(longest, log.logged);
    shortest = std::min(shortest, log.logged);
  }
  if (longest > counted) count_by_occurrence(warp, logs, counted);
  if (longest > std::min(counted, shortest)) ++divergent_intervals_;
}

// Matches the lanes' accesses by position for as long as every lane that has one there made it by the same instruction.
// Returns the position from which on that fails.
std::size_t AccessCounter::count_in_step(unsigned warp, std::span<LaneLog> logs) {
  struct Stream {
    const Event* events;
    std::size_t count;
    unsigned lane;
  };
  std::array<Stream, 32> streams;
  unsigned used = 0;
  std::size_t longest = 0;
  for (unsigned lane = 0; lane < logs.size(); ++lane) {
    if (!logs[lane].logged) continue;
    streams[used++] = {logs[lane].events.data(), logs[lane].logged, lane};
    longest = std::max(longest, logs[lane].logged);
  }
  WarpAccess access{};
  for (std::size_t position = 0; position < longest; ++position) {
    const Event* any = nullptr;
    access.active = 0;
    for (unsigned i = 0; i < used; ++i) {
      if (position >= streams[i].count) continue;
      const Event& event = streams[i].events[position];
      if (!any) any = &event;
      if (event.pc != any->pc || event.access() != any->access() || event.bytes() != any->bytes()) return position;
      access.address[streams[i].lane] = event.address();
      access.active |= 1u << streams[i].lane;
    }
    if (!is_counted(any->access())) continue;
    access.bytes = static_cast<int>(any->bytes());
    count(access, any->access(), any->pc, warp);
  }
  return longest;
}

// Lanes took different paths: the n-th execution of an instruction since the interval began is taken to be one request
// of all lanes that got there. Exact unless lanes skip different iterations of a loop without a barrier.
void AccessCounter::count_by_occurrence(unsigned warp, std::span<LaneLog> logs, std::size_t from) {
  struct Request {
    WarpAccess access{};
    Access kind{};
    std::uintptr_t pc = 0;
  };
  std::vector<Request> requests;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> by_instruction;  // index of the n-th request
  for (unsigned lane = 0; lane < logs.size(); ++lane) {
    std::unordered_map<std::uint64_t, std::size_t> occurrence;
    for (std::size_t i = from; i < logs[lane].logged; ++i) {
      const Event& event = logs[lane].events[i];
      if (!is_counted(event.access())) continue;
      const std::uint64_t key = SiteKey(event.pc, 0, event.bytes(), event.access()).bits();
      const std::size_t n = occurrence[key]++;
      std::vector<std::size_t>& indices = by_instruction[key];
      if (n == indices.size()) {
        indices.push_back(requests.size());
        requests.push_back({{}, event.access(), event.pc});
        requests.back().access.bytes = static_cast<int>(event.bytes());
      }
      WarpAccess& access = requests[indices[n]].access;
      access.address[lane] = event.address();
      access.active |= 1u << lane;
    }
  }
  for (const Request& request : requests) count(request.access, request.kind, request.pc, warp);
}

// Widens the first of a group of neighbouring accesses to the whole group and drops the others; the widest groups
// first. A group that does not fill up is left to narrower ones.
void AccessCounter::merge_neighbours(LaneLog& log) const {
  std::vector<Neighbour> neighbours;
  for (std::size_t i = 0; i < log.logged; ++i)
    if (const auto merge = options_.merge.find(log.events[i].pc); merge != options_.merge.end())
      neighbours.push_back({i, merge->second});
  if (neighbours.empty()) return;
  for (const unsigned width : {16u, 8u, 4u}) merge_neighbours(log, neighbours, width);
  std::size_t kept = 0;
  auto next = neighbours.begin();
  for (std::size_t i = 0; i < log.logged; ++i) {
    const bool dropped = next != neighbours.end() && next->place == i && (next++)->dropped;
    if (!dropped) log.events[kept++] = log.events[i];
  }
  log.logged = kept;
}

void AccessCounter::merge_neighbours(LaneLog& log, std::vector<Neighbour>& neighbours, unsigned width) {
  struct Group {
    std::vector<Neighbour*> members;
    std::uint32_t covered = 0;  // a bit for each byte
  };
  // By instruction and address. What is read again is of another group, the next pass of a loop.
  std::unordered_map<std::uint64_t, std::vector<Group>> open;
  for (Neighbour& neighbour : neighbours) {
    const Event& event = log.events[neighbour.place];
    if (neighbour.dropped || neighbour.merge.bytes < width || event.bytes() >= width) continue;
    // Addresses have 48 bits, of which the lowest one does not count here.
    const std::uint64_t key = event.address() / width | static_cast<std::uint64_t>(event.access()) << 47 |
                              std::uint64_t{neighbour.merge.group} << 51;
    const std::uint32_t bytes = ((1u << event.bytes()) - 1) << event.address() % width;
    std::vector<Group>& groups = open[key];
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return !(g.covered & bytes); });
    if (group == groups.end()) group = groups.insert(group, Group{});
    group->members.push_back(&neighbour);
    group->covered |= bytes;
    if (group->covered != (1u << width) - 1) continue;
    for (Neighbour* const member : group->members) member->dropped = member != group->members.front();
    Event& first = log.events[group->members.front()->place];
    first = Event(event.address() / width * width, width, event.access(), first.pc);
    groups.erase(group);
  }
}

unsigned AccessCounter::memory_at(std::uintptr_t address) {
  if (address - last_region_.base >= last_region_.end - last_region_.base) {
    const auto above = std::upper_bound(regions_.begin(), regions_.end(), address,
                                        [](std::uintptr_t a, const MemoryRegion& region) { return a < region.base; });
    if (above == regions_.begin() || address >= std::prev(above)->end) return 0;
    last_region_ = *std::prev(above);
  }
  return last_region_.id;
}

void AccessCounter::count(const WarpAccess& access, Access kind, std::uintptr_t pc, unsigned warp) {
  if (options_.observe) options_.observe({access, kind, pc, sample_.block, warp});
  const unsigned memory = is_global(kind) ? memory_at(access.address[std::countr_zero(access.active)]) : 0;
  SiteCounters& site = sites_.memory[SiteKey(pc, memory, static_cast<unsigned>(access.bytes), kind).bits()];
  int units = 0, minimum = 0;
  if (is_global(kind)) {
    const int bytes = distinct_bytes(access);
    units = sectors(access);
    site.lines += static_cast<std::uint64_t>(lines(access)) * sample_.weight;
    minimum = ceil_div(bytes, 32);
    site.distinct_bytes += static_cast<std::uint64_t>(bytes) * sample_.weight;
  } else {
    units = wavefronts(access, is_write(kind));
    minimum = minimum_wavefronts(access, is_write(kind));
  }
  site.instructions += sample_.weight;
  site.lanes += static_cast<std::uint64_t>(std::popcount(access.active)) * sample_.weight;
  site.units += static_cast<std::uint64_t>(units) * sample_.weight;
  site.minimum += static_cast<std::uint64_t>(minimum) * sample_.weight;
  if (units - minimum <= site.worst_excess) return;
  site.worst_excess = units - minimum;
  site.worst = access;
  if (!is_global(kind)) {
    const SharedMemory& shared = cluster_.owner(access.address[std::countr_zero(access.active)], rank_)->shared();
    for (std::uint64_t& address : site.worst.address) address = shared.address_in_banks(address);
  }
  site.worst_block = sample_.block;
  site.worst_warp = warp;
}

}  // namespace lapidary::emulator
