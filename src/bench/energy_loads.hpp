#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "device/device.hpp"

namespace lapidary::bench {

/// What a card does of one thing, or of a few, launch after launch, and what that takes.
struct EnergyLoad {
  std::string name;     ///< "wgmma_bf16_n256"
  std::string meaning;  ///< in one sentence
  /// What it does in a second, over the whole card: "wgmma bf16 flop", "bytes into shared memory".
  std::map<std::string, double> per_second;
  std::optional<double> power_w;  ///< the mean of what NVML says of single moments, sustained
  double clock_mhz;               ///< the effective one, by clock64 over globaltimer, sustained
  double burst_clock_mhz;         ///< the same of the first launch after a rest
  double burst_share;             ///< what that launch did in a second, over what it does sustained
};

/// Loads the card with one thing after the other, each for some seconds behind a rest: from them follow the energy of
/// each thing and, of those that the power limit slows down, the voltage at the clocks that are left. None of them is
/// a matrix product. Operands are random normal numbers. For a GPU that does nothing else.
/// @param seconds  of each load
/// @param told     called with each as it has been measured
/// @throws DeviceError if a launch fails, InvalidArgument if memory is missing
std::vector<EnergyLoad> measure_energy(Device& gpu, double seconds,
                                       const std::function<void(const EnergyLoad&)>& told = {});

}  // namespace lapidary::bench
