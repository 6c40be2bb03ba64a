// The functions that -fsanitize=thread makes instrumented kernels call before each load and store. The program is
// linked without the sanitizer's own runtime; these are all of it.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "emulator/block.hpp"

namespace lapidary::emulator {

constinit thread_local Recorder recorder;

namespace {

// Those that the cache has no more.
thread_local std::unordered_map<std::uintptr_t, std::uint64_t> counted_fmas;

void put_aside(const Recorder::FmaSlot& slot) {
  if (slot.count) counted_fmas[slot.pc] += slot.count;
}

// The log has an access that may be a fault, or that it has no room for yet.
[[gnu::noinline]] void log_with_care(std::uintptr_t address, unsigned bytes, Access access, std::uintptr_t pc) {
  Recorder& r = recorder;
  BlockRunner& block = *BlockRunner::current();
  if (address % bytes) block.checker().check_alignment(address, bytes, bytes, access, pc);
  if (r.check) block.checker().check_bounds(address, bytes, access, pc);
  if (r.next == r.end) block.log().grow();
  *r.next++ = Event(address, bytes, access, pc);
}

[[gnu::noinline]] void touch_registers(std::uintptr_t address, unsigned bytes, bool store, std::uintptr_t pc) {
  BlockRunner::current()->warpgroups().touch(*running, address, bytes, store, pc);
}

[[gnu::noinline]] void record_elsewhere(std::uintptr_t address, unsigned bytes, bool store, std::uintptr_t pc) {
  BlockRunner& block = *BlockRunner::current();
  if (block.record_remote(address, bytes, store ? Access::cluster_store : Access::cluster_load, pc)) return;
  if (recorder.check) block.check_elsewhere(address, bytes, store, pc);
}

// Whatever it calls it ends with, so that it has no registers to save: it runs for each access.
inline void record(std::uintptr_t address, unsigned bytes, bool store, std::uintptr_t pc) {
  Recorder& r = recorder;
  if (!r.next) return;
  Access access;
  if (address - r.shared_base < r.shared_bytes) {
    access = store ? Access::shared_store : Access::shared_load;
  } else if (address - r.arena_base < r.arena_bytes) {
    access = store ? Access::global_store : Access::global_load;
  } else if (address - r.stack_base < r.stack_bytes) {
    // Registers, or local memory.
    return r.watch_registers ? touch_registers(address, bytes, store, pc) : void();
  } else if (address - r.static_base < r.static_bytes) {
    access = store ? Access::shared_store : Access::shared_load;
  } else {
    return record_elsewhere(address, bytes, store, pc);
  }
  // Widths are powers of two.
  if (r.check || (address & (bytes - 1)) || r.next == r.end) return log_with_care(address, bytes, access, pc);
  *r.next++ = Event(address, bytes, access, pc);
}

// What a volatile access does, any run may have to wait for.
void record_volatile(std::uintptr_t address, unsigned bytes, bool store, std::uintptr_t pc) {
  using Strong = BlockRunner::Strong;
  if (running) running->block->strong_access(address, bytes, store ? Strong::store : Strong::load, pc);
}

// What the compiler moves as one piece, and a GPU by several instructions: they are no wider than what it is aligned
// to, which its size is a multiple of.
void record_range(std::uintptr_t address, std::size_t bytes, bool store, std::uintptr_t pc) {
  const auto widest = static_cast<unsigned>(std::min<std::size_t>(bytes & -bytes, 16));
  while (bytes) {
    unsigned width = widest;
    while (width > bytes || address % width) width /= 2;
    record(address, width, store, pc);
    address += width;
    bytes -= width;
  }
}

}  // namespace

std::unordered_map<std::uintptr_t, std::uint64_t> take_fma() {
  for (Recorder::FmaSlot& slot : recorder.fma_cache) put_aside(std::exchange(slot, {}));
  return std::exchange(counted_fmas, {});
}

namespace abi {

float counted_fma(float a, float b, float c) {
  if (recorder.next) {
    const auto pc = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
    Recorder::FmaSlot& slot = recorder.fma_cache[pc / 4 % Recorder::fma_slots];
    if (slot.pc != pc) {
      put_aside(slot);
      slot = {pc, 0};
    }
    ++slot.count;
  }
  return std::fma(a, b, c);
}

}  // namespace abi
}  // namespace lapidary::emulator

#define ADDRESS reinterpret_cast<std::uintptr_t>(address)
#define CALLER reinterpret_cast<std::uintptr_t>(__builtin_return_address(0))

extern "C" {

using lapidary::emulator::record;
using lapidary::emulator::record_range;
using lapidary::emulator::record_volatile;

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}

#define LAPIDARY_CALLBACKS(bytes)                                                                               \
  void __tsan_read##bytes(void* address) { record(ADDRESS, bytes, false, CALLER); }                             \
  void __tsan_write##bytes(void* address) { record(ADDRESS, bytes, true, CALLER); }                             \
  void __tsan_unaligned_read##bytes(void* address) { record(ADDRESS, bytes, false, CALLER); }                   \
  void __tsan_unaligned_write##bytes(void* address) { record(ADDRESS, bytes, true, CALLER); }                   \
  void __tsan_volatile_read##bytes(void* address) { record_volatile(ADDRESS, bytes, false, CALLER); }           \
  void __tsan_volatile_write##bytes(void* address) { record_volatile(ADDRESS, bytes, true, CALLER); }           \
  void __tsan_unaligned_volatile_read##bytes(void* address) { record_volatile(ADDRESS, bytes, false, CALLER); } \
  void __tsan_unaligned_volatile_write##bytes(void* address) { record_volatile(ADDRESS, bytes, true, CALLER); } \
  void __tsan_read_write##bytes(void* address) {                                                                \
    record(ADDRESS, bytes, false, CALLER);                                                                      \
    record(ADDRESS, bytes, true, CALLER);                                                                       \
  }
LAPIDARY_CALLBACKS(1)
LAPIDARY_CALLBACKS(2)
LAPIDARY_CALLBACKS(4)
LAPIDARY_CALLBACKS(8)
LAPIDARY_CALLBACKS(16)
#undef LAPIDARY_CALLBACKS

void __tsan_read_range(void* address, std::size_t bytes) { record_range(ADDRESS, bytes, false, CALLER); }
void __tsan_write_range(void* address, std::size_t bytes) { record_range(ADDRESS, bytes, true, CALLER); }
void __tsan_vptr_read(void**) {}
void __tsan_vptr_update(void**, void*) {}
void* __tsan_memcpy(void* to, const void* from, std::size_t bytes) {
  record_range(reinterpret_cast<std::uintptr_t>(from), bytes, false, CALLER);
  record_range(reinterpret_cast<std::uintptr_t>(to), bytes, true, CALLER);
  return std::memcpy(to, from, bytes);
}
void* __tsan_memmove(void* to, const void* from, std::size_t bytes) {
  record_range(reinterpret_cast<std::uintptr_t>(from), bytes, false, CALLER);
  record_range(reinterpret_cast<std::uintptr_t>(to), bytes, true, CALLER);
  return std::memmove(to, from, bytes);
}
void* __tsan_memset(void* address, int value, std::size_t bytes) {
  record_range(ADDRESS, bytes, true, CALLER);
  return std::memset(address, value, bytes);
}
}
