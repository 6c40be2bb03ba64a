#pragma once
#include <array>
#include <cstddef>
#include <string>

#include "core/refusal.hpp"
#include "device/stream.hpp"

// Functions that are compiled in every build, as kernels are, and called by which of them a stream runs.

#if LAPIDARY_WITH_INSTRUMENTED
#define LAPIDARY_IF_INSTRUMENTED(...) __VA_ARGS__
#else
#define LAPIDARY_IF_INSTRUMENTED(...)
#endif
#if LAPIDARY_WITH_CUDA
#define LAPIDARY_IF_CUDA(...) __VA_ARGS__
#else
#define LAPIDARY_IF_CUDA(...)
#endif

/// Declares `function_built` with these parameters in each build that the program has, and the array
/// `function_by_build` of them, with null for those that it has not.
#define LAPIDARY_BY_BUILD(function, ...)                                                                             \
  namespace plain {                                                                                                  \
  void function##_built(__VA_ARGS__);                                                                                \
  }                                                                                                                  \
  LAPIDARY_IF_INSTRUMENTED(namespace instrumented { void function##_built(__VA_ARGS__); })                           \
  LAPIDARY_IF_CUDA(namespace gpu { void function##_built(__VA_ARGS__); })                                            \
  constexpr std::array<void (*)(__VA_ARGS__), 3> function##_by_build = [] {                                          \
    std::array<void (*)(__VA_ARGS__), 3> built{};                                                                    \
    built[static_cast<std::size_t>(Build::plain)] = plain::function##_built;                                         \
    LAPIDARY_IF_INSTRUMENTED(built[static_cast<std::size_t>(Build::instrumented)] = instrumented::function##_built;) \
    LAPIDARY_IF_CUDA(built[static_cast<std::size_t>(Build::gpu)] = gpu::function##_built;)                           \
    return built;                                                                                                    \
  }();

namespace lapidary {

/// That of a build, for a stream that runs it. @throws Refusal if the stream does not, or if there is none
template <class Function>
Function* function_of(const std::array<Function*, 3>& by_build, Build build, const Stream& stream) {
  require_stream_for(build, stream);
  if (Function* const function = by_build[static_cast<std::size_t>(build)]) return function;
  throw Refusal(RefusalId::device_build,
                std::string("this program has no ") + name_of(build) + " build of its kernels");
}

}  // namespace lapidary
