#include "emulator/abi.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/types.hpp"
#include "emulator/assertion.hpp"
#include "emulator/block.hpp"
#include "emulator/cluster.hpp"

namespace lapidary::emulator::abi {
namespace {

Index3 index_of(const Extent3& extent) { return {extent.x, extent.y, extent.z}; }

// An atomic access that has been made: its own accesses are not seen, as this file is not instrumented. One that has
// left the word as it was may be of a loop that waits.
void end_atomic(const void* memory, unsigned bytes, bool changed, std::uintptr_t pc) {
  if (changed)
    running_block().cluster().changed();
  else
    running_block().spinning().look(address_of(memory), bytes, pc);
}

template <class T>
T combine(Atomic operation, T old, T value) {
  switch (operation) {
    case Atomic::add: return old + value;
    case Atomic::min: return std::min(old, value);
    case Atomic::max: return std::max(old, value);
    case Atomic::subtract: return old - value;
    case Atomic::exchange: return value;
    default: break;
  }
  if constexpr (std::is_integral_v<T>) {
    switch (operation) {
      case Atomic::bit_and: return old & value;
      case Atomic::bit_or: return old | value;
      case Atomic::bit_xor: return old ^ value;
      case Atomic::increment: return old >= value ? 0 : old + 1;
      case Atomic::decrement: return old == 0 || old > value ? value : old - 1;
      default: break;
    }
  }
  return old;
}

// The exact sum, rounded once: f32 has so many more digits that it makes no difference to round to them first.
template <class T>
T combine_narrow(Atomic operation, T old, T value) {
  return operation == Atomic::add ? from_float<T>(to_float(old) + to_float(value)) : old;
}
f16 combine(Atomic operation, f16 old, f16 value) { return combine_narrow(operation, old, value); }
bf16 combine(Atomic operation, bf16 old, bf16 value) { return combine_narrow(operation, old, value); }
template <class T>
NumberPair<T> combine(Atomic operation, NumberPair<T> old, NumberPair<T> value) {
  return {combine(operation, old.x, value.x), combine(operation, old.y, value.y)};
}

}  // namespace

Index3 thread_index() { return running->index; }
Index3 block_index() { return running_block().place().index; }
Index3 block_extent() { return index_of(running_block().place().shape.block); }
Index3 grid_extent() { return index_of(running_block().place().shape.grid); }

void* dynamic_shared() { return running_block().shared().dynamic(); }
bool first_in_block() { return running_block().first_in_block(); }
void red_zone(void* shared, unsigned bytes) {
  running_block().shared().set_state(address_of(shared), bytes, ByteState::red_zone);
}

void barrier_sync(unsigned id, unsigned threads, CallSite where) {
  running_block().barriers().sync(id, threads, 0, where);
}
void barrier_arrive(unsigned id, unsigned threads, CallSite where) {
  running_block().collectives().barrier_arrive(id, threads, where);
}
int barrier_count(int predicate, CallSite where) { return running_block().barriers().sync(0, 0, predicate, where); }

void sync_warp(std::uint32_t mask, CallSite where) { running_block().collectives().sync(mask, where); }

std::uint64_t shuffle(std::uint32_t mask, std::uint64_t value, Shuffle mode, int operand, int width, CallSite where) {
  return running_block().collectives().shuffle(mask, value, mode, operand, width, where);
}

std::uint32_t ballot(std::uint32_t mask, int predicate, CallSite where) {
  return running_block().collectives().ballot(mask, predicate, where);
}

std::uint32_t match(std::uint32_t mask, std::uint64_t value, CallSite where) {
  return running_block().collectives().match(mask, value, where);
}

std::uint32_t reduce(std::uint32_t mask, std::uint32_t value, Reduction operation, CallSite where) {
  return running_block().collectives().reduce(mask, value, operation, where);
}

std::uint32_t active_lanes(CallSite where) { return running_block().collectives().active(where); }

template <class T>
T atomic(Atomic operation, T* address, T value) {
  const std::uintptr_t pc = address_of(__builtin_return_address(0));
  using Strong = BlockRunner::Strong;
  const Strong kind = operation == Atomic::exchange ? Strong::exchange : Strong::atomic;
  running_block().strong_access(address_of(address), sizeof(T), kind, pc);
  T old, next;
  __atomic_load(address, &old, __ATOMIC_RELAXED);
  do {
    next = combine(operation, old, value);
  } while (!__atomic_compare_exchange(address, &old, &next, true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
  end_atomic(address, sizeof(T), std::memcmp(&next, &old, sizeof(T)) != 0, pc);
  return old;
}

template <class T>
T atomic_compare_exchange(T* address, T expected, T desired) {
  const std::uintptr_t pc = address_of(__builtin_return_address(0));
  running_block().strong_access(address_of(address), sizeof(T), BlockRunner::Strong::compare, pc);
  T old = expected;
  const bool done = __atomic_compare_exchange(address, &old, &desired, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  end_atomic(address, sizeof(T), done && old != desired, pc);
  return old;
}

template int atomic(Atomic, int*, int);
template unsigned atomic(Atomic, unsigned*, unsigned);
template unsigned long long atomic(Atomic, unsigned long long*, unsigned long long);
template float atomic(Atomic, float*, float);
template double atomic(Atomic, double*, double);
template f16 atomic(Atomic, f16*, f16);
template bf16 atomic(Atomic, bf16*, bf16);
template NumberPair<f16> atomic(Atomic, NumberPair<f16>*, NumberPair<f16>);
template NumberPair<bf16> atomic(Atomic, NumberPair<bf16>*, NumberPair<bf16>);
template int atomic_compare_exchange(int*, int, int);
template unsigned atomic_compare_exchange(unsigned*, unsigned, unsigned);
template unsigned short atomic_compare_exchange(unsigned short*, unsigned short, unsigned short);
template unsigned long long atomic_compare_exchange(unsigned long long*, unsigned long long, unsigned long long);

void thread_fence(FenceScope scope) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  running_block().races().fence(scope == FenceScope::device);
}
void nanosleep() { running_block().spinning().sleep(address_of(__builtin_return_address(0))); }

void check_read_only(const void* address, unsigned bytes) {
  running_block().races().check_read_only(address_of(address), bytes, address_of(__builtin_return_address(0)));
}

void assertion_failed(const char* condition, std::uintptr_t pc) {
  running_block().faults().stop(AssertionFailed{condition}, pc);
}

void trap() { running_block().faults().stop(Trapped{}, address_of(__builtin_return_address(0))); }

void async_copy(void* shared, const void* global, unsigned bytes, unsigned source_bytes) {
  running_block().async_copies().issue({static_cast<unsigned char*>(shared), static_cast<const unsigned char*>(global),
                                        bytes, source_bytes, 0, address_of(__builtin_return_address(0))});
}
void async_commit_group() { running_block().async_copies().commit(); }
void async_wait_group(unsigned pending) { running_block().async_copies().wait(pending); }

std::uint32_t shared_offset(const void* address) {
  const std::size_t offset = running_block().shared().offset(address_of(address));
  if (offset == SharedMemory::npos)
    running_block().faults().stop(RuleBroken{Rule::shared_address}, address_of(__builtin_return_address(0)));
  // The window of a cluster: 16 MiB for each of its blocks, as on a GPU of compute capability 9.0.
  return static_cast<std::uint32_t>(offset) | cluster_rank() << 24;
}

}  // namespace lapidary::emulator::abi
