#pragma once
#include <cmath>
#include <vector>

namespace lapidary::report {

/// A logarithmic axis: `low` is at pixel `from`, `high` at pixel `to`, and equal ratios are equally far apart.
struct LogAxis {
  double low, high;  ///< above 0
  double from, to;

  double at(double value) const { return from + std::log(value / low) / std::log(high / low) * (to - from); }

  /// The powers of ten on the axis, ascending.
  std::vector<double> decades() const {
    std::vector<double> found;
    // Counted in whole exponents: products of tenths would miss the ends.
    const double slack = 1e-9;
    for (int e = static_cast<int>(std::ceil(std::log10(low) - slack)); e <= std::log10(high) + slack; ++e) {
      found.push_back(std::pow(10.0, e));
    }
    return found;
  }
};

/// Moves positions that ascend apart until neighbours are at least `gap` from each other, as little as that takes for
/// each run of neighbours that meet, and keeps them in [least, most] if they fit.
std::vector<double> spread(std::vector<double> positions, double gap, double least, double most);

}  // namespace lapidary::report
