#pragma once
#include <atomic>
#include <compare>
#include <cstdint>

#include "device/stream.hpp"

namespace lapidary::library {

/// cudaStreamPerThread, by which each thread means a stream of its own. By its value: builds without CUDA have none of
/// its headers.
constexpr std::uintptr_t stream_per_thread = 2;

/// What tells streams apart.
struct StreamKey {
  const void *machine, *cuda;
  std::uint64_t thread;  ///< 0 unless the handle stands for another stream in each thread
  auto operator<=>(const StreamKey&) const = default;
};

/// The number of this thread, which no later one has: work on the stream of one that has ended may still go on.
inline std::uint64_t number_of_this_thread() {
  static std::atomic<std::uint64_t> threads = 0;
  thread_local const std::uint64_t number = ++threads;
  return number;
}

inline StreamKey key_of(const Stream& stream) {
  const bool per_thread = reinterpret_cast<std::uintptr_t>(stream.cuda) == stream_per_thread;
  return {stream.machine, stream.cuda, per_thread ? number_of_this_thread() : 0};
}

}  // namespace lapidary::library
