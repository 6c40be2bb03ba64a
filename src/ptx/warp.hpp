#pragma once
#include "ptx/call_site.hpp"
#include "ptx/cuda.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// elect.sync (PTX ISA, sm_90): true in one of the lanes in the mask, the same one each time. All of them call it
/// together.
LAPIDARY_DEVICE bool elect_sync(unsigned mask = 0xffffffffu,
                                [[maybe_unused]] CallSite where = std::source_location::current()) {
#if defined(__CUDACC__)
  unsigned elected;
  asm volatile(
      "{\n"
      ".reg .pred elected;\n"
      "elect.sync _|elected, %1;\n"
      "selp.u32 %0, 1, 0, elected;\n"
      "}"
      : "=r"(elected)
      : "r"(mask));
  return elected != 0;
#else
  return emulator::abi::elect(mask, where);
#endif
}

/// setmaxnreg.inc (PTX ISA, sm_90a): the threads of the warp get more registers, up to `registers`, of those that other
/// warps of the block have given up; waits until there are enough. All warps of a warpgroup execute it.
template <unsigned registers>
LAPIDARY_DEVICE void setmaxnreg_inc([[maybe_unused]] CallSite where = std::source_location::current()) {
  static_assert(registers >= 24 && registers <= 256 && registers % 8 == 0, "24 to 256 registers, in steps of 8");
#if defined(__CUDACC__)
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
#else
  emulator::abi::setmaxnreg(registers, true, where);
#endif
}

/// setmaxnreg.dec: gives up all registers but `registers`.
template <unsigned registers>
LAPIDARY_DEVICE void setmaxnreg_dec([[maybe_unused]] CallSite where = std::source_location::current()) {
  static_assert(registers >= 24 && registers <= 256 && registers % 8 == 0, "24 to 256 registers, in steps of 8");
#if defined(__CUDACC__)
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers));
#else
  emulator::abi::setmaxnreg(registers, false, where);
#endif
}

}  // namespace lapidary::inline LAPIDARY_BUILD
