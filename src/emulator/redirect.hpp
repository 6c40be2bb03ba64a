#pragma once
#include <ucontext.h>

#include <cstdint>

namespace lapidary::emulator {

/// Lets a thread that a signal has interrupted call a function, which does not return, as soon as the signal's handler
/// has: on its own stack, which is left as it is, or on one that ends at `stack`.
/// @returns the instruction where it was, or behind it
inline std::uintptr_t redirect(ucontext_t& context, void (*function)(), std::uintptr_t stack = 0) {
  const auto target = reinterpret_cast<std::uintptr_t>(function);
#if defined(__x86_64__)
  greg_t* const registers = context.uc_mcontext.gregs;
  const auto place = static_cast<std::uintptr_t>(registers[REG_RIP]);
  constexpr std::uintptr_t red_zone = 128;
  if (!stack) stack = static_cast<std::uintptr_t>(registers[REG_RSP]) - red_zone;
  stack = stack / 16 * 16 - 8;
  *reinterpret_cast<std::uintptr_t*>(stack) = place;  // as a call would have it
  registers[REG_RSP] = static_cast<greg_t>(stack);
  registers[REG_RIP] = static_cast<greg_t>(target);
#elif defined(__aarch64__)
  const std::uintptr_t place = context.uc_mcontext.pc;
  if (stack) context.uc_mcontext.sp = stack / 16 * 16;
  context.uc_mcontext.regs[30] = place;
  context.uc_mcontext.pc = target;
#else
#error "neither x86-64 nor AArch64"
#endif
  return place;
}

}  // namespace lapidary::emulator
