#pragma once
#include <array>
#include <bit>
#include <cstdint>

#include "core/launch_shape.hpp"
#include "emulator/abi.hpp"
#include "emulator/call_site.hpp"
#include "emulator/fiber.hpp"

namespace lapidary::emulator {

class BlockRunner;
struct Warp;

enum class LaneState : std::uint8_t {
  ready,
  at_barrier,
  at_collective,
  at_wgmma,
  at_mbarrier,
  at_cluster_barrier,
  at_bulk_group,
  at_registers,
  asking,    ///< which lanes of its warp are at the same place
  spinning,  ///< found a word as it was
  polling,   ///< asked whether an mbarrier's phase is complete, which it was not
  log_full,
  exited,
};

/// One CUDA thread, as the scheduler sees it. What units know of a thread they keep themselves, by its index.
struct Lane {
  Fiber fiber;
  BlockRunner* block = nullptr;
  Warp* warp = nullptr;
  unsigned thread = 0;  ///< linear index in the block
  unsigned lane = 0;    ///< index in the warp
  abi::Index3 index{};
  LaneState state = LaneState::exited;
  CallSite where;  ///< of what it waits at

  std::uint32_t bit() const { return 1u << lane; }
};

struct Warp {
  unsigned id = 0;
  std::array<Lane*, 32> lanes{};
  std::uint32_t all = 0;    ///< lanes that exist
  std::uint32_t alive = 0;  ///< ... and have not exited
  std::uint32_t ready = 0;  ///< ... and do not wait
};

/// The lane that the calling host thread is in; null outside of kernels.
extern constinit thread_local Lane* running;

/// The block that is run: where it is, and how its kernel was launched.
struct BlockPlace {
  abi::Index3 index{};
  std::uint32_t linear = 0;  ///< x fastest
  unsigned rank = 0;         ///< in its cluster
  unsigned threads = 0, warps = 0;
  LaunchShape shape{};
};

template <class Do>
void for_each_bit(std::uint32_t bits, Do&& what) {
  for (; bits; bits &= bits - 1) what(static_cast<unsigned>(std::countr_zero(bits)));
}

inline std::uintptr_t address_of(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

}  // namespace lapidary::emulator
