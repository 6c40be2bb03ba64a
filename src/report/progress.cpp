#include "report/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/terminal.hpp"

namespace lapidary::report {
namespace {

constexpr std::chrono::seconds patience{2};
constexpr std::chrono::milliseconds refresh{200};

}  // namespace

std::string progress_line(std::string_view step, double done, double seconds) {
  const std::string time = fmt::format("{:.0f} s", seconds);
  if (!(done >= 0)) return fmt::format("{}  {}", step, time);
  constexpr int bar_width = 40;
  const double share = std::min(done, 1.0);
  const int filled = static_cast<int>(share * bar_width);
  return fmt::format("{}  [{:#<{}}{: <{}}]  {:.0f} %  {}", step, "", filled, "", bar_width - filled,
                     std::floor(share * 100), time);
}

Progress::Progress(std::FILE* stream) : stream_(stream) {
  if (is_terminal(stream)) drawer_ = std::thread([this] { draw_until_stopped(); });
}

Progress::~Progress() {
  if (!drawer_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  drawer_.join();
  wipe();
}

void Progress::update(std::string_view step, double done) {
  if (!drawer_.joinable()) return;
  const std::lock_guard lock(mutex_);
  step_ = step;
  done_ = done;
  paused_ = false;
}

void Progress::pause() {
  const std::lock_guard lock(mutex_);
  paused_ = true;
  wipe();
}

void Progress::wipe() {
  if (!shown_) return;
  std::fputs("\r\x1b[K", stream_);
  std::fflush(stream_);
  shown_ = false;
}

void Progress::draw_until_stopped() {
  std::unique_lock lock(mutex_);
  if (wake_.wait_until(lock, start_ + patience, [this] { return stop_; })) return;
  do {
    if (paused_) continue;
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
    fmt::print(stream_, "\r{}\x1b[K", progress_line(step_, done_, elapsed.count()));
    std::fflush(stream_);
    shown_ = true;
  } while (!wake_.wait_for(lock, refresh, [this] { return stop_; }));
}

}  // namespace lapidary::report
