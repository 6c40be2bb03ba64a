#pragma once
#include <optional>

#include "library/cards.hpp"
#include "library/way.hpp"

namespace lapidary::library {

struct WayTime {
  double seconds = 0;
  const char* limiter = "";  ///< what the kernel's go to, or "copies" or "the second launch" if they take longer
};

/// How long a way is expected to take on a card at its highest clock: copies one after the other, then the kernel
/// and, if there is one, its second launch, for each product of a batch. By what the kernel asks of a multiprocessor
/// and of memory, without emulator or records; what L2 holds is taken from sizes instead of a simulation.
/// @returns nothing if no block of the kernel fits a multiprocessor, or if the card has no tensor cores for it
std::optional<WayTime> time_of(const Way& way, const Batch& batch, const BuiltInCard& card);

}  // namespace lapidary::library
