#include "emulator/loop_watch.hpp"

#include <unistd.h>
#include <csignal>
#include <cstdint>
#include <exception>

#include "emulator/block.hpp"
#include "emulator/cluster.hpp"
#include "emulator/recorder.hpp"
#include "emulator/redirect.hpp"

#if !defined(sigev_notify_thread_id)
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace lapidary::emulator {
namespace {

constexpr long tenth_ns = 100'000'000;

/// What changes with everything that a kernel does which the machine takes part in.
struct Progress {
  const void* lane = nullptr;
  const void* recorded = nullptr;
  std::uint64_t switches = 0;
  bool operator==(const Progress&) const = default;
};

/// Of the calling host thread.
constinit thread_local const ClusterRunner* watched = nullptr;
constinit thread_local Progress last{};
constinit thread_local std::uintptr_t stopped_at = 0;

/// Where a thread of the kernel goes on that is in an endless loop. Its stack is left as it is.
[[noreturn]] void stop_loop() {
  running->block->check_time(stopped_at + 1);  // return addresses are expected
  std::terminate();
}

// The machine's own functions are never interrupted for good: within a tenth of a second they come to an end.
void look(int, siginfo_t*, void* context) {
  if (!watched || !running || !watched->is_late()) return;
  const Progress now = {running, recorder.next, running->block->scheduler().switches()};
  if (now == last)
    stopped_at = redirect(*static_cast<ucontext_t*>(context), stop_loop);
  else
    last = now;
}

/// Whether this program's SIGURG is for looks.
bool handled() {
  struct sigaction action {};
  if (sigaction(SIGURG, nullptr, &action) != 0) return false;
  if (action.sa_flags & SA_SIGINFO) return action.sa_sigaction == look;
  if (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN) return false;
  action.sa_sigaction = look;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  return sigaction(SIGURG, &action, nullptr) == 0;
}

}  // namespace

LoopWatch::LoopWatch(const ClusterRunner& cluster, double limit_s) {
  if (!handled()) return;
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGURG;
  event.sigev_notify_thread_id = gettid();
  if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer_) != 0) return;
  watches_ = true;
  watched = &cluster;
  last = {};
  const auto seconds = static_cast<std::time_t>(limit_s);
  const auto rest_ns = static_cast<long>((limit_s - static_cast<double>(seconds)) * 1e9);
  // Never 0, which would be no timer.
  const itimerspec times = {.it_interval = {0, tenth_ns}, .it_value = {seconds, rest_ns + 1}};
  timer_settime(timer_, 0, &times, nullptr);
}

// A signal that was sent before has arrived when timer_delete() returns, as this thread is the one that gets it.
LoopWatch::~LoopWatch() {
  if (!watches_) return;
  timer_delete(timer_);
  watched = nullptr;
}

}  // namespace lapidary::emulator
