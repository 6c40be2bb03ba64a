#include "emulator/scheduler.hpp"

#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#include <algorithm>
#include <exception>
#include <new>

#include "emulator/access_log.hpp"
#include "emulator/block.hpp"
#include "emulator/copy_engine.hpp"
#include "emulator/machine.hpp"
#include "emulator/warp_collectives.hpp"
#include "emulator/warpgroup.hpp"

namespace lapidary::emulator {
namespace {

// Reserved, not used: a lane touches a few kilobytes of it. Unoptimised kernels need more.
constexpr std::size_t bytes_of_stack = 256 * 1024;
// Below the stacks of a warp: inaccessible, and more than a frame.
constexpr std::size_t bytes_of_guard = 64 * 1024, bytes_of_warp = bytes_of_guard + 32 * bytes_of_stack;
// How often lanes switch before somebody looks at the time.
constexpr unsigned switches_between_looks = 1 << 16;

}  // namespace

constinit thread_local Lane* running = nullptr;

std::size_t Scheduler::stack_bytes() { return bytes_of_warp * max_warps; }

std::span<unsigned char> Scheduler::stack_of(const Lane& lane) const {
  return {stacks_ + lane.thread / 32 * bytes_of_warp + bytes_of_guard + lane.thread % 32 * bytes_of_stack,
          bytes_of_stack};
}

bool Scheduler::is_guard(std::uintptr_t address) const {
  const std::uintptr_t offset = address - reinterpret_cast<std::uintptr_t>(stacks_);
  return offset < stack_bytes() && offset % bytes_of_warp < bytes_of_guard;
}

Scheduler::Scheduler(const Options& options, AccessLog& log, WarpCollectives& collectives, Warpgroups& warpgroups,
                     CopyEngine& copies)
    : options_(options),
      log_(log),
      collectives_(collectives),
      warpgroups_(warpgroups),
      copies_(copies),
      lanes_(std::make_unique<Lane[]>(LaunchLimits::threads)) {
  void* const memory = mmap(nullptr, stack_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                            -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  stacks_ = static_cast<unsigned char*>(memory);
}

Scheduler::~Scheduler() { munmap(stacks_, stack_bytes()); }

void Scheduler::begin_launch(const BlockPlace& place, BlockRunner& block) {
  const Extent3& extent = place.shape.block;
  takes_turns_ = place.shape.cluster.x * place.shape.cluster.y * place.shape.cluster.z > 1;
  random_order_ = options_.seed != 0;
  threads_ = place.threads;
  warp_count_ = place.warps;
  // Each takes two of the mappings that the host's system gives a process (vm.max_map_count): none for nothing, where
  // hundreds of blocks wait for each other.
  for (; guarded_ < warp_count_; ++guarded_) mprotect(stacks_ + guarded_ * bytes_of_warp, bytes_of_guard, PROT_NONE);
  for (unsigned i = 0; i < warp_count_; ++i) {
    warps_[i] = Warp{};
    warps_[i].id = i;
  }
  for (unsigned i = 0; i < threads_; ++i) {
    Lane& lane = lanes_[i];
    // Tops of stacks that are a power of two apart would all compete for the same sets of the host's cache.
    const std::size_t stagger = i * 320 % 4096 / 64 * 64;
    lane.block = &block;
    lane.warp = &warps_[i / 32];
    lane.thread = i;
    const std::span<unsigned char> stack = stack_of(lane);
    // What the last launch's fiber has poisoned between its variables.
    ASAN_UNPOISON_MEMORY_REGION(stack.data(), stack.size());
    lane.fiber = Fiber(stack.data(), stack.size() - stagger, lane_main, &lane);
    lane.lane = i % 32;
    lane.index = {i % extent.x, i / extent.x % extent.y, i / extent.x / extent.y};
    lane.warp->lanes[lane.lane] = &lane;
    lane.warp->all |= lane.bit();
  }
#if defined(__SANITIZE_ADDRESS__)
  pthread_attr_t attributes;
  void* stack = nullptr;
  std::size_t bytes = 0;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &stack, &bytes);
  pthread_attr_destroy(&attributes);
  host_.set_stack(stack, bytes);
#endif
}

void Scheduler::begin(const BlockPlace& place) {
  // A block's order depends on the seed and the block alone, whichever host thread runs it.
  if (random_order_) random_.seed(static_cast<unsigned>(options_.seed * 0x9e3779b97f4a7c15u + place.linear));
  live_ = threads_;
  ready_warps_ = 0;
  spinning_ = 0;
  for (unsigned i = 0; i < warp_count_; ++i) {
    warps_[i].alive = warps_[i].all;
    set_ready(warps_[i], warps_[i].all);
  }
}

// A lane's fiber runs the kernel once for each block, for as long as the launch lasts.
void Scheduler::lane_main(void* argument) {
  Lane& lane = *static_cast<Lane*>(argument);
  for (;;) lane.block->run_thread(lane);
}

void Scheduler::run(Lane& first) {
  current_ = running = &first;
  log_.enter(first);
  host_.switch_to(first.fiber);
  recorder.next = nullptr;
  running = nullptr;
}

// In order: the next lane of the same warp, then the next warp.
Lane* Scheduler::pick() {
  if (!ready_warps_) return nullptr;
  if (random_order_) {
    // What is asynchronous happens at random times, and blocks of a cluster take turns.
    if (warpgroups_.busy() && random_() % 4 == 0) warpgroups_.advance(random_);
    if (!copies_.empty() && random_() % 4 == 0) copies_.advance(&random_);
    // Who waits for a word may look at it before all others have done what they can.
    if (spinning_ > 0 && random_() % 64 == 0) wake(LaneState::spinning);
    if (running && takes_turns_ && random_() % 8 == 0) return nullptr;
    const auto any_bit = [&](std::uint32_t bits) {
      for (auto skip = random_() % static_cast<unsigned>(std::popcount(bits)); skip; --skip) bits &= bits - 1;
      return std::countr_zero(bits);
    };
    Warp& warp = warps_[any_bit(ready_warps_)];
    return warp.lanes[any_bit(warp.ready)];
  }
  Warp* warp = current_ ? current_->warp : nullptr;
  if (!warp || !warp->ready) warp = &warps_[std::countr_zero(ready_warps_)];
  const std::uint32_t later = current_ && current_->warp == warp ? warp->ready & ~(current_->bit() * 2 - 1) : 0;
  return warp->lanes[std::countr_zero(later ? later : warp->ready)];
}

// Runs the next lane, or leaves the block if there is none. Returns when it is this lane's turn again.
void Scheduler::suspend(Lane& lane, LaneState state) {
  log_.leave(lane);
  if (++switches_ % switches_between_looks == 0) lane.block->check_time();
  if (state != LaneState::ready) {
    lane.state = state;
    spinning_ += state == LaneState::spinning;
    lane.warp->ready &= ~lane.bit();
    if (!lane.warp->ready) {
      ready_warps_ &= ~(1u << lane.warp->id);
      collectives_.converge(*lane.warp);
    }
  }
  if (Lane* const next = pick()) {
    current_ = running = next;
    log_.enter(*next);
    if (next != &lane) lane.fiber.switch_to(next->fiber);
  } else {
    current_ = running = nullptr;
    recorder.next = nullptr;
    lane.fiber.switch_to(host_);
  }
}

void Scheduler::abandon() {
  Lane* const lane = running;
  current_ = running = nullptr;
  recorder.next = nullptr;
  ready_warps_ = 0;
  // The fibers of this block stay as they are and are made anew by the next launch.
  lane->fiber.switch_to(host_);
  std::terminate();
}

void Scheduler::retire(Lane& lane) {
  lane.warp->alive &= ~lane.bit();
  --live_;
}

bool Scheduler::any(LaneState state) const {
  return std::any_of(lanes_.get(), lanes_.get() + threads_, [&](const Lane& lane) { return lane.state == state; });
}

bool Scheduler::wake(LaneState state) {
  bool any = false;
  if (state == LaneState::spinning) spinning_ = 0;
  for (unsigned i = 0; i < threads_; ++i) {
    if (lanes_[i].state != state) continue;
    any = true;
    set_ready(lanes_[i]);
  }
  return any;
}

}  // namespace lapidary::emulator
