#pragma once
#include <string>
#include <vector>

#include "device/device.hpp"

namespace lapidary::bench {

/// A physical constant of a card, measured.
struct Constant {
  std::string name;         ///< "shared_latency"
  std::string unit;         ///< "cycles"
  std::string meaning;      ///< in one sentence
  double median, min, max;  ///< over repetitions
};

/// Measures what the time model is built on (model/calibration.hpp) by micro-benchmarks, of a GPU that does nothing
/// else. Takes some seconds.
/// @throws DeviceError if a launch fails, InvalidArgument if memory is missing
std::vector<Constant> calibrate(Device& gpu);

}  // namespace lapidary::bench
