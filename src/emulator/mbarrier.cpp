#include "emulator/mbarrier.hpp"

namespace lapidary::emulator {

std::optional<MbarrierRefuses> Mbarrier::arrive(unsigned count) {
  using enum MbarrierRefuses::Why;
  if (count < 1 || count > most_arrivals) return MbarrierRefuses{arrivals_at_once, count, state()};
  if (count > pending_) return MbarrierRefuses{surplus_arrivals, count - pending_, state()};
  pending_ -= count;
  return std::nullopt;
}

std::optional<MbarrierRefuses> Mbarrier::expect(std::int64_t bytes) {
  const std::int64_t sum = transactions_ + bytes;
  if (sum > most_transactions || sum < -most_transactions)
    return MbarrierRefuses{MbarrierRefuses::Why::bytes, sum, state()};
  transactions_ = sum;
  return std::nullopt;
}

bool Mbarrier::end_phase_if_due() {
  if (pending_ != 0 || transactions_ != 0) return false;
  pending_ = expected_;
  ++phase_;
  join(completed, arrived);
  return true;
}

std::uint64_t Mbarrier::bits() const {
  return std::uint64_t{phase_ % 2} << 63 | static_cast<std::uint64_t>(expected_) << 42 |
         static_cast<std::uint64_t>(pending_) << 21 | (static_cast<std::uint64_t>(transactions_) & 0x1fffff);
}

}  // namespace lapidary::emulator
