#include "emulator/mbarrier.hpp"

#include <fmt/format.h>

namespace lapidary::emulator {

std::string Mbarrier::arrive(unsigned count) {
  if (count < 1 || count > most_arrivals)
    return fmt::format("an mbarrier counts {} arrivals at once; 1 to {} are legal", count, most_arrivals);
  if (count > pending_)
    return fmt::format("an mbarrier gets {} {} more than the phase waits for: {}", count - pending_,
                       count - pending_ == 1 ? "arrival" : "arrivals", describe());
  pending_ -= count;
  return "";
}

std::string Mbarrier::expect(std::int64_t bytes) {
  const std::int64_t sum = transactions_ + bytes;
  if (sum > most_transactions || sum < -most_transactions)
    return fmt::format("an mbarrier has {} bytes pending; {} to {} are legal", sum, -most_transactions,
                       most_transactions);
  transactions_ = sum;
  return "";
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

std::string Mbarrier::describe() const {
  return fmt::format("phase {} has {} of {} arrivals and {} bytes pending", phase_, pending_, expected_, transactions_);
}

}  // namespace lapidary::emulator
