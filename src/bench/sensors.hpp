#pragma once
#include <memory>
#include <optional>
#include <string>

namespace lapidary::bench {

/// What a card tells of itself at one moment.
struct CardState {
  double sm_clock_mhz, memory_clock_mhz;
  double power_w;
  double temperature_c;
};

/// The sensors of the current CUDA device, read through NVML, the library of nvidia-smi. It comes with the driver and
/// is loaded at run time; where it is missing or refuses, everything is unknown.
class Sensors {
 public:
  Sensors();
  ~Sensors();
  Sensors(const Sensors&) = delete;
  Sensors& operator=(const Sensors&) = delete;

  /// None if any of the sensors is unknown.
  std::optional<CardState> read() const;
  /// "580.95.05"
  std::optional<std::string> driver_version() const;
  /// That the card may reach; on some it is above the clock that CUDA names.
  std::optional<int> max_sm_clock_mhz() const;
  /// The limit that is in force, which may be below that of the card.
  std::optional<double> power_limit_w() const;

 private:
  struct Nvml;
  std::unique_ptr<Nvml> nvml_;
};

}  // namespace lapidary::bench
