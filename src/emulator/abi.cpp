#include "emulator/abi.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "emulator/assertion.hpp"
#include "emulator/block.hpp"

namespace lapidary::emulator::abi {
namespace {

Index3 index_of(const Extent3& extent) { return {extent.x, extent.y, extent.z}; }

// Reports an atomic access as the instrumentation would; its own accesses are not seen, as this file is not
// instrumented.
void record_atomic(const void* memory, unsigned bytes, std::uintptr_t pc) {
  if (!recorder.next) return;
  const std::uintptr_t address = address_of(memory);
  const bool global = address - recorder.arena_base < recorder.arena_bytes;
  if (!global && running_block().shared().offset(address) == SharedMemory::npos) {
    if (running_block().record_remote(address, bytes, Access::cluster_atomic, pc)) return;
    running_block().faults().stop(RuleBroken{Rule::atomic_target}, pc);
  }
  const Access access = global ? Access::global_atomic : Access::shared_atomic;
  running_block().checker().check_alignment(address, bytes, bytes, access, pc);
  running_block().record(address, bytes, access, pc);
}

template <class T>
T combine(Atomic operation, T old, T value) {
  switch (operation) {
    case Atomic::add: return old + value;
    case Atomic::min: return std::min(old, value);
    case Atomic::max: return std::max(old, value);
    case Atomic::exchange: return value;
    default: break;
  }
  if constexpr (std::is_integral_v<T>) {
    switch (operation) {
      case Atomic::bit_and: return old & value;
      case Atomic::bit_or: return old | value;
      case Atomic::bit_xor: return old ^ value;
      default: break;
    }
  }
  return old;
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

void barrier_sync(unsigned id, unsigned threads, std::source_location where) {
  running_block().barriers().sync(id, threads, 0, where);
}
void barrier_arrive(unsigned id, unsigned threads, std::source_location where) {
  running_block().collectives().barrier_arrive(id, threads, where);
}
int barrier_count(int predicate, std::source_location where) {
  return running_block().barriers().sync(0, 0, predicate, where);
}

void sync_warp(std::uint32_t mask, std::source_location where) { running_block().collectives().sync(mask, where); }

std::uint64_t shuffle(std::uint32_t mask, std::uint64_t value, Shuffle mode, int operand, int width,
                      std::source_location where) {
  return running_block().collectives().shuffle(mask, value, mode, operand, width, where);
}

std::uint32_t ballot(std::uint32_t mask, int predicate, std::source_location where) {
  return running_block().collectives().ballot(mask, predicate, where);
}

std::uint32_t active_lanes() { return running->warp->alive; }

template <class T>
T atomic(Atomic operation, T* address, T value) {
  record_atomic(address, sizeof(T), address_of(__builtin_return_address(0)));
  T old;
  __atomic_load(address, &old, __ATOMIC_RELAXED);
  for (;;) {
    T next = combine(operation, old, value);
    if (__atomic_compare_exchange(address, &old, &next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return old;
  }
}

template <class T>
T atomic_compare_exchange(T* address, T expected, T desired) {
  record_atomic(address, sizeof(T), address_of(__builtin_return_address(0)));
  __atomic_compare_exchange(address, &expected, &desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}

template int atomic(Atomic, int*, int);
template unsigned atomic(Atomic, unsigned*, unsigned);
template unsigned long long atomic(Atomic, unsigned long long*, unsigned long long);
template float atomic(Atomic, float*, float);
template double atomic(Atomic, double*, double);
template int atomic_compare_exchange(int*, int, int);
template unsigned atomic_compare_exchange(unsigned*, unsigned, unsigned);
template unsigned long long atomic_compare_exchange(unsigned long long*, unsigned long long, unsigned long long);

void assertion_failed(const char* condition, std::uintptr_t pc) {
  running_block().faults().stop(AssertionFailed{condition}, pc);
}

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
