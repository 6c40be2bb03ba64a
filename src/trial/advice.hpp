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
  double rate;  ///< sectors a request; wavefronts for each one that there has to be
};

/// The line that wastes most of each kind, of those that waste much: sectors, then banks.
std::vector<Advice> advice_of(const emulator::Report& report);

/// A line for a person, with the place.
std::string text_of(const Advice& advice);

}  // namespace lapidary::trial
