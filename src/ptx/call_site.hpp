#pragma once
#include "core/build.hpp"
#if !defined(__CUDACC__)
#include <source_location>
#endif

namespace lapidary::inline LAPIDARY_BUILD {

/// The line that calls an instruction, for the emulated machine's messages; nothing on the GPU. Functions that stand
/// for several instructions take one too, and hand it on:
///
///     LAPIDARY_DEVICE void wait(int stage, CallSite where = CallSite::current())
#if defined(__CUDACC__)
struct CallSite {
  __host__ __device__ static constexpr CallSite current() { return {}; }
};
#else
using CallSite = std::source_location;
#endif

}  // namespace lapidary::inline LAPIDARY_BUILD
