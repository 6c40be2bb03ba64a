#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <utility>

namespace lapidary::emulator {

/// The clusters of a launch that are on the machine at a time. Each is on a host thread of its own, of which as many
/// run at a time as the launch began with. A cluster whose threads do nothing but spin gives way to others, to those
/// first that have not begun: what they spin on may be for these to write.
class Residents {
 public:
  /// @param most   clusters that are on the machine at a time
  /// @param start  starts a host thread for a cluster that has not begun; false if there is none
  Residents(unsigned most, std::function<bool()> start) : most_(most), start_(std::move(start)) {}

  class Resident {
   public:
    /// How often the cluster has found nothing changed, without interruption. Its host thread writes it.
    std::atomic<unsigned> idle_polls{0};

   private:
    friend Residents;
    bool has_turn = true;
    std::condition_variable turn;
  };

  /// A host thread begins, which has a turn to run, and ends.
  void enter(Resident& resident);
  void leave(Resident& resident);

  /// Lets others run. Returns when it is this one's turn again: false if all have polled in vain `most_idle` times, or
  /// if the launch has failed.
  bool give_way(Resident& resident, unsigned most_idle);
  /// The launch has failed.
  void stop();

 private:
  void pass_turn();

  const unsigned most_;
  const std::function<bool()> start_;
  std::mutex mutex_;
  std::list<Resident*> residents_, waiting_;  ///< in the order in which they began, and gave way
  bool stopped_ = false;
};

}  // namespace lapidary::emulator
