#include "cli/interruption.hpp"

#include <signal.h>
#include <unistd.h>

#include <csignal>

namespace lapidary::cli {
namespace {

volatile std::sig_atomic_t seen = 0;
struct sigaction before;

// Nothing but what POSIX allows in a handler.
void remember(int) {
  seen = 1;
  constexpr char text[] = "\nlapidary: ends after what is being measured; Ctrl-C again ends at once\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, sizeof text - 1);
}

}  // namespace

Interruption::Interruption() {
  seen = 0;
  sigaction(SIGINT, nullptr, &before);
  if (before.sa_handler == SIG_IGN) return;
  struct sigaction action = {};
  action.sa_handler = remember;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, nullptr);
}

Interruption::~Interruption() { sigaction(SIGINT, &before, nullptr); }

bool Interruption::requested() const { return seen != 0; }

}  // namespace lapidary::cli
