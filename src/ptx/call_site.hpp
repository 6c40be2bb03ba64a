#pragma once
#include <source_location>
#include "core/build.hpp"
#if !defined(__CUDACC__)
#include "emulator/call_site.hpp"
#endif

namespace lapidary::inline LAPIDARY_BUILD {

/// The line that calls an instruction, for the emulated machine's messages; nothing on the GPU. Functions that stand
/// for several instructions take one too, and hand it on:
///
///     LAPIDARY_DEVICE void wait(int stage, CallSite where = std::source_location::current())
#if defined(__CUDACC__)
struct CallSite {
  __host__ __device__ constexpr CallSite(std::source_location) {}
};
#else
using emulator::CallSite;
#endif

}  // namespace lapidary::inline LAPIDARY_BUILD
