#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "model/gpu.hpp"

// What a launch takes in energy, and which clock a card's limits leave of that. Calibrated by loads of one thing each
// and by products beside copies, none of them a matrix product (`lapidary calibrate --energy`, script/fit-energy).

namespace lapidary::model {

/// What a launch does of each thing that takes energy, by the names of results/<card>/power.json: "wgmma bf16 flop",
/// "bytes from L2". Sums are those of the whole launch.
using Activity = std::map<std::string, double, std::less<>>;

/// What a card takes. At a clock f it asks for
///
///   idle + (sum of energies) / time * (1 + voltage * (f / highest - 1))^2 + energy of what L2 and DRAM give / time
///
/// as what multiprocessors switch goes with the square of the voltage, and that with the clock on a line; L2, whose
/// bandwidth does not follow that clock either, and DRAM have voltages of their own. `highest` is the highest clock of
/// the card that it was measured on. Three things keep the clock down: tensor cores multiply at no more than
/// `tensor_clock`, whatever they take; in a burst the card lowers it in the first launch already, if all but DRAM asks
/// for more than `burst_limit`, where copies into shared memory count by the part `burst_copies`, or the whole card for
/// more than `burst_limit_all`; and launch after launch it is held at the power limit of its data sheet.
class PowerModel {
 public:
  /// @throws InvalidArgument naming the file if it is not one that script/fit-energy writes
  PowerModel(std::string_view json, std::string_view file);

  double tensor_clock_hz() const { return constant("tensor_clock") * 1e6; }

  /// That things of an activity take, in joules, by name; of what is 0 or has no energy on record nothing.
  std::map<std::string, double> joules(const Activity& activity, double clock_hz) const;
  /// That a card takes which does this activity again and again, each in so many seconds.
  double watts(const Activity& activity, double seconds, double clock_hz) const;
  /// Whether that is more than the card gives after a rest.
  bool exceeds_burst(const Activity& activity, double seconds, double clock_hz) const;

 private:
  double constant(std::string_view name) const;
  std::optional<double> energy(std::string_view thing) const;

  std::map<std::string, double, std::less<>> constants_;
  std::string file_;
};

/// That of a card, results/<card>/power.json; of another one of compute capability 9.0 that of the H100, whose chip it
/// has; of others none. @param measured  set to whether it is the card's own
std::optional<PowerModel> power_of(const Gpu& gpu, bool& measured);

/// A clock that a card's limits leave of a launch.
struct HeldClock {
  double clock_hz = 0;
  double seconds = 0;    ///< of the launch
  double watts = 0;      ///< that the card takes
  bool limited = false;  ///< by power: not by the highest clock of what the launch does
};

/// What limits a clock: what the card gives after a rest, or its power limit launch after launch.
enum class Load : std::uint8_t { burst, sustained };

/// The highest clock at which an activity takes no more than the limit; at the limit to a kilohertz.
/// @param highest     in hertz
/// @param seconds_at  of the launch at a clock; it takes no less at a lower one
HeldClock held_clock(const Gpu& gpu, const PowerModel& power, const Activity& activity, Load load, double highest,
                     const std::function<double(double clock_hz)>& seconds_at);

}  // namespace lapidary::model
