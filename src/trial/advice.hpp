#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "emulator/report.hpp"

namespace lapidary::trial {

/// A line of a kernel that wastes much of what the memory can do.
struct Advice {
  enum class Waste : std::uint8_t {
    sectors,        ///< of global memory: the lanes of a warp touch far more than their elements take
    bank_conflicts  ///< of shared memory
  };
  Waste waste;
  std::string file;
  int line;
  std::string memory;  ///< the matrix; empty for shared memory
  bool store;
  /// Sectors or wavefronts of the one instruction that is farthest above its minimum, and that.
  int units, minimum;
  bool alike;  ///< all instructions of the line that access this memory so take as many
};

/// The accesses that waste most of each kind, of those that waste much: sectors, then banks. Those of one line to
/// several matrices, and of several widths, are apart: of their mean no instruction is an example.
std::vector<Advice> advice_of(const emulator::Report& report);

/// A line for a person, with the place.
std::string text_of(const Advice& advice);

}  // namespace lapidary::trial
