#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "emulator/lane.hpp"
#include "emulator/race_detector.hpp"

namespace lapidary::emulator {

class AccessChecker;
class AccessLog;
class ClusterRunner;
class FaultStop;
class Warpgroups;
enum class BulkKind : std::uint8_t;

/// What one block tells the race detector of its cluster: accesses, and what orders them; and who of its threads has
/// executed a proxy fence. A race or a missing fence stops the kernel. In runs that do not check, is_on() is false:
/// what orders accesses and hands them over does nothing then, and copies and wgmma are not to be told of.
class RaceChecker {
 public:
  RaceChecker(const BlockPlace& place, ClusterRunner& cluster, AccessLog& log, AccessChecker& checker,
              const Warpgroups& warpgroups, FaultStop& faults);

  void begin();
  bool is_on() const { return races_ != nullptr; }

  unsigned party(const Warp& warp) const { return races_->party(place_.rank, warp.id); }

  // Accesses that the detector has not seen yet.
  void examine(const Warp& warp);
  void examine(const Lane& lane);
  // Likewise where the lane, or one of the warp, is running.
  void hand_over(const Lane& lane);
  void hand_over(const Warp& warp);

  // What orders accesses; see RaceDetector.
  void synchronise(const Warp& warp, std::uint32_t lanes) {
    if (races_) races_->synchronise(party(warp), lanes, lanes == warp.alive);
  }
  void release(const Warp& warp, Clock& barrier) {
    if (races_) races_->release(party(warp), barrier);
  }
  void release_mbarriers(const Warp& warp, Clock& barrier) {
    if (races_) races_->release_mbarriers(party(warp), barrier);
  }
  void acquire(const Warp& warp, const Clock& barrier) {
    if (races_) races_->acquire(party(warp), barrier);
  }
  /// Before the running lane reads global memory that the kernel must not have written.
  void check_read_only(std::uintptr_t address, unsigned bytes, std::uintptr_t pc);
  /// fence.mbarrier_init of the running lane.
  void fence_mbarriers();
  /// fence.proxy.async of the running lane.
  void fence_proxy();
  /// __threadfence of the running lane: of its block, or of the whole device.
  void fence(bool device);

  /// An access of the running lane that no log has: it is seen at once, after those that the log has.
  void touch(const Event& event);
  /// The same of a load that may be a guess: it is seen before whatever the lane does next, if it is not forgiven.
  void put_off(const Event& load);
  /// A strong access of the running lane, before it is made. Nobody else looks at what the log has of it.
  void touch_strong(const Event& event);
  /// Forgets a plain load of the word that atomicCAS is going to compare, if the running lane has done nothing but load
  /// since: what it has found is a guess, and the comparison tells (CUDA Programming Guide, "Atomic Functions").
  void forgive_guess(const Event& compare);
  /// The lane has read a word by a strong access, or is just going to: what the word tells is known to it from then on.
  void told_by(const Lane& lane, const Event& event) { told_by_[lane.thread] = event; }
  // Takes note that the running lane reaches shared memory of another block: now, or before it released a barrier
  // there; or that a copy does.
  void reach(unsigned rank, std::uintptr_t pc);
  void reach(unsigned rank, const Clock& released, std::uintptr_t pc);
  void reach(unsigned rank, const RaceDetector::Copy& copy, std::uintptr_t pc);

  // Asynchronous copies and wgmma, which the running lane, or lane 0 of its warp, issues.
  RaceDetector::Copy begin_copy(std::uintptr_t end) { return races_->begin_copy(end); }
  void touch_by_copy(const RaceDetector::Copy& copy, const Event& event);
  void touch_by_wgmma(const RaceDetector::Copy& product, std::uintptr_t chunk, std::uintptr_t pc);
  void end_copy(const RaceDetector::Copy& copy, const Warp& warp) {
    if (races_) races_->end_copy(copy, party(warp));
  }
  void end_copy(const RaceDetector::Copy& copy, Clock& barrier) {
    if (races_) RaceDetector::end_copy(copy, barrier);
  }
  /// What ordinary stores have written is seen by bulk copies and wgmma, the asynchronous proxy, or is overwritten by
  /// them, if who wrote it has executed fence.proxy.async since, and if they are ordered after that.
  /// @param by  none: wgmma
  void check_fence(std::uintptr_t address, unsigned bytes, std::optional<BulkKind> by, std::uintptr_t pc);
  /// The interval of the running lane's warp, of which it tells others by ordering them after itself.
  std::uint32_t interval() const { return races_ ? races_->interval(party(*running->warp)) : 0; }
  /// Whether the running lane is ordered after what another one did in an interval.
  bool knows(const Lane& other, std::uint32_t interval) const;

 private:
  void acquire_word(const Lane& lane);
  void add(const Lane& lane, const Event* first, const Event* last);
  unsigned thread_of_cluster(unsigned thread) const { return place_.rank * LaunchLimits::threads + thread; }
  void check_begun(unsigned rank, std::uintptr_t pc);
  std::uint32_t fences_of(const Lane& lane) const { return static_cast<std::uint32_t>(fences_[lane.thread].size()); }
  [[noreturn]] void stop(const Race& race);

  const BlockPlace& place_;
  ClusterRunner& cluster_;
  RaceDetector* races_;  ///< of the cluster
  AccessLog& log_;
  AccessChecker& checker_;
  const Warpgroups& warpgroups_;
  FaultStop& faults_;
  /// By thread: the intervals of its warp in which it has executed fence.proxy.async.
  std::vector<std::vector<std::uint32_t>> fences_{LaunchLimits::threads};
  /// By thread: the strong read behind which its later accesses are. It counts from the time when these are examined,
  /// as it is told of before it is made, and another host thread may write in between.
  std::vector<std::optional<Event>> told_by_{LaunchLimits::threads};
  std::vector<std::optional<Event>> put_off_{LaunchLimits::threads};  ///< by thread
};

}  // namespace lapidary::emulator
