#include "emulator/host_traps.hpp"

#include <csignal>
#include <exception>
#include <optional>
#include <span>

#include "emulator/block.hpp"
#include "emulator/redirect.hpp"
#include "emulator/symbols.hpp"

namespace lapidary::emulator {
namespace {

constexpr std::size_t stack_bytes = 64 * 1024;

/// Of the calling host thread.
constinit thread_local std::uintptr_t trapped_at = 0;

// Where a thread of a kernel goes on. Return addresses are expected.
[[noreturn]] void stop_division() {
  running->block->faults().stop(RuleBroken{Rule::division}, trapped_at + 1);
  std::terminate();
}
[[noreturn]] void stop_recursion() {
  BlockRunner& block = *running->block;
  const StackFull found{block.scheduler().stack_of(*running).size()};
  // It may have been in the machine that the stack came to its end, where the last access is logged.
  const std::optional<SourceLine> line = source_line(trapped_at + 1);
  const std::uintptr_t pc = line && !line->file.empty() ? trapped_at + 1 : block.log().last_pc(*running);
  block.faults().stop(found, pc);
  std::terminate();
}

void take_trap(int signal, siginfo_t* about, void* context) {
  auto& interrupted = *static_cast<ucontext_t*>(context);
  if (running && signal == SIGFPE) {
    trapped_at = redirect(interrupted, stop_division);
    return;
  }
  if (running && signal == SIGSEGV) {
    const Scheduler& scheduler = running->block->scheduler();
    if (scheduler.is_guard(reinterpret_cast<std::uintptr_t>(about->si_addr))) {
      const std::span<unsigned char> stack = scheduler.stack_of(*running);
      trapped_at = redirect(interrupted, stop_recursion, reinterpret_cast<std::uintptr_t>(stack.data() + stack.size()));
      return;
    }
  }
  // Not a kernel's doing: it comes again, and ends the program as if nobody had looked.
  std::signal(signal, SIG_DFL);
}

void handle(int signal) {
  struct sigaction action {};
  if (sigaction(signal, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) return;
  action.sa_sigaction = take_trap;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(signal, &action, nullptr);
}

}  // namespace

HostTraps::HostTraps() {
  stack_t stack{};
  if (sigaltstack(nullptr, &stack) == 0 && (stack.ss_flags & SS_DISABLE)) {
    stack_ = std::make_unique<std::byte[]>(stack_bytes);
    stack = {.ss_sp = stack_.get(), .ss_flags = 0, .ss_size = stack_bytes};
    sigaltstack(&stack, nullptr);
  }
  handle(SIGFPE);
  handle(SIGSEGV);
}

HostTraps::~HostTraps() {
  if (!stack_) return;
  const stack_t none = {.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
  sigaltstack(&none, nullptr);
}

}  // namespace lapidary::emulator
