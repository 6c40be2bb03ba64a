#include "emulator/launch_bounds.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/launch_shape.hpp"

// Where functions begin that have no-operations in front of them (GCC, "patchable_function_entry"): with as many as its
// launch bounds allow threads, each kernel that has any. The linker knows where the list begins and ends.
extern "C" [[gnu::weak, gnu::visibility("hidden")]] const std::uintptr_t __start___patchable_function_entries[],
    __stop___patchable_function_entries[];

namespace lapidary::emulator {
namespace {

#if defined(__aarch64__)
using Instruction = std::uint32_t;
constexpr Instruction no_operation = 0xd503201f;
#else
using Instruction = std::uint8_t;
constexpr Instruction no_operation = 0x90;
#endif

}  // namespace

unsigned launch_bounds(const void* kernel) {
  const auto entry = reinterpret_cast<std::uintptr_t>(kernel);
  std::uintptr_t nearest = 0;
  for (const std::uintptr_t* first = __start___patchable_function_entries; first != __stop___patchable_function_entries;
       ++first)
    if (*first < entry) nearest = std::max(nearest, *first);
  if (entry - nearest > LaunchLimits::threads * sizeof(Instruction)) return 0;
  const auto* const begin = reinterpret_cast<const Instruction*>(nearest);
  const auto* const end = static_cast<const Instruction*>(kernel);
  // Those of a function in front of this one, which has none, would have its code behind them.
  return std::all_of(begin, end, [](Instruction one) { return one == no_operation; })
             ? static_cast<unsigned>(end - begin)
             : 0;
}

}  // namespace lapidary::emulator
