#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "model/gpu.hpp"
#include "model/multiprocessor.hpp"

namespace lapidary::model {

/// The physical constants of a card, as `lapidary calibrate` measures them by micro-benchmarks.
class Calibration {
 public:
  /// @throws InvalidArgument naming the file if it is not one that `lapidary calibrate` writes
  explicit Calibration(std::string_view json, std::string_view file);

  /// The median of a constant. @throws InvalidArgument if the file lacks it
  double operator[](std::string_view name) const;

  /// For a kernel whose main loop takes that many bytes of code, run by that many warps of a multiprocessor.
  MultiprocessorConstants multiprocessor(double code_bytes, int warps) const;

 private:
  std::map<std::string, double, std::less<>> constants_;
  std::string file_;
};

/// The calibration of a card, results/<card>/calibration.json; of a card without one the nearest that there is: that of
/// the H200. @param measured  set to whether it is the card's own
Calibration calibration_of(const Gpu& gpu, bool& measured);

}  // namespace lapidary::model
