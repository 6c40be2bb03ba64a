#include "emulator/residents.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace lapidary::emulator {

void Residents::enter(Resident& resident) {
  const std::lock_guard lock(mutex_);
  resident.idle_polls = 0;
  resident.has_turn = true;
  residents_.push_back(&resident);
}

void Residents::leave(Resident& resident) {
  const std::lock_guard lock(mutex_);
  residents_.remove(&resident);
  pass_turn();
}

void Residents::pass_turn() {
  if (waiting_.empty()) return;
  Resident& next = *waiting_.front();
  waiting_.pop_front();
  next.has_turn = true;
  next.turn.notify_one();
}

bool Residents::give_way(Resident& resident, unsigned most_idle) {
  std::unique_lock lock(mutex_);
  if (stopped_) return false;
  const bool all_idle = std::all_of(residents_.begin(), residents_.end(),
                                    [&](const Resident* one) { return one->idle_polls >= most_idle; });
  const bool others_run = residents_.size() - waiting_.size() > 1;
  if (residents_.size() < most_ && start_()) {
    // The new host thread has this one's turn.
  } else if (all_idle) {
    return false;
  } else if (!waiting_.empty()) {
    pass_turn();
  } else {
    lock.unlock();
    if (others_run) std::this_thread::sleep_for(std::chrono::microseconds(20));
    return true;
  }
  resident.has_turn = false;
  waiting_.push_back(&resident);
  resident.turn.wait(lock, [&] { return resident.has_turn || stopped_; });
  return !stopped_;
}

void Residents::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  for (Resident* const one : waiting_) one->turn.notify_one();
}

}  // namespace lapidary::emulator
