#pragma once
#include <cstdint>

namespace lapidary::emulator {

/// What of the program itself, or of a library that it has loaded, an address belongs to.
enum class ProgramImage : std::uint8_t {
  none,
  constant,  ///< code and read-only data, which a GPU keeps in constant memory
  variable,  ///< static variables, of which `__device__` ones are a GPU's global memory
};
ProgramImage image_at(std::uintptr_t address);

}  // namespace lapidary::emulator
