// From the accesses of single threads to those of warps: a GPU issues a load or a store once for all lanes that execute
// it together, and its cost depends on all of their addresses.
#include <algorithm>
#include <bit>
#include <unordered_map>

#include "core/math.hpp"
#include "emulator/block.hpp"
#include "emulator/symbols.hpp"

namespace lapidary::emulator {

void BlockRunner::flush(Warp& warp) {
  if (races_) find_races(warp);
  if (options_.count) {
    if (!options_.merge.empty())
      for (Lane* const lane : warp.lanes)
        if (lane && lane->logged) merge_neighbours(*lane);
    const std::size_t counted = count_in_step(warp);
    std::size_t longest = 0, shortest = ~std::size_t{0};
    for (const Lane* const lane : warp.lanes) {
      if (!lane || !lane->logged) continue;
      longest = std::max(longest, lane->logged);
      shortest = std::min(shortest, lane->logged);
    }
    if (longest > counted) count_by_occurrence(warp, counted);
    if (longest > std::min(counted, shortest)) ++divergent_intervals_;
  }
  for (Lane* const lane : warp.lanes)
    if (lane) lane->logged = lane->examined = 0;
}

void BlockRunner::find_races(const Warp& warp) {
  for (Lane* const lane : warp.lanes)
    if (lane) find_races(*lane);
}

void BlockRunner::find_races(Lane& lane) {
  if (lane.examined == lane.logged) return;
  const Event* const first = lane.log.data() + lane.examined;
  lane.examined = lane.logged;
  const auto race = races_->add(thread_of_cluster(lane), first, lane.log.data() + lane.logged);
  if (race) fault_race(*race);
}

void BlockRunner::fault_race(const Race& race) {
  const auto side = [&](const Event& event, unsigned thread, bool copy) {
    using Who = RaceFound::Who;
    const auto& block = shape_.block;
    const unsigned rank = thread / LaunchLimits::threads, t = thread % LaunchLimits::threads;
    RaceFound::Side side{.who = !copy                             ? Who::thread
                                : warpgroups_.issued_at(event.pc) ? Who::wgmma
                                                                  : Who::bulk_copy,
                         .thread = {t % block.x, t / block.x % block.y, t / block.x / block.y},
                         .block = {},
                         .write = is_write(event.access()),
                         .line = source_line(event.pc)};
    if (rank != rank_) side.block = cluster_.block(rank).block_index_;
    return side;
  };
  const RaceFound found{place_of(race.second.address(), is_global(race.second.access())),
                        side(race.first, race.first_thread, race.first_copy),
                        side(race.second, race.second_thread, race.second_copy), race.other_cluster};
  stop({found, shape_.kernel, block_index_, {}, {}});
}

// Matches the lanes' accesses by position for as long as every lane that has one there made it by the same instruction.
// Returns the position from which on that fails.
std::size_t BlockRunner::count_in_step(const Warp& warp) {
  struct Stream {
    const Event* events;
    std::size_t count;
    unsigned lane;
  };
  std::array<Stream, 32> streams;
  unsigned used = 0;
  std::size_t longest = 0;
  for (const Lane* const lane : warp.lanes)
    if (lane && lane->logged) {
      streams[used++] = {lane->log.data(), lane->logged, lane->lane};
      longest = std::max(longest, lane->logged);
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
    count(access, any->access(), any->pc, warp.id);
  }
  return longest;
}

// Lanes took different paths: the n-th execution of an instruction since the interval began is taken to be one request
// of all lanes that got there. Exact unless lanes skip different iterations of a loop without a barrier.
void BlockRunner::count_by_occurrence(const Warp& warp, std::size_t from) {
  struct Request {
    WarpAccess access{};
    Access kind{};
    std::uintptr_t pc = 0;
  };
  std::vector<Request> requests;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> by_instruction;  // index of the n-th request
  for (const Lane* const lane : warp.lanes) {
    if (!lane) continue;
    std::unordered_map<std::uint64_t, std::size_t> occurrence;
    for (std::size_t i = from; i < lane->logged; ++i) {
      const Event& event = lane->log[i];
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
      access.address[lane->lane] = event.address();
      access.active |= lane->bit();
    }
  }
  for (const Request& request : requests) count(request.access, request.kind, request.pc, warp.id);
}

// Widens the first of a group of neighbouring accesses to the whole group and drops the others; the widest groups
// first. A group that does not fill up is left to narrower ones.
void BlockRunner::merge_neighbours(Lane& lane) const {
  for (const unsigned width : {16u, 8u, 4u}) merge_neighbours(lane, width);
}

void BlockRunner::merge_neighbours(Lane& lane, unsigned width) const {
  struct Group {
    std::vector<std::size_t> members;
    unsigned covered = 0;  // bytes
  };
  std::unordered_map<std::uint64_t, Group> open;  // by instruction and address
  std::vector<bool> dropped(lane.logged);
  for (std::size_t i = 0; i < lane.logged; ++i) {
    const Event& event = lane.log[i];
    const auto merge = options_.merge.find(event.pc);
    if (merge == options_.merge.end() || merge->second.bytes < width || event.bytes() >= width) continue;
    // Addresses have 48 bits, of which the lowest one does not count here.
    const std::uint64_t key = event.address() / width | static_cast<std::uint64_t>(event.access()) << 47 |
                              std::uint64_t{merge->second.group} << 51;
    Group& group = open[key];
    group.members.push_back(i);
    group.covered += event.bytes();
    if (group.covered < width) continue;
    const std::size_t first = group.members.front();
    lane.log[first] = Event(event.address() / width * width, width, event.access(), lane.log[first].pc);
    for (std::size_t member = 1; member < group.members.size(); ++member) dropped[group.members[member]] = true;
    open.erase(key);
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < lane.logged; ++i)
    if (!dropped[i]) lane.log[kept++] = lane.log[i];
  lane.logged = kept;
}

unsigned BlockRunner::memory_at(std::uintptr_t address) {
  if (address - last_region_.base >= last_region_.end - last_region_.base) {
    const auto above = std::upper_bound(regions_.begin(), regions_.end(), address,
                                        [](std::uintptr_t a, const MemoryRegion& region) { return a < region.base; });
    if (above == regions_.begin() || address >= std::prev(above)->end) return 0;
    last_region_ = *std::prev(above);
  }
  return last_region_.id;
}

void BlockRunner::count(const WarpAccess& access, Access kind, std::uintptr_t pc, unsigned warp) {
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
    units = wavefronts(access);
    minimum = minimum_wavefronts(access);
  }
  site.instructions += sample_.weight;
  site.lanes += static_cast<std::uint64_t>(std::popcount(access.active)) * sample_.weight;
  site.units += static_cast<std::uint64_t>(units) * sample_.weight;
  site.minimum += static_cast<std::uint64_t>(minimum) * sample_.weight;
  if (units - minimum <= site.worst_excess) return;
  site.worst_excess = units - minimum;
  site.worst = access;
  if (!is_global(kind)) {
    const SharedMemory& shared = cluster_.owner(access.address[std::countr_zero(access.active)], *this)->shared_;
    for (std::uint64_t& address : site.worst.address) address = shared.address_in_banks(address);
  }
  site.worst_block = sample_.block;
  site.worst_warp = warp;
}

}  // namespace lapidary::emulator
