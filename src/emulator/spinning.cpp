#include "emulator/spinning.hpp"

#include <algorithm>
#include <cstring>

#include "emulator/cluster.hpp"
#include "emulator/scheduler.hpp"

namespace lapidary::emulator {
namespace {

// After so many looks at words that are each time others, a thread lets others go first all the same.
constexpr unsigned most_looks = 256;

std::uint64_t value_of(std::uintptr_t word, unsigned bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, reinterpret_cast<const void*>(word), std::min<std::size_t>(bytes, sizeof(value)));
  return value;
}

}  // namespace

void Spinning::begin() {
  if (used_) threads_.assign(LaunchLimits::threads, {});
  used_ = false;
}

void Spinning::look(std::uintptr_t word, unsigned bytes, std::uintptr_t pc) {
  used_ = true;
  Thread& thread = threads_[running->thread];
  Look& last = thread.looks[word / 4 % thread.looks.size()];
  Look now{word, value_of(word, bytes)};
  if (now == last || ++thread.count % most_looks == 0) {
    suspend(pc);
    now.value = value_of(word, bytes);
  }
  if (now == last) return;
  last = now;
  cluster_.changed();
}

void Spinning::sleep(std::uintptr_t pc) {
  used_ = true;
  suspend(pc);
}

void Spinning::be_overtaken() {
  if (auto* const random = scheduler_.random(); random && (*random)() % 4 == 0)
    scheduler_.suspend(*running, LaneState::ready);
}

void Spinning::suspend(std::uintptr_t pc) {
  threads_[running->thread].pc = pc;
  scheduler_.suspend(*running, LaneState::spinning);
}

}  // namespace lapidary::emulator
