#include "emulator/async_copies.hpp"

#include <algorithm>
#include <cstring>

#include "emulator/access_checker.hpp"
#include "emulator/access_log.hpp"
#include "emulator/block.hpp"
#include "emulator/fault_stop.hpp"
#include "emulator/machine.hpp"
#include "emulator/scheduler.hpp"

namespace lapidary::emulator {

void AsyncCopy::arrive() {
  if (arrived) return;
  std::memcpy(shared, global, source_bytes);
  std::memset(shared + source_bytes, 0, bytes - source_bytes);
  arrived = true;
}

AsyncCopies::AsyncCopies(const Options& options, Scheduler& scheduler, SharedMemory& shared, AccessChecker& checker,
                         AccessLog& log, FaultStop& faults)
    : options_(options), scheduler_(scheduler), shared_(shared), checker_(checker), log_(log), faults_(faults) {}

void AsyncCopies::begin(unsigned threads) {
  for (unsigned i = 0; i < threads; ++i) {
    threads_[i].copies.clear();
    threads_[i].group = 0;
    threads_[i].bytes = threads_[i].most_bytes = 0;
  }
}

void AsyncCopies::issue(const AsyncCopy& copy) {
  Thread& thread = threads_[running->thread];
  const std::uintptr_t shared = address_of(copy.shared), global = address_of(copy.global);
  if (copy.bytes != 4 && copy.bytes != 8 && copy.bytes != 16) faults_.stop(AsyncCopyBytes{copy.bytes}, copy.pc);
  if (copy.source_bytes > copy.bytes) faults_.stop(AsyncCopySource{copy.source_bytes, copy.bytes}, copy.pc);
  if (shared_.offset(shared) == SharedMemory::npos) faults_.stop(RuleBroken{Rule::async_copy_target}, copy.pc);
  if (log_.is_on()) {
    checker_.check_alignment(shared, copy.bytes, copy.bytes, Access::async_issue, copy.pc);
    checker_.check_alignment(global, copy.bytes, copy.bytes, Access::async_copy, copy.pc);
    if (options_.check) {
      checker_.check_bounds(shared, copy.bytes, Access::async_issue, copy.pc);
      shared_.set_state(shared, copy.bytes, ByteState::in_flight);
    }
    if (copy.source_bytes) running->block->record(global, copy.source_bytes, Access::async_copy, copy.pc);
    log_.add(Event(shared, copy.bytes, Access::async_issue, copy.pc));
  }
  std::memset(copy.shared, 0xff, copy.bytes);
  thread.copies.push_back(copy);
  thread.copies.back().group = thread.group;
  thread.bytes += copy.bytes;
  thread.most_bytes = std::max(thread.most_bytes, thread.bytes);
  if (auto* const random = scheduler_.random(); random && (*random)() % 2) thread.copies.back().arrive();
}

void AsyncCopies::wait(unsigned pending) {
  Thread& thread = threads_[running->thread];
  std::size_t done = 0;
  while (done < thread.copies.size() && thread.copies[done].group + pending < thread.group) {
    AsyncCopy& copy = thread.copies[done++];
    copy.arrive();
    thread.bytes -= copy.bytes;
    if (!log_.is_on()) continue;
    const std::uintptr_t shared = address_of(copy.shared);
    if (options_.check) shared_.set_state(shared, copy.bytes, ByteState::written);
    log_.add(Event(shared, copy.bytes, Access::async_arrival, copy.pc));
  }
  thread.copies.erase(thread.copies.begin(), thread.copies.begin() + static_cast<std::ptrdiff_t>(done));
}

std::uint64_t AsyncCopies::most_bytes() const {
  std::uint64_t bytes = 0;
  for (unsigned i = 0; i < scheduler_.threads(); ++i) bytes += threads_[i].most_bytes;
  return bytes;
}

}  // namespace lapidary::emulator
