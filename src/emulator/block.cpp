#include "emulator/block.hpp"

#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "core/error.hpp"
#include "core/math.hpp"
#include "emulator/arena.hpp"
#include "emulator/symbols.hpp"

namespace lapidary::emulator {
namespace {

// Reserved, not used: a lane touches a few kilobytes of it. Unoptimised kernels need more.
constexpr std::size_t stack_bytes = 256 * 1024;
// Events of a lane: room at first, and where it waits for the other lanes of its warp instead of taking ever more.
constexpr std::size_t first_log = 1024, full_log = 4096;

thread_local BlockRunner* runner = nullptr;
thread_local Lane* running = nullptr;

template <class Do>
void for_each_bit(std::uint32_t bits, Do&& what) {
  for (; bits; bits &= bits - 1) what(static_cast<unsigned>(std::countr_zero(bits)));
}

}  // namespace

BlockRunner* BlockRunner::current() { return runner; }
Lane* BlockRunner::current_lane() { return running; }

BlockRunner::BlockRunner(const Options& options, ClusterRunner& cluster, unsigned rank)
    : options_(options),
      cluster_(cluster),
      rank_(rank),
      lanes_(std::make_unique<Lane[]>(LaunchLimits::threads)),
      races_(cluster.races()) {
  void* const memory = mmap(nullptr, stack_bytes * LaunchLimits::threads, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  stacks_ = static_cast<unsigned char*>(memory);
}

BlockRunner::~BlockRunner() { munmap(stacks_, stack_bytes * LaunchLimits::threads); }

void BlockRunner::begin_launch(const LaunchShape& shape, ThreadBody body, std::span<const MemoryRegion> regions) {
  shape_ = shape;
  body_ = body;
  regions_ = regions;
  last_region_ = {};
  recording_ = options_.count || options_.check;
  threads_ = shape.block.x * shape.block.y * shape.block.z;
  warps_ = ceil_div(threads_, 32u);
  for (unsigned i = 0; i < warps_; ++i) {
    all_warps_[i] = Warp{};
    all_warps_[i].id = i;
  }
  for (unsigned i = 0; i < threads_; ++i) {
    Lane& lane = lanes_[i];
    unsigned char* const stack = stacks_ + i * stack_bytes;
    // Tops of stacks that are a power of two apart would all compete for the same sets of the host's cache.
    const std::size_t stagger = i * 320 % 4096 / 64 * 64;
    // What the last launch's fiber has poisoned between its variables.
    ASAN_UNPOISON_MEMORY_REGION(stack, stack_bytes);
    lane.fiber = Fiber(stack, stack_bytes - stagger, lane_main, &lane);
    lane.block = this;
    lane.warp = &all_warps_[i / 32];
    lane.thread = i;
    lane.lane = i % 32;
    lane.index = {i % shape.block.x, i / shape.block.x % shape.block.y, i / shape.block.x / shape.block.y};
    lane.warp->lanes[lane.lane] = &lane;
    lane.warp->all |= lane.bit();
    if (recording_ && lane.log.empty()) lane.log.resize(first_log);
  }
  shared_.attach();
  recorder.check = options_.check;
  recorder.arena_base = Arena::instance().base();
  recorder.arena_bytes = Arena::instance().bytes();
  recorder.stack_bytes = stack_bytes * LaunchLimits::threads;
#if defined(__SANITIZE_ADDRESS__)
  pthread_attr_t attributes;
  void* stack = nullptr;
  std::size_t bytes = 0;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &stack, &bytes);
  pthread_attr_destroy(&attributes);
  scheduler_.set_stack(stack, bytes);
#endif
}

void BlockRunner::end_launch() { runner = nullptr; }

void BlockRunner::clear_counters() {
  sites_ = {};
  divergent_intervals_ = 0;
}

// ---------------------------------------------------------------------------------------------------- scheduling

void BlockRunner::begin(const BlockSample& sample) {
  const std::uint32_t linear_block = sample.block;
  sample_ = sample;
  const Extent3& grid = shape_.grid;
  block_index_ = {linear_block % grid.x, linear_block / grid.x % grid.y, linear_block / grid.x / grid.y};
  // A block's order depends on the seed and the block alone, whichever host thread runs it.
  if (options_.seed) random_.seed(static_cast<unsigned>(options_.seed * 0x9e3779b97f4a7c15u + linear_block));
  shared_.reset(shape_.shared_bytes, options_.check);
  warpgroups_.begin_block();
  barriers_ = {};
  fault_.reset();
  early_read_.reset();
  entered_ = false;
  live_ = threads_;
  ready_warps_ = 0;
  for (unsigned i = 0; i < warps_; ++i) {
    Warp& warp = all_warps_[i];
    warp.alive = warp.all;
    warp.collectives = {};
    set_ready(warp, warp.all);
  }
  for (unsigned i = 0; i < threads_; ++i) {
    lanes_[i].logged = lanes_[i].examined = 0;
    lanes_[i].copies.clear();
    lanes_[i].copy_group = 0;
    lanes_[i].copying = lanes_[i].most_copying = 0;
    lanes_[i].registers.clear();
  }
  begin_async();
}

bool BlockRunner::advance() {
  Lane* const next = pick();
  if (!next) return false;
  runner = this;
  shared_.describe(recorder);
  if (cluster_.size() > 1) recorder.static_bytes = 0;  // no memory of this block alone
  recorder.stack_base = reinterpret_cast<std::uintptr_t>(stacks_);
  enter(next);
  scheduler_.switch_to(next->fiber);
  recorder.next = nullptr;
  running = nullptr;
  // The blocks of a cluster share the recorder.
  if (!live_ || cluster_.size() > 1) {
    recorder.flush_fma();
    for (const auto& [pc, count] : recorder.fma) sites_.fma[pc] += count * sample_.weight;
    recorder.fma.clear();
  }
  if (fault_) throw DetailedFault(*fault_);
  return true;
}

void BlockRunner::end() {
  if (recording_)
    for (unsigned i = 0; i < warps_; ++i) flush(all_warps_[i]);
  if (options_.count) record_flight();
  stop_if_read_early();
}

void BlockRunner::stop_if_read_early() const {
  if (early_read_) throw DetailedFault(*early_read_);
}

// Registers that a kernel reads before it writes them hold NaN: what its frame will be on the stack.
[[gnu::noinline]] void BlockRunner::fill_registers() {
  volatile std::uint64_t frame[1024];
  for (volatile std::uint64_t& word : frame) word = ~std::uint64_t{0};
}

// A lane's fiber runs the kernel once for each block, for as long as the launch lasts.
void BlockRunner::lane_main(void* argument) {
  Lane& lane = *static_cast<Lane*>(argument);
  for (;;) {
    if (lane.block->options_.check) fill_registers();
    lane.block->body_.call(lane.block->body_.context);
    lane.block->exit_lane(lane);
  }
}

void BlockRunner::exit_lane(Lane& lane) {
  Warp& warp = *lane.warp;
  warpgroups_.check_exit(warp);
  warp.alive &= ~lane.bit();
  --live_;
  // Those who wait for all threads that have not exited may go on now.
  complete_barrier_if_due(barriers_[0]);
  cluster_.exit(lane);
  for (PendingCollective& pending : warp.collectives)
    if (pending.kind != Collective::none && pending.arrived == (pending.mask & warp.alive)) complete(warp, pending);
  suspend(lane, LaneState::exited);
}

void BlockRunner::set_ready(Warp& warp, std::uint32_t lanes) {
  for_each_bit(lanes, [&](unsigned i) { warp.lanes[i]->state = LaneState::ready; });
  warp.ready |= lanes;
  if (warp.ready) ready_warps_ |= 1u << warp.id;
}

// In order: the next lane of the same warp, then the next warp.
Lane* BlockRunner::pick() {
  if (!ready_warps_) return nullptr;
  if (options_.seed) {
    // What is asynchronous happens at random times, and blocks of a cluster take turns.
    if (warpgroups_.busy() && random_() % 4 == 0) warpgroups_.advance(random_);
    if (!cluster_.copies().empty() && random_() % 4 == 0) cluster_.copies().advance(&random_);
    if (running && cluster_.size() > 1 && random_() % 8 == 0) return nullptr;
    const auto any_bit = [&](std::uint32_t bits) {
      for (auto skip = random_() % static_cast<unsigned>(std::popcount(bits)); skip; --skip) bits &= bits - 1;
      return std::countr_zero(bits);
    };
    Warp& warp = all_warps_[any_bit(ready_warps_)];
    return warp.lanes[any_bit(warp.ready)];
  }
  Warp* warp = current_ ? current_->warp : nullptr;
  if (!warp || !warp->ready) warp = &all_warps_[std::countr_zero(ready_warps_)];
  const std::uint32_t later = current_ && current_->warp == warp ? warp->ready & ~(current_->bit() * 2 - 1) : 0;
  return warp->lanes[std::countr_zero(later ? later : warp->ready)];
}

void BlockRunner::enter(Lane* lane) {
  current_ = running = lane;
  if (recording_) {
    recorder.next = lane->log.data() + lane->logged;
    recorder.end = lane->log.data() + lane->log.size();
    recorder.watch_registers = !lane->registers.empty();
  }
}

void BlockRunner::registers_watched(const Lane& lane) {
  if (&lane == running) recorder.watch_registers = true;
}

void BlockRunner::touch_registers(std::uintptr_t address, unsigned bytes, bool write, std::uintptr_t pc) {
  warpgroups_.touch(*running, address, bytes, write, pc);
}

void BlockRunner::count_wgmma(std::uintptr_t pc, const WgmmaCounters& one) {
  if (!options_.count) return;
  sites_.wgmma[pc] += {.instructions = one.instructions * sample_.weight,
                       .shared_bytes = one.shared_bytes * sample_.weight,
                       .flop = one.flop * sample_.weight};
}

void BlockRunner::count_mma(std::uintptr_t pc, const TensorOperation& one) {
  if (!options_.count) return;
  const auto multiply_adds = static_cast<std::uint64_t>(one.M) * static_cast<unsigned>(one.N * one.K);
  sites_.mma[pc] += {.instructions = sample_.weight, .flop = 2 * multiply_adds * sample_.weight};
}

void BlockRunner::leave(Lane* lane) {
  if (recording_) lane->logged = static_cast<std::size_t>(recorder.next - lane->log.data());
}

// Takes the running lane off and runs the next one, or the scheduler if there is none. Returns when it is this lane's
// turn again.
void BlockRunner::suspend(Lane& lane, LaneState state) {
  leave(&lane);
  if (state != LaneState::ready) {
    lane.state = state;
    lane.warp->ready &= ~lane.bit();
    if (!lane.warp->ready) ready_warps_ &= ~(1u << lane.warp->id);
  }
  if (Lane* const next = pick()) {
    enter(next);
    if (next != &lane) lane.fiber.switch_to(next->fiber);
  } else {
    current_ = running = nullptr;
    recorder.next = nullptr;
    lane.fiber.switch_to(scheduler_);
  }
}

bool BlockRunner::first_in_block() { return !std::exchange(entered_, true); }

// ---------------------------------------------------------------------------------------------------- faults

// What comes after a read of unwritten memory may follow from it, unless it tells who else was there, or which copy.
void BlockRunner::stop(Fault fault) {
  if (running && running->block != this) running->block->stop(std::move(fault));
  const bool tells_more = fault.kind() == FaultKind::race || fault.kind() == FaultKind::in_flight;
  fault_ = early_read_ && !tells_more ? *early_read_ : std::move(fault);
  Lane* const lane = running;
  if (!lane) throw DetailedFault(*fault_);
  current_ = running = nullptr;
  recorder.next = nullptr;
  ready_warps_ = 0;
  // The fibers of this block stay as they are and are made anew by the next launch.
  lane->fiber.switch_to(scheduler_);
  std::terminate();
}

Fault BlockRunner::fault_at(FaultFacts facts, const std::optional<SourceLine>& line) const {
  Fault fault{std::move(facts), shape_.kernel, block_index_, std::nullopt, line};
  if (running && running->block == this) fault.thread = running->index;
  return fault;
}

void BlockRunner::fault(FaultFacts facts, std::uintptr_t pc) {
  stop(fault_at(std::move(facts), source_line(pc).value_or(SourceLine{})));
}

void BlockRunner::fault(FaultFacts facts, std::source_location where) {
  stop(fault_at(std::move(facts), source_line(where)));
}

Deadlock::Block BlockRunner::deadlock() const {
  Deadlock::Block block{block_index_, {}, {}};
  for (unsigned i = 0; i < threads_; ++i) {
    const Lane& lane = lanes_[i];
    if (lane.state == LaneState::exited)
      block.exited.push_back(i);
    else
      block.waiting.push_back({i, source_line(lane.where), wait_of(lane)});
  }
  return block;
}

MemoryPlace BlockRunner::place_of(std::uintptr_t address, bool is_global) {
  using enum MemoryPlace::Space;
  if (!is_global) {
    const SharedMemory& memory = memory_of(address);
    return {memory.is_static(address) ? variable : shared, {}, memory.dynamic_offset(address), shape_.shared_bytes};
  }
  const Allocation* const allocation = Arena::instance().at_or_below(address);
  if (!allocation) return {};
  return {global, allocation->label, static_cast<std::int64_t>(address - allocation->base), allocation->bytes};
}

void BlockRunner::check_alignment(std::uintptr_t address, unsigned bytes, unsigned alignment, Access access,
                                  std::uintptr_t pc) {
  if (address % alignment == 0) return;
  fault(Misaligned{access, bytes, address, alignment}, pc);
}

SharedMemory& BlockRunner::memory_of(std::uintptr_t address) {
  return shared_.offset(address) != SharedMemory::npos ? shared_ : cluster_.owner(address, *this)->shared_;
}

void BlockRunner::check_bounds(std::uintptr_t address, unsigned bytes, Access access, std::uintptr_t pc) {
  if (is_global(access)) {
    const Allocation* const allocation = Arena::instance().at_or_below(address);
    if (shape_.overlaps && !running->grid_waited) fault(BeforeGridWait{{access, bytes, place_of(address, true)}}, pc);
    if (allocation && address + bytes <= allocation->end()) return;
    fault(OutOfBounds{{access, bytes, place_of(address, true)}}, pc);
  }
  SharedMemory& shared = memory_of(address);
  const ByteState* const states = shared.states();
  const std::size_t offset = shared.offset(address);
  for (unsigned i = 0; i < bytes; ++i) {
    const ByteState state = states[offset + i];
    const auto at_fault = [&] { return FaultyAccess{access, bytes, place_of(address + i, false)}; };
    if (state == ByteState::red_zone) fault(OutOfBounds{at_fault()}, pc);
    if (state == ByteState::mbarrier) fault(MbarrierAccessed{at_fault()}, pc);
    if (state == ByteState::reading && is_write(access))
      if (const auto product = cluster_.owner(address, *this)->warpgroups_.reader(address + i))
        fault(DuringWgmma{at_fault(), source_line(*product)}, pc);
    const bool in_flight = state == ByteState::in_flight;
    if (in_flight || (state == ByteState::reading && is_write(access)))
      if (const BulkCopy* const copy = cluster_.copies().at(address + i))
        fault(DuringBulkCopy{at_fault(), copy->kind, source_line(copy->where)}, pc);
    const bool early = in_flight || (state == ByteState::unwritten && (!is_write(access) || is_atomic(access)));
    if (!early || early_read_) continue;
    early_read_ = fault_at(in_flight ? FaultFacts(DuringAsyncCopy{at_fault()}) : ReadBeforeWrite{at_fault()},
                           source_line(pc).value_or(SourceLine{}));
    if (is_write(access)) stop(*early_read_);
    // Where a barrier is missing, the thread that should have come first is yet to come. It may until the next barrier;
    // then the race detector names both.
  }
  if (is_write(access)) shared.set_state(address, bytes, ByteState::written);
}

// ---------------------------------------------------------------------------------------------------- synchronisation

int BlockRunner::barrier(unsigned id, unsigned threads, int predicate, std::source_location where) {
  Lane& lane = *running;
  if (id >= barriers_.size()) fault(BarrierNumber{id}, where);
  if (threads % 32) fault(BarrierThreads{id, threads, false}, where);
  Barrier& barrier = barriers_[id];
  if (barrier.arrived && barrier.expected != threads) fault(BarrierExpects{id, barrier.expected, threads}, where);
  barrier.expected = threads;
  std::uint32_t& waiting = barrier.waiting[lane.warp->id];
  waiting |= lane.bit();
  ++barrier.arrived;
  // Where a number of threads is given, a warp counts as 32 of them, however many it has left (PTX ISA, "bar").
  if (threads && waiting == lane.warp->alive) barrier.arrived += 32 - static_cast<unsigned>(std::popcount(waiting));
  barrier.sum += predicate != 0;
  lane.where = where;
  if (options_.check) {
    // The instruction is .aligned: all lanes of a warp execute the same one.
    for_each_bit(barrier.waiting[lane.warp->id], [&](unsigned other) {
      if (lane.warp->lanes[other]->where.line() != where.line())
        fault(BarriersDiffer{lane.warp->id, other, lane.lane, source_line(lane.warp->lanes[other]->where)}, where);
    });
  }
  if (barrier.arrived == (threads ? threads : live_)) {
    lane.state = LaneState::at_barrier;
    complete_barrier(barrier);
  } else {
    suspend(lane, LaneState::at_barrier);
  }
  return static_cast<int>(lane.result);
}

void BlockRunner::complete_barrier_if_due(Barrier& barrier) {
  if (barrier.arrived && barrier.expected == 0 && barrier.arrived == live_) complete_barrier(barrier);
}

void BlockRunner::complete_barrier(Barrier& barrier) {
  if (recording_) {
    leave(running);
    for (unsigned i = 0; i < warps_; ++i) {
      if (!barrier.waiting[i]) continue;
      flush(all_warps_[i]);
      if (races_) races_->release(party(all_warps_[i]), barrier.clock);
    }
    if (races_)
      for (unsigned i = 0; i < warps_; ++i)
        if (barrier.waiting[i]) races_->acquire(party(all_warps_[i]), barrier.clock);
    enter(running);
    if (early_read_) stop(*early_read_);
  }
  for (unsigned i = 0; i < warps_; ++i) {
    for_each_bit(barrier.waiting[i],
                 [&](unsigned lane) { all_warps_[i].lanes[lane]->result = static_cast<unsigned>(barrier.sum); });
    set_ready(all_warps_[i], barrier.waiting[i]);
  }
  barrier = {};
}

void BlockRunner::barrier_arrive(unsigned id, unsigned threads, std::source_location where) {
  Lane& lane = *running;
  if (id >= barriers_.size()) fault(BarrierNumber{id}, where);
  if (threads == 0 || threads % 32) fault(BarrierThreads{id, threads, true}, where);
  lane.operand = static_cast<int>(id);
  lane.width = static_cast<int>(threads);
  collective(Collective::arrive, 0xffffffffu, where);
}

void BlockRunner::collective(Collective kind, std::uint32_t mask, std::source_location where) {
  Lane& lane = *running;
  Warp& warp = *lane.warp;
  mask &= warp.all;
  if (!(mask & lane.bit())) fault(LaneNotInMask{lane.lane, mask}, where);
  PendingCollective* pending = nullptr;
  for (PendingCollective& other : warp.collectives) {
    if (other.kind == Collective::none) {
      if (!pending) pending = &other;
    } else if (other.mask & mask) {
      const auto waiting = static_cast<unsigned>(std::countr_zero(other.arrived));
      const bool same_instruction = kind != Collective::instruction ||
                                    (lane.instruction == warp.lanes[waiting]->instruction &&
                                     where.line() == warp.lanes[waiting]->where.line());
      if (other.kind != kind || other.mask != mask || !same_instruction) {
        fault(CollectivesDiffer{warp.id, waiting, source_line(warp.lanes[waiting]->where)}, where);
      }
      pending = &other;
      break;
    }
  }
  if (!pending) fault(RuleBroken{Rule::collectives_at_once}, where);
  pending->kind = kind;
  pending->mask = mask;
  pending->arrived |= lane.bit();
  lane.where = where;
  if (pending->arrived == (mask & warp.alive)) {
    lane.state = LaneState::at_collective;
    complete(warp, *pending);
    return;
  }
  suspend(lane, LaneState::at_collective);
}

void BlockRunner::complete(Warp& warp, PendingCollective& pending) {
  const PendingCollective done = std::exchange(pending, {});
  const std::uint32_t lanes = done.arrived;
  if (recording_) {
    leave(running);
    if (lanes == warp.alive) flush(warp);
    // Shuffles and votes order no memory accesses (CUDA C++ Programming Guide). A __syncwarp of a part of the warp is
    // taken for one of all its lanes: no false alarm, but a race of the others with that part may go unseen.
    if (races_ && done.kind == Collective::sync) {
      find_races(warp);
      races_->end_interval(party(warp));
    }
    enter(running);
  }
  const Lane& any = *warp.lanes[std::countr_zero(lanes)];
  if (done.kind == Collective::elect || done.kind == Collective::registers) {
    complete_async(warp, done.kind, lanes);
  } else if (done.kind == Collective::vote) {
    std::uint32_t votes = 0;
    for_each_bit(lanes, [&](unsigned i) { votes |= static_cast<std::uint32_t>(warp.lanes[i]->value != 0) << i; });
    for_each_bit(lanes, [&](unsigned i) { warp.lanes[i]->result = votes; });
  } else if (done.kind == Collective::shuffle) {
    for_each_bit(lanes, [&](unsigned i) {
      Lane& lane = *warp.lanes[i];
      int first = static_cast<int>(i) & ~(lane.width - 1), source = static_cast<int>(i);
      const int end = first + lane.width;
      switch (lane.shuffle) {
        case abi::Shuffle::index: source = first + (lane.operand & (lane.width - 1)); break;
        case abi::Shuffle::up: source -= lane.operand; break;
        case abi::Shuffle::down: source += lane.operand; break;
        case abi::Shuffle::exclusive_or:
          source ^= lane.operand;
          first = 0;
          break;
      }
      // Out of its segment a lane reads itself; by exclusive or it may read earlier segments, and no later ones (CUDA
      // C++ Programming Guide, "Warp Shuffle Functions").
      if (source < first || source >= end) source = static_cast<int>(i);
      if (!(lanes >> source & 1)) fault(ShuffleSource{warp.id, i, source}, lane.where);
      lane.result = warp.lanes[source]->value;
    });
  } else if (done.kind == Collective::arrive) {
    Barrier& barrier = barriers_[any.operand];
    const auto threads = static_cast<unsigned>(any.width);
    if (barrier.arrived && barrier.expected != threads)
      fault(BarrierExpects{static_cast<unsigned>(any.operand), barrier.expected, threads}, any.where);
    barrier.expected = threads;
    barrier.arrived += 32;  // a whole warp, however many lanes it has left
    if (races_) races_->release(party(warp), barrier.clock);
    if (barrier.arrived == threads) complete_barrier(barrier);
  } else if (done.kind == Collective::instruction) {
    if (lanes != ~0u) fault_part_of_warp(any);
    void* operands[32];
    for (unsigned i = 0; i < 32; ++i) operands[i] = warp.lanes[i]->operands;
    any.instruction.execute(any.instruction.form, operands);
  }
  set_ready(warp, lanes);
}

void BlockRunner::warp_instruction(const WarpInstruction& instruction, void* operands, std::source_location where) {
  Lane& lane = *running;
  lane.instruction = instruction;
  lane.operands = operands;
  lane.where = where;
  if (lane.warp->alive != ~0u) fault_part_of_warp(lane);
  collective(Collective::instruction, ~0u, where);
}

void BlockRunner::fault_part_of_warp(const Lane& lane) {
  fault(PartOfWarp{lane.warp->id, static_cast<unsigned>(std::popcount(lane.warp->alive))}, lane.where);
}

// ---------------------------------------------------------------------------------------------------- cp.async

void AsyncCopy::arrive() {
  if (arrived) return;
  std::memcpy(shared, global, source_bytes);
  std::memset(shared + source_bytes, 0, bytes - source_bytes);
  arrived = true;
}

// The copy is carried out as late as its group's wait allows, and until then its destination holds NaN; or, in a random
// order, as often as not at once. A checked run takes the destination for in flight in either case.
void BlockRunner::async_copy(const AsyncCopy& copy) {
  Lane& lane = *running;
  const auto shared = reinterpret_cast<std::uintptr_t>(copy.shared),
             global = reinterpret_cast<std::uintptr_t>(copy.global);
  if (copy.bytes != 4 && copy.bytes != 8 && copy.bytes != 16) fault(AsyncCopyBytes{copy.bytes}, copy.pc);
  if (copy.source_bytes > copy.bytes) fault(AsyncCopySource{copy.source_bytes, copy.bytes}, copy.pc);
  if (shared_.offset(shared) == SharedMemory::npos) fault(RuleBroken{Rule::async_copy_target}, copy.pc);
  if (recording_) {
    const auto log = [&](const Event& event) {
      if (recorder.next == recorder.end) grow_log();
      *recorder.next++ = event;
    };
    check_alignment(shared, copy.bytes, copy.bytes, Access::async_issue, copy.pc);
    check_alignment(global, copy.bytes, copy.bytes, Access::async_copy, copy.pc);
    if (options_.check) {
      check_bounds(shared, copy.bytes, Access::async_issue, copy.pc);
      if (copy.source_bytes) check_bounds(global, copy.source_bytes, Access::async_copy, copy.pc);
      shared_.set_state(shared, copy.bytes, ByteState::in_flight);
    }
    if (copy.source_bytes) log(Event(global, copy.source_bytes, Access::async_copy, copy.pc));
    log(Event(shared, copy.bytes, Access::async_issue, copy.pc));
  }
  std::memset(copy.shared, 0xff, copy.bytes);
  lane.copies.push_back(copy);
  lane.copies.back().group = lane.copy_group;
  lane.copying += copy.bytes;
  lane.most_copying = std::max(lane.most_copying, lane.copying);
  if (options_.seed && random_() % 2) lane.copies.back().arrive();
}

void BlockRunner::async_wait(unsigned pending) {
  Lane& lane = *running;
  std::size_t done = 0;
  while (done < lane.copies.size() && lane.copies[done].group + pending < lane.copy_group) {
    AsyncCopy& copy = lane.copies[done++];
    copy.arrive();
    lane.copying -= copy.bytes;
    if (recording_) {
      const auto shared = reinterpret_cast<std::uintptr_t>(copy.shared);
      if (options_.check) shared_.set_state(shared, copy.bytes, ByteState::written);
      if (recorder.next == recorder.end) grow_log();
      *recorder.next++ = Event(shared, copy.bytes, Access::async_arrival, copy.pc);
    }
  }
  lane.copies.erase(lane.copies.begin(), lane.copies.begin() + static_cast<std::ptrdiff_t>(done));
}

void BlockRunner::grow_log() {
  Lane& lane = *running;
  if (lane.log.size() >= full_log) {
    suspend(lane, LaneState::log_full);
    if (lane.logged < lane.log.size()) return;
  }
  // There is no end of the interval in sight, or lanes took different paths, which only its end can sort out.
  leave(&lane);
  lane.log.resize(lane.log.size() * 2);
  enter(&lane);
}

bool BlockRunner::empty_full_logs() {
  bool any = false;
  for (unsigned i = 0; i < warps_; ++i) {
    Warp& warp = all_warps_[i];
    std::uint32_t full = 0;
    for_each_bit(warp.alive, [&](unsigned lane) {
      if (warp.lanes[lane]->state == LaneState::log_full) full |= 1u << lane;
    });
    if (!full) continue;
    any = true;
    if (races_) find_races(warp);
    const std::size_t done = options_.count ? count_in_step(warp) : ~std::size_t{0};
    for_each_bit(warp.all, [&](unsigned index) {
      Lane& lane = *warp.lanes[index];
      const std::size_t gone = std::min(done, lane.logged);
      std::copy(lane.log.begin() + static_cast<std::ptrdiff_t>(gone),
                lane.log.begin() + static_cast<std::ptrdiff_t>(lane.logged), lane.log.begin());
      lane.logged -= gone;
      lane.examined = lane.logged;
    });
    set_ready(warp, full);
  }
  return any;
}

}  // namespace lapidary::emulator
