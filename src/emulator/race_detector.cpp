#include "emulator/race_detector.hpp"

#include <algorithm>
#include <new>

#include "emulator/arena.hpp"

namespace lapidary::emulator {
namespace {

// A global cell's mark: block + 1 (28 bits) | thread (11 bits, from 1024 on: several lanes of warp thread - 1024) |
// interval (25 bits).
constexpr unsigned several_lanes = 1024;
constexpr std::uint32_t several_blocks = (1u << 28) - 1;

struct GlobalMark {
  std::uint32_t block;
  unsigned thread;
  std::uint32_t interval;

  std::uint64_t pack() const {
    return std::uint64_t{block} << 36 | std::uint64_t{thread} << 25 | (interval & 0x1ffffffu);
  }
  static GlobalMark unpack(std::uint64_t bits) {
    return {static_cast<std::uint32_t>(bits >> 36), static_cast<unsigned>(bits >> 25 & 0x7ff),
            static_cast<std::uint32_t>(bits & 0x1ffffffu)};
  }
};

}  // namespace

void join(Clock& into, const Clock& other) {
  for (unsigned warp = 0; warp < max_warps; ++warp) into[warp] = std::max(into[warp], other[warp]);
}

RaceDetector::RaceDetector(const SharedMemory& shared) : shared_(shared), split_(shared.bytes() / 4 + 1) {
  cells_.reset(static_cast<Cell*>(std::calloc(split_.size() * 4, sizeof(Cell))));
  if (!cells_) throw std::bad_alloc();
}

void RaceDetector::begin_block(std::uint32_t block) {
  block_ = block;
  // Everything that earlier blocks did with this memory is over: all warps know of all intervals so far.
  Clock now{};
  for (unsigned warp = 0; warp < max_warps; ++warp) now[warp] = clocks_[warp][warp];
  for (unsigned warp = 0; warp < max_warps; ++warp) {
    clocks_[warp] = now;
    ++clocks_[warp][warp];
  }
}

void RaceDetector::release(unsigned warp, Clock& barrier) {
  join(barrier, clocks_[warp]);
  ++clocks_[warp][warp];
}

void RaceDetector::acquire(unsigned warp, const Clock& barrier) {
  const std::uint32_t own = clocks_[warp][warp];
  join(clocks_[warp], barrier);
  clocks_[warp][warp] = own;
}

std::optional<Race> RaceDetector::add(unsigned thread, const Event* first, const Event* last) {
  for (const Event* event = first; event != last; ++event) {
    const auto race = is_global(event->access()) ? add_global(thread, *event) : add_shared(thread, *event);
    if (race) return race;
  }
  return std::nullopt;
}

bool RaceDetector::ordered(unsigned warp, unsigned lane, unsigned by_warp, std::uint32_t mark) const {
  const std::uint32_t interval = mark >> 6;
  if (by_warp != warp) return clocks_[warp][by_warp] >= interval;
  return (mark & 63) == lane || interval < clocks_[warp][warp];
}

std::optional<Race> RaceDetector::visit(Cell& cell, unsigned thread, const Event& event) {
  const unsigned warp = thread / 32, lane = thread % 32;
  const std::uint32_t interval = clocks_[warp][warp];
  const bool write = is_write(event.access()), atomic = is_atomic(event.access());
  const auto race = [&](unsigned by_warp, std::uint32_t mark, std::uintptr_t pc, Access access) {
    const unsigned by_lane = (mark & 63) == many_lanes ? 0 : mark & 63;
    return Race{Event(event.address(), event.bytes(), access, pc), event, by_warp * 32 + by_lane, thread};
  };
  if (cell.write && !(atomic && cell.write_atomic) && !ordered(warp, lane, cell.write_warp, cell.write))
    return race(cell.write_warp, cell.write, cell.write_pc, Access::shared_store);
  if (!write) {
    std::uint32_t& mark = cell.read[warp];
    mark = interval << 6 | (mark >> 6 == interval && (mark & 63) != lane ? many_lanes : lane);
    cell.read_pc = event.pc;
    return std::nullopt;
  }
  for (unsigned by = 0; by < max_warps; ++by)
    if (cell.read[by] && !ordered(warp, lane, by, cell.read[by]))
      return race(by, cell.read[by], cell.read_pc, Access::shared_load);
  cell.write = interval << 6 | lane;
  cell.write_warp = static_cast<std::uint8_t>(warp);
  cell.write_atomic = atomic;
  cell.write_pc = event.pc;
  return std::nullopt;
}

std::optional<Race> RaceDetector::add_shared(unsigned thread, const Event& event) {
  std::size_t offset = shared_.offset(event.address());
  const std::size_t end = offset + event.bytes();
  while (offset < end) {
    const std::size_t word = offset / 4, word_end = std::min(end, word * 4 + 4);
    Cell* const cells = &cells_[word * 4];
    if (!split_[word] && word_end - offset < 4) {
      split_[word] = true;
      cells[1] = cells[2] = cells[3] = cells[0];
    }
    if (!split_[word]) {
      if (const auto race = visit(cells[0], thread, event)) return race;
    } else {
      for (; offset < word_end; ++offset)
        if (const auto race = visit(cells[offset % 4], thread, event)) return race;
    }
    offset = word_end;
  }
  return std::nullopt;
}

std::optional<Race> RaceDetector::add_global(unsigned thread, const Event& event) {
  if (is_atomic(event.access())) return std::nullopt;
  Allocation* const allocation = Arena::instance().at_or_below(event.address());
  if (!allocation || !allocation->cells) return std::nullopt;
  const unsigned warp = thread / 32, lane = thread % 32;
  const GlobalMark now{block_ + 1, thread, clocks_[warp][warp] & 0x1ffffffu};
  // Whether nothing orders the access that left a mark before this one.
  const auto concurrent = [&](const GlobalMark& mark) {
    if (mark.block == 0) return false;
    if (mark.block != now.block) return true;
    const bool several = mark.thread >= several_lanes;
    return !ordered(warp, lane, several ? mark.thread - several_lanes : mark.thread / 32,
                    mark.interval << 6 | (several ? many_lanes : mark.thread % 32));
  };
  const auto race = [&](const GlobalMark& mark, Access access, std::uintptr_t pc) {
    const unsigned by = mark.thread >= several_lanes ? (mark.thread - several_lanes) * 32 : mark.thread;
    return Race{
        Event(event.address(), event.bytes(), access, pc), event, by, thread, mark.block != now.block, mark.block - 1};
  };
  const bool write = is_write(event.access());
  // Single bytes are not looked at: neighbours in one cell may belong to different threads.
  if (event.bytes() < GlobalCell::bytes) return std::nullopt;
  const std::size_t first = (event.address() - allocation->base) / GlobalCell::bytes;
  for (std::size_t i = first; i < first + event.bytes() / GlobalCell::bytes; ++i) {
    GlobalCell& cell = allocation->cells[i];
    const GlobalMark writer = GlobalMark::unpack(cell.write.load(std::memory_order_relaxed));
    if (concurrent(writer)) return race(writer, Access::global_store, cell.write_pc.load(std::memory_order_relaxed));
    const GlobalMark reader = GlobalMark::unpack(cell.read.load(std::memory_order_relaxed));
    if (write) {
      if (concurrent(reader)) return race(reader, Access::global_load, cell.read_pc.load(std::memory_order_relaxed));
      cell.write.store(now.pack(), std::memory_order_relaxed);
      cell.write_pc.store(event.pc, std::memory_order_relaxed);
    } else {
      GlobalMark mark = now;
      if (reader.block != 0 && reader.block != now.block) {
        mark.block = several_blocks;
      } else if (concurrent(reader)) {
        // Of several warps the first one is kept.
        const bool same_warp = reader.thread >= several_lanes ? reader.thread - several_lanes == warp
                                                              : reader.thread / 32 == warp;
        if (!same_warp) continue;
        mark.thread = several_lanes + warp;
      }
      cell.read.store(mark.pack(), std::memory_order_relaxed);
      cell.read_pc.store(event.pc, std::memory_order_relaxed);
    }
  }
  return std::nullopt;
}

}  // namespace lapidary::emulator
