#pragma once

namespace lapidary::emulator {

/// The threads of a block that a kernel's `__launch_bounds__` allow; 0 if it has none, or if Clang has compiled it.
unsigned launch_bounds(const void* kernel);

}  // namespace lapidary::emulator
