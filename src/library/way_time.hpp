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

/// What no way to compute a resolved problem by a kernel is expected to take less than, found in a fraction of the time
/// that a way and its time take: multiplying, or what comes of operands, and results. Who asks for the quickest way
/// alone need not weigh those of kernels for which that is too long already.
class LeastTimes {
 public:
  LeastTimes(const Problem& problem, const BuiltInCard& card);
  /// @returns seconds; 0 of kernels of which so little is known
  double of(const LibraryKernel& kernel) const;

 private:
  Problem product_;  ///< one of the batch
  double count_;     ///< of them
  int multiprocessors_;
  bool is_measured_;           ///< times are of the card's chip
  double slower_, bandwidth_;  ///< its clock's period and its memory, by those of what was measured
  const int* resident_;        ///< of library_kernels(), blocks on a multiprocessor
};

}  // namespace lapidary::library
