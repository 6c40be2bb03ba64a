#pragma once
#include <cstdint>

namespace lapidary::emulator::abi {

/// A fault: assert() of a running CUDA thread has found its condition false. `pc` is where it was called from.
[[noreturn]] void assertion_failed(const char* condition, std::uintptr_t pc);
/// A fault: __trap().
[[noreturn]] void trap();

}  // namespace lapidary::emulator::abi
