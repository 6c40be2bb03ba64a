#pragma once
#include <cstdint>
#include <optional>

#include "emulator/call_site.hpp"
#include "emulator/fault.hpp"
#include "emulator/race_detector.hpp"

namespace lapidary::emulator {

/// The state of an mbarrier (PTX ISA, "mbarrier"): arrivals and transactions that the current phase still waits for. A
/// phase ends when neither is left; the next one begins with all arrivals pending. What an operation is refused for is
/// its result, none if it is legal.
class Mbarrier {
 public:
  static constexpr std::int64_t most_arrivals = (1 << 20) - 1, most_transactions = (1 << 20) - 1;

  Mbarrier() = default;
  Mbarrier(unsigned arrivals, CallSite where) : where_(where), expected_(arrivals), pending_(arrivals) {}

  std::optional<MbarrierRefuses> arrive(unsigned count);
  /// Bytes that the phase waits for; negative where they have come. What is pending may be negative too: copies may be
  /// faster than who expects them, whose arrival is pending then.
  std::optional<MbarrierRefuses> expect(std::int64_t bytes);
  /// Ends the phase if nothing is pending. @returns whether it did
  bool end_phase_if_due();

  /// Whether the phase of this parity that may be asked for, the current or the previous one, is complete.
  bool is_complete(unsigned parity) const { return phase_ % 2 != parity; }
  std::int64_t transactions() const { return transactions_; }
  CallSite where() const { return where_; }

  /// The 64 bits in shared memory: phase, expected and pending arrivals, transactions, from the top.
  std::uint64_t bits() const;
  MbarrierState state() const { return {phase_, pending_, expected_, transactions_}; }

  Clock arrived;    ///< what those know who arrived in the current phase
  Clock completed;  ///< ... and in the previous ones

 private:
  CallSite where_{};
  std::uint32_t phase_ = 0;  ///< how many are complete
  std::int64_t expected_ = 0, pending_ = 0, transactions_ = 0;
};

}  // namespace lapidary::emulator
