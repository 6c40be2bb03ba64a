#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "emulator/report.hpp"

namespace lapidary::emulator {

/// What an instrumented thread did to memory. The last two are for the race detector alone: a cp.async may write shared
/// memory at any time between its issue and the wait for its group.
enum class Access : std::uint8_t {
  global_load,
  global_store,
  global_atomic,
  async_copy,
  shared_load,
  shared_store,
  shared_atomic,
  async_issue,
  async_arrival,
};

constexpr bool is_global(Access access) { return access <= Access::async_copy; }
constexpr bool is_counted(Access access) { return access <= Access::shared_atomic; }
constexpr bool is_write(Access access) {
  return access != Access::global_load && access != Access::async_copy && access != Access::shared_load;
}
constexpr bool is_atomic(Access access) { return access == Access::global_atomic || access == Access::shared_atomic; }

/// One access of one thread: an address of 48 bits, its width and kind, and the instruction that made it.
struct Event {
  std::uint64_t bits;
  std::uintptr_t pc;

  Event() = default;
  Event(std::uintptr_t address, unsigned bytes, Access access, std::uintptr_t pc_)
      : bits(address | std::uint64_t{bytes} << 48 | static_cast<std::uint64_t>(access) << 56), pc(pc_) {}
  std::uintptr_t address() const { return bits & 0xffffffffffffu; }
  unsigned bytes() const { return bits >> 48 & 0xff; }
  Access access() const { return static_cast<Access>(bits >> 56); }
};

/// The counters of one instruction; requests, sectors for global memory, instructions, wavefronts, minimum for shared.
struct SiteCounters {
  std::uint64_t warps = 0, units = 0, minimum = 0;
};

/// Counters by instruction: (pc, access) for memory, pc for arithmetic.
struct Sites {
  std::unordered_map<std::uint64_t, SiteCounters> memory;
  std::unordered_map<std::uintptr_t, std::uint64_t> fma;

  static std::uint64_t key(std::uintptr_t pc, Access access) { return pc << 4 | static_cast<std::uint64_t>(access); }
  static std::uintptr_t pc(std::uint64_t key) { return key >> 4; }
  static Access access(std::uint64_t key) { return static_cast<Access>(key & 15); }

  void merge(const Sites& other);
};

/// The state that the instrumentation's callbacks touch, one for each host thread; `next` is null while no CUDA thread
/// of a recorded run is running, and then nothing is recorded.
struct Recorder {
  Event* next = nullptr;
  Event* end = nullptr;
  bool check = false;
  std::uintptr_t arena_base = 0, arena_bytes = 0;    ///< global memory
  std::uintptr_t shared_base = 0, shared_bytes = 0;  ///< the block's shared memory
  std::uintptr_t stack_base = 0, stack_bytes = 0;    ///< the lanes' stacks: registers and local memory
  std::uintptr_t static_base = 0, static_bytes = 0;  ///< the host thread's TLS block, where __shared__ variables are

  /// Arithmetic by instruction: a direct-mapped cache in front of `fma`.
  struct FmaSlot {
    std::uintptr_t pc = 0;
    std::uint64_t count = 0;
  };
  static constexpr unsigned fma_slots = 1024;
  FmaSlot fma_cache[fma_slots];
  std::unordered_map<std::uintptr_t, std::uint64_t> fma;

  void flush_fma();
};

extern thread_local Recorder recorder;

}  // namespace lapidary::emulator
