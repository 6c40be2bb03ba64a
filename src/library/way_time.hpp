#pragma once
#include <optional>

#include "library/cards.hpp"
#include "library/way.hpp"

namespace lapidary::library {

struct WayTime {
  double seconds = 0;
  const char* limiter = "";  ///< what the kernel's go to, or "copies" or "the second launch" if they take longer
  /// The kernel begins when the launch in front of it has ended, though it could begin before.
  bool waits = false;
};

/// How long a way is expected to take on a card at its highest clock: copies one after the other, then the kernel
/// and, if there is one, its second launch, for each product of a batch. By what the kernel asks of a multiprocessor
/// and of memory, without emulator or records; what L2 holds is taken from sizes instead of a simulation.
/// @param waits  whether a kernel that could begin before waits; nothing: as is expected to be quicker
/// @returns nothing if no block of the kernel fits a multiprocessor, or if the card has no tensor cores for it
std::optional<WayTime> time_of(const Way& way, const Batch& batch, const BuiltInCard& card,
                               std::optional<bool> waits = {});

}  // namespace lapidary::library
