#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace lapidary::report {

/// A line at the foot of a terminal that tells how far a longer piece of work is. It appears once the work has taken
/// two seconds and is wiped out at the end. Where the stream is not a terminal nothing is ever written.
class Progress {
 public:
  explicit Progress(std::FILE* stream = stderr);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Tells which step is under way and which share of it is done, 0 to 1, or less than 0 where nobody knows. May be
  /// called from any thread, as often as one likes.
  void update(std::string_view step, double done);
  /// Wipes the line out, so that other output can be written; the next update brings it back.
  void pause();

 private:
  void draw_until_stopped();
  void wipe();

  std::FILE* stream_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  std::condition_variable wake_;
  std::string step_;
  double done_ = -1;
  bool paused_ = true, shown_ = false, stop_ = false;
  std::thread drawer_;  ///< last, so that it starts when everything else is there
};

/// The line itself: "shared_tiles  [#########           ]  45 %  12 s".
std::string progress_line(std::string_view step, double done, double seconds);

}  // namespace lapidary::report
