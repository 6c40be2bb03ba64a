#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <string_view>
#include <thread>
#include <vector>

namespace lapidary::bench {

/// Is told which step of a longer piece of work is under way and which share of it is done, 0 to 1, or less than 0
/// where nobody knows. Called from several threads at the same time.
using OnProgress = std::function<void(std::string_view step, double done)>;

/// Calls body(i) for each i in [0, count) on all cores. An exception of a call ends the work and is passed on.
template <class Body>
void parallel_for(std::int64_t count, const Body& body) {
  std::atomic<std::int64_t> next = 0;
  const auto work = [&] {
    try {
      for (std::int64_t i = next++; i < count; i = next++) body(i);
    } catch (...) {
      next = count;
      throw;
    }
  };
  const std::int64_t threads = std::min<std::int64_t>(count, std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::future<void>> others;
  for (std::int64_t t = 1; t < threads; ++t) others.push_back(std::async(std::launch::async, work));
  work();
  for (std::future<void>& other : others) other.get();
}

}  // namespace lapidary::bench
