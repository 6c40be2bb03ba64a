#include "emulator/grid_order.hpp"

#include <algorithm>

namespace lapidary::emulator {

void GridOrder::begin_launch() {
  words_.clear();
  releases_ = 0;
}

void GridOrder::release(std::uintptr_t word, const Ended& ended) {
  const std::lock_guard lock(mutex_);
  Told& told = words_[word];
  told.number = ++releases_;
  for (const auto& [warp, interval] : ended) {
    std::uint32_t& last = told.ended[warp];
    last = std::max(last, interval);
  }
}

GridOrder::Told GridOrder::told(std::uintptr_t word, std::uint32_t known) {
  const std::lock_guard lock(mutex_);
  const auto found = words_.find(word);
  if (found == words_.end() || found->second.number == known) return {known, {}};
  return found->second;
}

}  // namespace lapidary::emulator
