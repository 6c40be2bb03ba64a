#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "emulator/report.hpp"

namespace lapidary::emulator {

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

/// An allocation at the time of a launch; `id` stands for its label, 0 for memory that nobody has allocated.
struct MemoryRegion {
  std::uintptr_t base, end;
  unsigned id;
};

/// The state that the instrumentation's callbacks touch, one for each host thread; `next` is null while no CUDA thread
/// of a recorded run is running, and then nothing is recorded.
struct Recorder {
  Event* next = nullptr;
  Event* end = nullptr;
  bool check = false;
  bool watch_registers = false;                      ///< the running thread has arrays that wgmma has for registers
  std::uintptr_t arena_base = 0, arena_bytes = 0;    ///< global memory
  std::uintptr_t shared_base = 0, shared_bytes = 0;  ///< the block's shared memory
  std::uintptr_t stack_base = 0, stack_bytes = 0;    ///< the lanes' stacks: registers and local memory
  std::uintptr_t static_base = 0, static_bytes = 0;  ///< the host thread's TLS block, where __shared__ variables are

  /// Arithmetic by instruction: a direct-mapped cache in front of what take_fma() returns.
  struct FmaSlot {
    std::uintptr_t pc = 0;
    std::uint64_t count = 0;
  };
  static constexpr unsigned fma_slots = 1024;
  FmaSlot fma_cache[fma_slots];
};

/// Needs no initialisation at run time, which each access would have to ask for.
extern constinit thread_local Recorder recorder;

/// Fused multiply-adds by instruction, of the calling host thread since the last such call.
std::unordered_map<std::uintptr_t, std::uint64_t> take_fma();

}  // namespace lapidary::emulator
