#include "emulator/warp_collectives.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "emulator/access_log.hpp"
#include "emulator/fault_stop.hpp"
#include "emulator/machine.hpp"
#include "emulator/named_barriers.hpp"
#include "emulator/race_checker.hpp"
#include "emulator/register_pool.hpp"
#include "emulator/scheduler.hpp"
#include "emulator/symbols.hpp"
#include "emulator/warpgroup.hpp"

namespace lapidary::emulator {

WarpCollectives::WarpCollectives(const Options& options, Scheduler& scheduler, AccessLog& log, RaceChecker& races,
                                 NamedBarriers& barriers, RegisterPool& registers, Warpgroups& warpgroups,
                                 FaultStop& faults)
    : options_(options),
      scheduler_(scheduler),
      log_(log),
      races_(races),
      barriers_(barriers),
      registers_(registers),
      warpgroups_(warpgroups),
      faults_(faults) {}

void WarpCollectives::begin() {
  pending_ = {};
  asking_ = {};
}

// ---------------------------------------------------------------------------------------------------- coming

std::uint64_t WarpCollectives::shuffle(std::uint32_t mask, std::uint64_t value, abi::Shuffle mode, int operand,
                                       int width, CallSite where) {
  if (width < 1 || width > 32 || (width & (width - 1))) faults_.stop(ShuffleWidth{width}, where);
  Operands& mine = of(*running);
  mine.value = value;
  mine.shuffle = mode;
  mine.operand = operand;
  mine.width = width;
  join(Kind::shuffle, mask, where);
  return mine.result;
}

std::uint32_t WarpCollectives::ballot(std::uint32_t mask, int predicate, CallSite where) {
  Operands& mine = of(*running);
  mine.value = predicate != 0;
  join(Kind::vote, mask, where);
  return static_cast<std::uint32_t>(mine.result);
}

std::uint32_t WarpCollectives::match(std::uint32_t mask, std::uint64_t value, CallSite where) {
  Operands& mine = of(*running);
  mine.value = value;
  join(Kind::match, mask, where);
  return static_cast<std::uint32_t>(mine.result);
}

std::uint32_t WarpCollectives::reduce(std::uint32_t mask, std::uint32_t value, abi::Reduction operation,
                                      CallSite where) {
  Operands& mine = of(*running);
  mine.value = value;
  mine.reduction = operation;
  join(Kind::reduce, mask, where);
  return static_cast<std::uint32_t>(mine.result);
}

// Lanes run one after the other: one that asks waits for those that may yet come to the same place, as on hardware
// those that have not diverged are there at once.
std::uint32_t WarpCollectives::active(CallSite where) {
  Lane& lane = *running;
  lane.where = where;
  asking_[lane.warp->id] |= lane.bit();
  scheduler_.suspend(lane, LaneState::asking);
  return static_cast<std::uint32_t>(of(lane).result);
}

void WarpCollectives::converge(Warp& warp) {
  const std::uint32_t lanes = std::exchange(asking_[warp.id], 0);
  for_each_bit(lanes, [&](unsigned i) {
    std::uint32_t together = 0;
    for_each_bit(lanes, [&](unsigned j) {
      if (warp.lanes[i]->where == warp.lanes[j]->where) together |= 1u << j;
    });
    of(*warp.lanes[i]).result = together;
  });
  scheduler_.set_ready(warp, lanes);
}

bool WarpCollectives::elect(std::uint32_t mask, CallSite where) {
  Operands& mine = of(*running);
  join(Kind::elect, mask, where);
  return mine.result != 0;
}

void WarpCollectives::barrier_arrive(unsigned id, unsigned threads, CallSite where) {
  barriers_.check_arrival(id, threads, where);
  Operands& mine = of(*running);
  mine.operand = static_cast<int>(id);
  mine.width = static_cast<int>(threads);
  join(Kind::arrive, ~0u, where);
}

void WarpCollectives::setmaxnreg(unsigned registers, bool increase, CallSite where) {
  registers_.check(registers, where);
  Operands& mine = of(*running);
  mine.operand = static_cast<int>(registers);
  mine.width = increase;
  join(Kind::registers, ~0u, where);
  registers_.wait();
}

void WarpCollectives::execute(const WarpInstruction& instruction, void* operands, CallSite where) {
  Lane& lane = *running;
  of(lane).instruction = instruction;
  of(lane).of_instruction = operands;
  lane.where = where;
  if (lane.warp->alive != ~0u) stop_part_of_warp(lane);
  join(Kind::instruction, ~0u, where);
}

void WarpCollectives::join(Kind kind, std::uint32_t mask, CallSite where) {
  Lane& lane = *running;
  Warp& warp = *lane.warp;
  mask &= warp.all;
  if (!(mask & lane.bit())) faults_.stop(LaneNotInMask{lane.lane, mask}, where);
  Pending* pending = nullptr;
  for (Pending& other : pending_[warp.id]) {
    if (other.kind == Kind::none) {
      if (!pending) pending = &other;
      continue;
    }
    // Lanes that wait for this one there, and that this one would wait for here. Others may be anywhere.
    const std::uint32_t opposite = other.mask & lane.bit() ? other.arrived & mask : 0;
    if (!opposite) continue;
    const Lane& waiting = *warp.lanes[static_cast<unsigned>(std::countr_zero(opposite))];
    if (other.kind != kind || other.mask != mask || !same_instruction(kind, lane, waiting, where))
      faults_.stop(CollectivesDiffer{warp.id, waiting.lane, source_line(waiting.where)}, where);
    pending = &other;
    break;
  }
  pending->kind = kind;
  pending->mask = mask;
  pending->arrived |= lane.bit();
  lane.where = where;
  if (pending->arrived == (mask & warp.alive)) {
    lane.state = LaneState::at_collective;
    complete(warp, *pending);
    return;
  }
  scheduler_.suspend(lane, LaneState::at_collective);
}

// Where all lanes of a warp execute one instruction (.aligned), it stands at one place. What has a mask may stand at
// several, with the same qualifiers (PTX ISA, "shfl.sync").
bool WarpCollectives::same_instruction(Kind kind, const Lane& lane, const Lane& waiting, CallSite where) {
  const Operands &mine = of(lane), &other = of(waiting);
  switch (kind) {
    case Kind::shuffle: return mine.shuffle == other.shuffle;
    case Kind::reduce: return mine.reduction == other.reduction;
    case Kind::instruction: return mine.instruction == other.instruction && where == waiting.where;
    case Kind::arrive:
    case Kind::registers: return where == waiting.where;
    default: return true;
  }
}

// ---------------------------------------------------------------------------------------------------- completion

void WarpCollectives::complete_if_due(Warp& warp) {
  for (Pending& pending : pending_[warp.id])
    if (pending.kind != Kind::none && pending.arrived == (pending.mask & warp.alive)) complete(warp, pending);
}

void WarpCollectives::complete(Warp& warp, Pending& pending) {
  const Pending done = std::exchange(pending, {});
  const std::uint32_t lanes = done.arrived;
  if (log_.is_on()) {
    log_.leave(*running);
    if (lanes == warp.alive) log_.flush(warp);
    // Shuffles and votes order no memory accesses (CUDA C++ Programming Guide).
    if (done.kind == Kind::sync) {
      races_.examine(warp);
      races_.synchronise(warp, lanes);
    }
    log_.enter(*running);
  }
  const Lane& any = *warp.lanes[static_cast<unsigned>(std::countr_zero(lanes))];
  const Operands& given = of(any);
  switch (done.kind) {
    case Kind::shuffle: complete_shuffle(warp, lanes); break;
    case Kind::vote: complete_vote(warp, lanes); break;
    case Kind::match: complete_match(warp, lanes); break;
    case Kind::reduce: complete_reduction(warp, lanes); break;
    case Kind::elect: complete_elect(warp, lanes); break;
    case Kind::instruction: complete_instruction(warp, lanes); break;
    case Kind::arrive:
      barriers_.arrive(warp, static_cast<unsigned>(given.operand), static_cast<unsigned>(given.width), any.where);
      break;
    case Kind::registers:
      warpgroups_.step(warp, nullptr, any.where);
      registers_.set(warp, static_cast<unsigned>(given.operand), given.width != 0, any.where);
      break;
    case Kind::sync:
    case Kind::none: break;
  }
  scheduler_.set_ready(warp, lanes);
}

void WarpCollectives::complete_vote(const Warp& warp, std::uint32_t lanes) {
  std::uint32_t votes = 0;
  for_each_bit(lanes, [&](unsigned i) { votes |= static_cast<std::uint32_t>(of(*warp.lanes[i]).value != 0) << i; });
  for_each_bit(lanes, [&](unsigned i) { of(*warp.lanes[i]).result = votes; });
}

void WarpCollectives::complete_match(const Warp& warp, std::uint32_t lanes) {
  for_each_bit(lanes, [&](unsigned i) {
    Operands& mine = of(*warp.lanes[i]);
    mine.result = 0;
    for_each_bit(lanes, [&](unsigned j) {
      if (of(*warp.lanes[j]).value == mine.value) mine.result |= 1u << j;
    });
  });
}

void WarpCollectives::complete_reduction(const Warp& warp, std::uint32_t lanes) {
  const Operands& first = of(*warp.lanes[static_cast<unsigned>(std::countr_zero(lanes))]);
  auto sum = static_cast<std::uint32_t>(first.value);
  for_each_bit(lanes & (lanes - 1), [&](unsigned i) {
    const auto value = static_cast<std::uint32_t>(of(*warp.lanes[i]).value);
    switch (first.reduction) {
      case abi::Reduction::add: sum += value; break;
      case abi::Reduction::min: sum = std::min(sum, value); break;
      case abi::Reduction::max: sum = std::max(sum, value); break;
      case abi::Reduction::bit_and: sum &= value; break;
      case abi::Reduction::bit_or: sum |= value; break;
      case abi::Reduction::bit_xor: sum ^= value; break;
    }
  });
  for_each_bit(lanes, [&](unsigned i) { of(*warp.lanes[i]).result = sum; });
}

void WarpCollectives::complete_shuffle(const Warp& warp, std::uint32_t lanes) {
  for_each_bit(lanes, [&](unsigned i) {
    Operands& mine = of(*warp.lanes[i]);
    int first = static_cast<int>(i) & ~(mine.width - 1), source = static_cast<int>(i);
    const int end = first + mine.width;
    switch (mine.shuffle) {
      case abi::Shuffle::index: source = first + (mine.operand & (mine.width - 1)); break;
      case abi::Shuffle::up: source -= mine.operand; break;
      case abi::Shuffle::down: source += mine.operand; break;
      case abi::Shuffle::exclusive_or:
        source ^= mine.operand;
        first = 0;
        break;
    }
    // Out of its segment a lane reads itself; by exclusive or it may read earlier segments, and no later ones (CUDA
    // C++ Programming Guide, "Warp Shuffle Functions").
    if (source < first || source >= end) source = static_cast<int>(i);
    if (!(lanes >> source & 1)) faults_.stop(ShuffleSource{warp.id, i, source}, *warp.lanes[i]);
    mine.result = of(*warp.lanes[static_cast<unsigned>(source)]).value;
  });
}

// Which one is the machine's choice, the same for the same lanes.
void WarpCollectives::complete_elect(const Warp& warp, std::uint32_t lanes) {
  std::uint32_t candidates = lanes;
  if (options_.seed) {
    const std::uint64_t hash = (options_.seed + lanes) * 0x9e3779b97f4a7c15u >> 32;
    for (auto skip = hash % static_cast<unsigned>(std::popcount(lanes)); skip; --skip) candidates &= candidates - 1;
  }
  const auto leader = static_cast<unsigned>(std::countr_zero(candidates));
  for_each_bit(lanes, [&](unsigned i) { of(*warp.lanes[i]).result = i == leader; });
}

void WarpCollectives::complete_instruction(const Warp& warp, std::uint32_t lanes) {
  const Lane& any = *warp.lanes[static_cast<unsigned>(std::countr_zero(lanes))];
  if (lanes != ~0u) stop_part_of_warp(any);
  void* operands[32];
  for (unsigned i = 0; i < 32; ++i) operands[i] = of(*warp.lanes[i]).of_instruction;
  const WarpInstruction& instruction = of(any).instruction;
  instruction.execute(instruction.form, operands);
}

void WarpCollectives::stop_part_of_warp(const Lane& lane) {
  faults_.stop(PartOfWarp{lane.warp->id, static_cast<unsigned>(std::popcount(lane.warp->alive))}, lane);
}

Wait WarpCollectives::wait_of(const Lane& lane) const {
  for (const Pending& pending : pending_[lane.warp->id])
    if (pending.kind != Kind::none && pending.arrived & lane.bit())
      return CollectiveWait{lane.warp->id, pending.arrived, pending.mask & lane.warp->alive};
  return {};
}

}  // namespace lapidary::emulator
