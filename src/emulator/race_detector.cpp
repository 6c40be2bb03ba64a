#include "emulator/race_detector.hpp"

#include <algorithm>

#include "core/math.hpp"
#include "emulator/arena.hpp"
#include "emulator/lane.hpp"

namespace lapidary::emulator {
namespace {

// A global cell's mark: block + 1 (25 bits) | bytes (2 bits: which of the cell's) | strong (1 bit) | thread (11 bits,
// from 1024 on: several lanes of warp thread - 1024) | interval (25 bits).
constexpr unsigned several_lanes = 1024;
// Reads of more than one block: in place of the interval stands how many releases there were before the last of them.
constexpr std::uint32_t several_blocks = (1u << 25) - 1;
constexpr std::uint32_t interval_bits = 0x1ffffff;

struct GlobalMark {
  std::uint32_t block;
  unsigned bytes;
  bool strong;
  unsigned thread;
  std::uint32_t interval;

  std::uint64_t pack() const {
    return std::uint64_t{block} << 39 | std::uint64_t{bytes} << 37 | std::uint64_t{strong} << 36 |
           std::uint64_t{thread} << 25 | (interval & interval_bits);
  }
  static GlobalMark unpack(std::uint64_t bits) {
    return {static_cast<std::uint32_t>(bits >> 39), static_cast<unsigned>(bits >> 37 & 3), (bits >> 36 & 1) != 0,
            static_cast<unsigned>(bits >> 25 & 0x7ff), static_cast<std::uint32_t>(bits & interval_bits)};
  }
  bool of_several_lanes() const { return thread >= several_lanes; }
  unsigned warp() const { return of_several_lanes() ? thread - several_lanes : thread / 32; }
};

}  // namespace

void join(Clock& into, const Clock& other) {
  if (into.size() < other.size()) into.resize(other.size());
  for (std::size_t party = 0; party < other.size(); ++party) into[party] = std::max(into[party], other[party]);
}

void RaceDetector::begin_cluster(std::span<const Block> blocks, unsigned warps_of_block) {
  const bool as_before = blocks.size() == blocks_.size() && warps_of_block == warps_;
  blocks_.assign(blocks.begin(), blocks.end());
  if (!as_before) {
    warps_ = warps_of_block;
    copies_ = warps_ * static_cast<unsigned>(blocks_.size());
    parties_ = copies_ + copy_parties;
    words_ = blocks_[0].shared->bytes() / 4 + 1;
    const std::size_t words = words_ * blocks_.size();
    cells_ = zeros<Cell>(words * 4, Touched::densely);
    reads_ = zeros<std::uint32_t>(words * 4 * parties_);
    strong_writes_ = zeros<std::uint32_t>(words * 4 * parties_);
    split_.assign(words, false);
    clocks_.assign(parties_, Clock(writes_told_until() + 1));
    found_.resize(copies_);
    lanes_.resize(copies_);
    copy_threads_.assign(copy_parties, 0);
  }
  // Everything that earlier blocks did with this memory is over: all warps know of all intervals so far.
  began_.assign(writes_told_until() + 1, 0);
  for (unsigned party = 0; party < parties_; ++party) began_[party] = clocks_[party][party];
  for (unsigned party = 0; party < copies_; ++party) began_[writes_of(party)] = began_[party];
  for (Clock& found : found_) found.clear();
  for (unsigned party = 0; party < parties_; ++party) {
    clocks_[party] = began_;
    clocks_[party][party] += 2;  // the first interval is empty: that of having begun
  }
  mbarriers_ = began_;
  for (unsigned party = 0; party < copies_; ++party) ++mbarriers_[party];
  for (unsigned warp = 0; warp < copies_; ++warp) lanes_[warp] = {began_[warp]};
  for (Clock& fenced : fenced_) fenced.clear();
  flags_.clear();
  told_.clear();
}

bool RaceDetector::knows_begun(unsigned party, unsigned rank) const {
  for (unsigned warp = 0; warp < warps_; ++warp)
    if (const unsigned of = this->party(rank, warp); clocks_[party][of] > began_[of]) return true;
  return false;
}

void RaceDetector::release(unsigned party, Clock& barrier) {
  join(clocks_[party], found_[party]);
  join(barrier, clocks_[party]);
  ++clocks_[party][party];
}

void RaceDetector::release_mbarriers(unsigned party, Clock& barrier) {
  if (barrier.size() <= party) barrier.resize(party + 1);
  barrier[party] = std::max(barrier[party], mbarriers_[party]);
}

void RaceDetector::fence_mbarriers(unsigned party) { mbarriers_[party] = clocks_[party][party]++; }

void RaceDetector::acquire(unsigned party, const Clock& barrier) {
  const std::uint32_t own = clocks_[party][party];
  join(clocks_[party], barrier);
  clocks_[party][party] = own;
  if (party < barrier.size()) lanes_[party].all = std::max(lanes_[party].all, barrier[party]);
}

void RaceDetector::synchronise(unsigned party, std::uint32_t lanes, bool all) {
  const std::uint32_t over = clocks_[party][party]++;
  LaneOrder& order = lanes_[party];
  if (all) {
    order = {over};
    return;
  }
  order.known.resize(32 * 32);
  std::uint32_t together[32] = {};
  for_each_bit(lanes, [&](unsigned lane) {
    for (unsigned other = 0; other < 32; ++other)
      together[other] = std::max(together[other], lanes >> other & 1 ? over : order.known[lane * 32 + other]);
  });
  for_each_bit(lanes, [&](unsigned lane) { std::copy_n(together, 32, &order.known[lane * 32]); });
}

std::optional<Race> RaceDetector::add(unsigned thread, std::uint32_t fences, const Event& event, bool strong) {
  if (is_global(event.access())) return add_global(thread, event, strong);
  const unsigned party = this->party(thread / LaunchLimits::threads, thread % LaunchLimits::threads / 32);
  return add_shared({party, thread % 32, party, clocks_[party][party], fences}, event, strong);
}

std::optional<Race> RaceDetector::add(unsigned thread, std::uint32_t fences, const Event* first, const Event* last) {
  for (const Event* event = first; event != last; ++event)
    if (auto race = add(thread, fences, *event, is_atomic(event->access()))) return race;
  return std::nullopt;
}

std::optional<Race> RaceDetector::add_strong(unsigned thread, std::uint32_t fences, const Event& event) {
  return add(thread, fences, event, true);
}

RaceDetector::Copy RaceDetector::begin_copy(std::uintptr_t end) {
  const unsigned party = copies_ + static_cast<unsigned>(end / 8 % copy_parties);
  return {party, clocks_[party][party]++};
}

std::optional<Race> RaceDetector::add_copy(unsigned thread, const Copy& copy, const Event& event) {
  if (is_global(event.access())) return add_global(thread, event, is_atomic(event.access()));
  const unsigned party = this->party(thread / LaunchLimits::threads, thread % LaunchLimits::threads / 32);
  copy_threads_[copy.party - copies_] = thread;
  auto race = add_shared({party, thread % 32, copy.party, copy.interval}, event, is_atomic(event.access()));
  if (race) race->second_copy = true;
  return race;
}

void RaceDetector::end_copy(const Copy& copy, Clock& barrier) {
  if (barrier.size() <= copy.party) barrier.resize(copy.party + 1);
  barrier[copy.party] = std::max(barrier[copy.party], copy.interval);
}

bool RaceDetector::ordered(unsigned party, unsigned lane, unsigned by, std::uint32_t mark) const {
  const std::uint32_t interval = mark >> 6, of = mark & 63;
  if (by != party) return clocks_[party][by] >= interval;
  const LaneOrder& order = lanes_[party];
  if (of == lane || interval <= order.all) return true;
  if (order.known.empty()) return false;
  const std::uint32_t* const known = &order.known[lane * 32];
  if (of < 32) return known[of] >= interval;
  // Of several lanes it is not known which: some of them may be those that this one has synchronised with since.
  return *std::max_element(known, known + 32) >= interval;
}

unsigned RaceDetector::thread_of(unsigned party, unsigned lane) const {
  if (party >= copies_) return copy_threads_[party - copies_];
  return party / warps_ * LaunchLimits::threads + party % warps_ * 32 + (lane == many_lanes ? 0 : lane);
}

// What a party leaves of its accesses of one kind to a word: one lane, or that there were several, of which none is
// after the others.
std::uint32_t RaceDetector::mark_of(std::uint32_t last, const Actor& actor) const {
  const bool several = last && (last & 63) != actor.lane && !ordered(actor.party, actor.lane, actor.as_party, last);
  return actor.interval << 6 | (several ? many_lanes : actor.lane);
}

std::optional<Race> RaceDetector::visit(std::size_t index, const Actor& actor, const Event& event, bool strong) {
  Cell& cell = cells_[index];
  const bool write = is_write(event.access());
  const auto race = [&](unsigned by, std::uint32_t mark, std::uintptr_t pc, Access access) {
    return Race{.first = Event(event.address(), event.bytes(), access, pc),
                .second = event,
                .first_thread = thread_of(by, mark & 63),
                .second_thread = thread_of(actor.party, actor.lane),
                .first_copy = by >= copies_,
                .several_lanes = by < copies_ && (mark & 63) == many_lanes};
  };
  // The first of these parties whose mark nothing orders before this access; `end` if there is none.
  const auto unordered = [&](const Pages<std::uint32_t>& marks, unsigned begin, unsigned end, bool strong_ones) {
    for (unsigned by = begin; by < end; ++by) {
      const std::uint32_t mark = marks[place(by, index)];
      if (mark && !ordered(actor.party, actor.lane, by, mark) &&
          !(strong_ones && knows_of_writes(actor.party, by, mark >> 6)))
        return by;
    }
    return end;
  };
  if (cell.write && !ordered(actor.party, actor.lane, cell.write_party, cell.write))
    return race(cell.write_party, cell.write, cell.write_pc, Access::shared_store);
  if (cell.strong && !strong)
    if (const unsigned by = unordered(strong_writes_, 0, parties_, true); by < parties_)
      return race(by, strong_writes_[place(by, index)], cell.strong_pc, cell.strong_access);
  // No mark of a strong read: a plain write that comes after it is told apart by the reads that find it.
  if (!write && strong) return std::nullopt;
  if (!write) {
    std::uint32_t& last = reads_[place(actor.as_party, index)];
    last = mark_of(last, actor);
    if (!cell.read_pc) cell.first_reader = cell.end_reader = static_cast<std::uint16_t>(actor.as_party);
    cell.first_reader = std::min(cell.first_reader, static_cast<std::uint16_t>(actor.as_party));
    cell.end_reader = std::max(cell.end_reader, static_cast<std::uint16_t>(actor.as_party + 1));
    cell.read_pc = event.pc;
    return std::nullopt;
  }
  if (cell.read_pc)  // it has been read
    if (const unsigned by = unordered(reads_, cell.first_reader, cell.end_reader, false); by < cell.end_reader)
      return race(by, reads_[place(by, index)], cell.read_pc, Access::shared_load);
  const std::uint32_t mark = actor.interval << 6 | actor.lane;
  const auto party = static_cast<std::uint16_t>(actor.as_party);
  if (strong) {
    std::uint32_t& last = strong_writes_[place(actor.as_party, index)];
    last = mark_of(last, actor);
    cell.strong = mark;
    cell.strong_party = party;
    cell.strong_access = event.access();
    cell.strong_fences = actor.fences;
    cell.strong_pc = event.pc;
    return std::nullopt;
  }
  if (cell.strong)
    for (unsigned by = 0; by < parties_; ++by) strong_writes_[place(by, index)] = 0;
  cell.strong = 0;
  cell.write = mark;
  cell.write_party = party;
  cell.write_fences = actor.fences;
  cell.write_pc = event.pc;
  return std::nullopt;
}

// The byte's place in the shared memory of all blocks, one after the other.
std::size_t RaceDetector::locate(std::uintptr_t address) const {
  for (std::size_t rank = 0; rank < blocks_.size(); ++rank) {
    const std::size_t offset = blocks_[rank].shared->offset(address);
    if (offset != SharedMemory::npos) return rank * words_ * 4 + offset;
  }
  return SharedMemory::npos;
}

std::optional<RaceDetector::Writer> RaceDetector::writer(const Cell& cell) const {
  const bool strong = cell.strong != 0;
  const std::uint32_t mark = strong ? cell.strong : cell.write;
  const unsigned by = strong ? cell.strong_party : cell.write_party;
  if (!mark || by >= copies_ || mark >> 6 <= began_[by]) return std::nullopt;
  return Writer{thread_of(by, mark & 63), mark >> 6, strong ? cell.strong_fences : cell.write_fences,
                strong ? cell.strong_pc : cell.write_pc};
}

std::optional<Race> RaceDetector::add_shared(const Actor& actor, const Event& event, bool strong) {
  const std::size_t words = split_.size();
  std::size_t offset = locate(event.address());
  const std::size_t end = offset + event.bytes();
  while (offset < end) {
    const std::size_t word = offset / 4, word_end = std::min(end, word * 4 + 4);
    if (!split_[word] && word_end - offset < 4) {
      split_[word] = true;
      const Cell& cell = cells_[word];
      for (std::size_t byte = 1; byte < 4; ++byte) {
        const std::size_t of_byte = byte * words + word;
        cells_[of_byte] = cell;
        for (unsigned by = cell.first_reader; by < cell.end_reader; ++by)
          reads_[place(by, of_byte)] = reads_[place(by, word)];
        for (unsigned by = 0; cell.strong && by < parties_; ++by)
          strong_writes_[place(by, of_byte)] = strong_writes_[place(by, word)];
      }
    }
    if (!split_[word]) {
      if (const auto race = visit(word, actor, event, strong)) return race;
    } else {
      for (; offset < word_end; ++offset)
        if (const auto race = visit(offset % 4 * words + word, actor, event, strong)) return race;
    }
    offset = word_end;
  }
  return std::nullopt;
}

std::optional<std::uintptr_t> RaceDetector::global_writer(std::uintptr_t address, unsigned bytes) {
  const GlobalCell* const cells = memory_.cells(address);
  for (unsigned i = 0; cells && i < ceil_div<std::size_t>(bytes, GlobalCell::bytes); ++i)
    if (cells[i].write.load(std::memory_order_relaxed)) return cells[i].write_pc.load(std::memory_order_relaxed);
  return std::nullopt;
}

std::optional<Race> RaceDetector::add_global(unsigned thread, const Event& event, bool strong) {
  const unsigned rank = thread / LaunchLimits::threads, in_block = thread % LaunchLimits::threads;
  const unsigned warp = in_block / 32, lane = in_block % 32, self = party(rank, warp);
  GlobalMark now{blocks_[rank].id + 1, 0, strong, in_block, clocks_[self][self]};
  const auto rank_of = [&](const GlobalMark& mark) {
    const auto block = std::find_if(blocks_.begin(), blocks_.end(),
                                    [&](const Block& other) { return other.id + 1 == mark.block; });
    return static_cast<unsigned>(block - blocks_.begin());
  };
  // Whether nothing orders the access that left a mark before this one.
  const auto concurrent = [&](const GlobalMark& mark) {
    if (mark.block == 0 || !(mark.bytes & now.bytes)) return false;
    if (mark.block == several_blocks) return clocks_[self][told_until()] <= mark.interval;
    const unsigned by_rank = rank_of(mark);
    if (by_rank == blocks_.size())
      return !told(clocks_[self], mark.block - 1, mark.warp(), mark.interval) &&
             !(mark.strong && told(clocks_[self], mark.block - 1, strong_writes_of + mark.warp(), mark.interval));
    const unsigned by = party(by_rank, mark.warp());
    return !ordered(self, lane, by, mark.interval << 6 | (mark.of_several_lanes() ? many_lanes : mark.thread % 32)) &&
           !(mark.strong && knows_of_writes(self, by, mark.interval));
  };
  const auto race = [&](const GlobalMark& mark, Access access, std::uintptr_t pc) {
    const unsigned by = mark.of_several_lanes() ? mark.warp() * 32 : mark.thread, by_rank = rank_of(mark);
    const bool other = by_rank == blocks_.size();
    return Race{.first = Event(event.address(), event.bytes(), access, pc),
                .second = event,
                .first_thread = (other ? 0 : by_rank) * LaunchLimits::threads + by,
                .second_thread = thread,
                .several_lanes = mark.of_several_lanes(),
                .other_cluster = other,
                .first_block = mark.block - 1};
  };
  const bool write = is_write(event.access());
  GlobalCell* const first = memory_.cells(event.address());
  if (!first) return std::nullopt;
  const unsigned begin = event.address() % GlobalCell::bytes, end = begin + event.bytes();
  for (unsigned byte = 0; byte < end; byte += GlobalCell::bytes) {
    GlobalCell& cell = first[byte / GlobalCell::bytes];
    now.bytes = (byte >= begin ? 1 : 0) | (byte + 1 < end ? 2 : 0);
    const GlobalMark writer = GlobalMark::unpack(cell.write.load(std::memory_order_relaxed));
    if (!(strong && writer.strong) && concurrent(writer))
      return race(writer, Access::global_store, cell.write_pc.load(std::memory_order_relaxed));
    if (!write && strong) continue;  // as in visit()
    const GlobalMark reader = GlobalMark::unpack(cell.read.load(std::memory_order_relaxed));
    if (write) {
      if (concurrent(reader)) return race(reader, Access::global_load, cell.read_pc.load(std::memory_order_relaxed));
      cell.write.store(now.pack(), std::memory_order_relaxed);
      cell.write_pc.store(event.pc, std::memory_order_relaxed);
    } else {
      GlobalMark mark = now;
      if (concurrent(reader)) {
        // What both have read.
        mark.bytes &= reader.bytes;
        if (reader.block != now.block) {
          mark.block = several_blocks;
          mark.interval = grid_.releases();
        } else {
          // Of several warps the first one is kept.
          if (reader.warp() != warp) continue;
          mark.thread = several_lanes + warp;
        }
      }
      cell.read.store(mark.pack(), std::memory_order_relaxed);
      cell.read_pc.store(event.pc, std::memory_order_relaxed);
    }
  }
  return std::nullopt;
}

// ---------------------------------------------------------------------------------------------------- words

void RaceDetector::fence(unsigned party, bool device) {
  join(clocks_[party], found_[party]);
  join(fenced_[0], clocks_[party]);
  if (device) join(fenced_[1], clocks_[party]);
  ++clocks_[party][party];
}

// Of what the warp knows that which a fence has covered: by whichever thread, as a barrier hands on what a fence before
// it has made visible.
void RaceDetector::release_word(unsigned party, std::uintptr_t word, bool global) {
  const auto covered = [&](const Clock& fenced) {
    Clock clock = fenced;
    for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::min(clock[i], clocks_[party][i]);
    return clock;
  };
  const std::uint32_t now = interval(party);
  Word& mine = flags_[word];
  mine.written.resize(writes_told_until() + 1);
  mine.written[writes_of(party)] = now;
  if (!fenced_[0].empty()) join(mine.clock, covered(fenced_[0]));
  if (!global) return;
  GridOrder::Ended ended = {{{blocks_[party / warps_].id, strong_writes_of + party % warps_}, now}};
  if (!fenced_[1].empty()) {
    const Clock clock = covered(fenced_[1]);
    const auto tell = [&](std::uint32_t block, unsigned warp, std::uint32_t interval) {
      std::uint32_t& last = ended[{block, warp}];
      last = std::max(last, interval);
    };
    for (unsigned other = 0; other < copies_; ++other) {
      const auto [block, warp] = std::pair(blocks_[other / warps_].id, other % warps_);
      if (clock[other] > began_[other]) tell(block, warp, clock[other]);
      const std::size_t writes = writes_of(other);
      if (clock[writes] > began_[writes]) tell(block, strong_writes_of + warp, clock[writes]);
    }
    for (const auto& [key, list] : told_)
      for (const Told& entry : list)
        if (const auto warp = static_cast<unsigned>(key & 63); is_told(entry, warp, clock))
          tell(static_cast<std::uint32_t>(key >> 6), warp, entry.interval);
  }
  grid_.release(word, ended);
}

void RaceDetector::acquire_word(unsigned party, std::uintptr_t word, bool global) {
  if (global && grid_.releases() > 0) {
    Word& mine = flags_[word];
    const GridOrder::Told news = grid_.told(word, mine.release);
    mine.release = news.number;
    mine.clock.resize(told_until() + 1);
    mine.clock[told_until()] = std::max(mine.clock[told_until()], news.number);
    mine.written.resize(writes_told_until() + 1);
    mine.written[writes_told_until()] = mine.clock[told_until()];
    for (const auto& [warp, interval] : news.ended) {
      const auto own = std::find_if(blocks_.begin(), blocks_.end(),
                                    [&, id = warp.first](const Block& block) { return block.id == id; });
      if (own != blocks_.end()) {
        const bool writes = warp.second >= strong_writes_of;
        const unsigned by = this->party(static_cast<unsigned>(own - blocks_.begin()), warp.second % strong_writes_of);
        std::uint32_t& last = writes ? mine.written[writes_of(by)] : mine.clock[by];
        last = std::max(last, interval);
        continue;
      }
      std::vector<Told>& list = told_[key(warp.first, warp.second)];
      const bool known = std::any_of(list.begin(), list.end(), [&, last = interval](const Told& entry) {
        return entry.release <= news.number && entry.interval >= last;
      });
      if (!known) list.push_back({news.number, interval});
    }
  }
  const auto found = flags_.find(word);
  if (found == flags_.end()) return;
  acquire(party, found->second.clock);
  join(found_[party], found->second.written);
}

// Whether who has that clock is among those that were told.
bool RaceDetector::is_told(const Told& entry, unsigned warp, const Clock& clock) const {
  return entry.release <= clock[warp < strong_writes_of ? told_until() : writes_told_until()];
}

bool RaceDetector::told(const Clock& clock, std::uint32_t block, unsigned warp, std::uint32_t interval) const {
  const auto found = told_.find(key(block, warp));
  if (found == told_.end()) return false;
  return std::any_of(found->second.begin(), found->second.end(),
                     [&](const Told& entry) { return is_told(entry, warp, clock) && entry.interval >= interval; });
}

}  // namespace lapidary::emulator
