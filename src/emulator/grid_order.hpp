#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace lapidary::emulator {

/// What orders accesses of different clusters of a grid: words of global memory, by which their threads tell each other
/// how far they have come. Shared by all host threads of a launch.
class GridOrder {
 public:
  /// Of each warp, by its block and itself, the last interval that is known to have ended.
  using Ended = std::map<std::pair<std::uint32_t, unsigned>, std::uint32_t>;

  /// Before a launch.
  void begin_launch();
  /// Adds to what a word tells.
  void release(std::uintptr_t word, const Ended& ended);
  /// How often any word has been told of since the launch began.
  std::uint32_t releases() const { return releases_.load(std::memory_order_relaxed); }

  struct Told {
    std::uint32_t number = 0;  ///< releases() at the last release to the word; 0: there was none
    Ended ended;
  };
  /// What a word tells; nothing if it has told no more since the release of number `known`.
  Told told(std::uintptr_t word, std::uint32_t known);

 private:
  std::mutex mutex_;
  std::atomic<std::uint32_t> releases_{0};
  std::unordered_map<std::uintptr_t, Told> words_;
};

}  // namespace lapidary::emulator
