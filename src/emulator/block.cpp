#include "emulator/block.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "core/math.hpp"
#include "emulator/arena.hpp"
#include "emulator/cluster.hpp"
#include "emulator/program_image.hpp"
#include "emulator/symbols.hpp"

namespace lapidary::emulator {
namespace {

thread_local BlockRunner* runner = nullptr;

}  // namespace

BlockRunner* BlockRunner::current() { return runner; }

BlockRunner::BlockRunner(const Options& options, ClusterRunner& cluster, unsigned rank)
    : options_(options),
      cluster_(cluster),
      place_{.rank = rank},
      scheduler_(options_, log_, collectives_, warpgroups_, cluster.copies()),
      faults_(place_, scheduler_),
      checker_(place_, cluster, shared_, faults_),
      counter_(options_, cluster, rank),
      log_(options_, scheduler_, races_, counter_),
      races_(place_, cluster, log_, checker_, warpgroups_, faults_),
      spinning_(cluster, scheduler_),
      barriers_(options_, scheduler_, log_, races_, faults_),
      registers_(scheduler_, faults_),
      collectives_(options_, scheduler_, log_, races_, barriers_, registers_, warpgroups_, faults_),
      async_copies_(options_, scheduler_, shared_, checker_, log_, faults_),
      mbarriers_(options_, place_, cluster, scheduler_, shared_, checker_, races_, faults_),
      bulk_copies_(options_, place_, cluster, scheduler_, shared_, mbarriers_, checker_, races_, counter_, faults_),
      warpgroups_(options_, place_, scheduler_, shared_, checker_, counter_, log_, races_, faults_) {}

void BlockRunner::begin_launch(const LaunchShape& shape, ThreadBody body, std::span<const MemoryRegion> regions) {
  place_.shape = shape;
  place_.threads = shape.block.x * shape.block.y * shape.block.z;
  place_.warps = ceil_div(place_.threads, 32u);
  body_ = body;
  scheduler_.begin_launch(place_, *this);
  counter_.begin_launch(regions);
  log_.begin_launch(place_.threads);
  shared_.attach();
  recorder.check = options_.check;
  recorder.arena_base = cluster_.memory().base();
  recorder.arena_bytes = cluster_.memory().bytes();
  recorder.stack_bytes = Scheduler::stack_bytes();
}

void BlockRunner::end_launch() { runner = nullptr; }

void BlockRunner::begin(const BlockSample& sample) {
  const Extent3& grid = place_.shape.grid;
  place_.linear = sample.block;
  place_.index = {sample.block % grid.x, sample.block / grid.x % grid.y, sample.block / grid.x / grid.y};
  entered_ = false;
  shared_.reset(place_.shape.shared_bytes, options_.check);
  scheduler_.begin(place_);
  faults_.begin();
  checker_.begin();
  counter_.begin(sample);
  log_.begin(place_.threads);
  races_.begin();
  spinning_.begin();
  barriers_.begin();
  registers_.begin();
  collectives_.begin();
  async_copies_.begin(place_.threads);
  mbarriers_.begin();
  bulk_copies_.begin();
  warpgroups_.begin();
}

bool BlockRunner::advance() {
  Lane* const next = scheduler_.pick();
  if (!next) return false;
  runner = this;
  shared_.describe(recorder);
  if (cluster_.size() > 1) recorder.static_bytes = 0;  // no memory of this block alone
  recorder.stack_base = address_of(scheduler_.stacks());
  scheduler_.run(*next);
  // The blocks of a cluster share the recorder.
  if (!scheduler_.live() || cluster_.size() > 1) counter_.count_fma(take_fma());
  faults_.throw_if_found();
  return true;
}

void BlockRunner::end() {
  if (log_.is_on())
    for (unsigned i = 0; i < place_.warps; ++i) log_.flush(scheduler_.warp(i));
  counter_.count_flight(async_copies_.most_bytes() + bulk_copies_.most_bytes());
  faults_.throw_if_put_off();
}

// ---------------------------------------------------------------------------------------------------- threads

// Registers that a kernel reads before it writes them hold NaN: what its frame will be on the stack.
[[gnu::noinline]] void BlockRunner::fill_registers() {
  // By a function that the compiler does not know, as it knows that nobody reads the frame.
  void* (*volatile const fill)(void*, int, std::size_t) = std::memset;
  unsigned char frame[8192];
  fill(frame, 0xff, sizeof(frame));
}

void BlockRunner::run_thread(Lane& lane) {
  if (options_.check) fill_registers();
  body_.call(body_.context);
  warpgroups_.check_exit(*lane.warp);
  scheduler_.retire(lane);
  // Those who wait for all threads that have not exited may go on now.
  barriers_.complete_if_due();
  cluster_.exit(lane);
  collectives_.complete_if_due(*lane.warp);
  scheduler_.suspend(lane, LaneState::exited);
}

void BlockRunner::check_time(std::uintptr_t pc) {
  if (cluster_.is_late()) faults_.stop(EndlessLoop{options_.limit_s, cluster_.size() > 1}, pc);
}

void BlockRunner::check_time() {
  if (cluster_.is_late()) faults_.stop(EndlessLoop{options_.limit_s, cluster_.size() > 1}, running->where);
}

void BlockRunner::check_exit() {
  bulk_copies_.check_exit();
  mbarriers_.check_exit();
}

// ---------------------------------------------------------------------------------------------------- accesses

void BlockRunner::record(std::uintptr_t address, unsigned bytes, Access access, std::uintptr_t pc) {
  if (is_global(access) && !cluster_.memory().contains(address)) {
    check_elsewhere(address, bytes, is_write(access), pc);
    return;
  }
  if (options_.check) checker_.check_bounds(address, bytes, access, pc);
  log_.add(Event(address, bytes, access, pc));
}

bool BlockRunner::reach_remote(std::uintptr_t address, std::uintptr_t pc) {
  BlockRunner* const owner = cluster_.owner(address, place_.rank);
  if (!owner || owner == this) return false;
  const unsigned rank = owner->place_.rank;
  if (owner->scheduler_.live() == 0) faults_.stop(ExitedBlockAccess{rank}, pc);
  races_.reach(rank, pc);
  return true;
}

bool BlockRunner::record_remote(std::uintptr_t address, unsigned bytes, Access access, std::uintptr_t pc) {
  if (!reach_remote(address, pc)) return false;
  checker_.check_alignment(address, bytes, bytes, access, pc);
  record(address, bytes, access, pc);
  return true;
}

void BlockRunner::stop_foreign(std::uintptr_t address, Strong kind, std::uintptr_t pc) {
  if (shared_.is_static(address)) faults_.stop(RuleBroken{Rule::variable_in_cluster}, pc);
  if (kind >= Strong::atomic) faults_.stop(RuleBroken{Rule::atomic_target}, pc);
  faults_.stop(HostAccess{kind == Strong::store, address < 4096}, pc);
}

void BlockRunner::check_elsewhere(std::uintptr_t address, unsigned bytes, bool store, std::uintptr_t pc) {
  const ProgramImage image = image_at(address);
  if (image == ProgramImage::none || (image == ProgramImage::constant && store))
    stop_foreign(address, store ? Strong::store : Strong::load, pc);
  const Event event(address, bytes, store ? Access::global_store : Access::global_load, pc);
  checker_.check_alignment(address, bytes, bytes, event.access(), pc);
  if (image == ProgramImage::constant) return;
  if (store)
    races_.touch(event);
  else
    races_.put_off(event);
}

void BlockRunner::strong_access(std::uintptr_t address, unsigned bytes, Strong kind, std::uintptr_t pc) {
  const auto access_of = [&](Access load) {
    return static_cast<Access>(static_cast<unsigned>(load) + static_cast<unsigned>(std::min(kind, Strong::atomic)));
  };
  if (address - address_of(scheduler_.stacks()) < Scheduler::stack_bytes()) return;  // a local variable
  const bool global = cluster_.memory().contains(address);
  const bool shared = recorder.static_bytes ? shared_.offset(address) != SharedMemory::npos : shared_.in_arena(address);
  const bool remote = !global && !shared && cluster_.owner(address, place_.rank);
  if (!global && !shared && !remote && image_at(address) != ProgramImage::variable) {
    if (recorder.next) stop_foreign(address, kind, pc);
    return;
  }
  spinning_.be_overtaken();
  if (kind == Strong::load) spinning_.look(address, bytes, pc);
  if (!recorder.next) return;
  const Access access = access_of(remote ? Access::cluster_load : shared ? Access::shared_load : Access::global_load);
  const Event event(address, bytes, access, pc);
  checker_.check_alignment(address, bytes, bytes, access, pc);
  if (remote) reach_remote(address, pc);
  if (options_.check && (global || shared || remote))
    checker_.check_bounds(address, bytes, access, pc, kind == Strong::exchange);
  if (kind == Strong::compare) races_.forgive_guess(event);
  races_.touch_strong(event);
  if (kind != Strong::store) races_.told_by(*running, event);
  if (global || shared || remote) log_.add_examined(event);
}

// ---------------------------------------------------------------------------------------------------- deadlocks

Deadlock::Block BlockRunner::deadlock() const {
  Deadlock::Block block{place_.index, {}, {}};
  for (unsigned i = 0; i < place_.threads; ++i) {
    const Lane& lane = scheduler_.lane(i);
    if (lane.state == LaneState::exited)
      block.exited.push_back(i);
    else
      block.waiting.push_back({i, line_of(lane), wait_of(lane)});
  }
  return block;
}

SourceLine BlockRunner::line_of(const Lane& lane) const {
  if (lane.state != LaneState::spinning) return source_line(lane.where);
  return source_line(spinning_.pc(lane)).value_or(SourceLine{});
}

Wait BlockRunner::wait_of(const Lane& lane) const {
  switch (lane.state) {
    case LaneState::at_barrier: return barriers_.wait_of(lane);
    case LaneState::at_collective: return collectives_.wait_of(lane);
    case LaneState::at_mbarrier:
    case LaneState::polling: return mbarriers_.wait_of(lane);
    case LaneState::at_cluster_barrier: return ClusterWait{cluster_.arrived(), cluster_.live()};
    case LaneState::at_bulk_group: return BulkGroupWait{};
    case LaneState::at_wgmma: return warpgroups_.wait_of(*lane.warp);
    case LaneState::at_registers: return registers_.wait_of(lane);
    case LaneState::spinning: return SpinWait{};
    case LaneState::ready:
    case LaneState::asking:
    case LaneState::log_full:
    case LaneState::exited: break;
  }
  return {};
}

}  // namespace lapidary::emulator
