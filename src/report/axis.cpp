#include "report/axis.hpp"

#include <algorithm>
#include <cstddef>

namespace lapidary::report {

std::vector<double> spread(std::vector<double> positions, double gap, double least, double most) {
  // Runs of positions that are `gap` apart, each centred on what it was made of; runs that meet become one.
  struct Run {
    double sum;  // of where each would put the run's first one
    std::size_t count;
    double first(double gap, double least, double most) const {
      const double last_first = most - gap * static_cast<double>(count - 1);
      return std::max(std::min(sum / static_cast<double>(count), last_first), least);
    }
  };
  std::vector<Run> runs;
  for (const double position : positions) {
    runs.push_back({position, 1});
    while (runs.size() > 1) {
      Run &before = runs[runs.size() - 2], &last = runs.back();
      const double reach = gap * static_cast<double>(before.count);
      if (before.first(gap, least, most) + reach <= last.first(gap, least, most)) break;
      before.sum += last.sum - reach * static_cast<double>(last.count);
      before.count += last.count;
      runs.pop_back();
    }
  }
  std::size_t i = 0;
  for (const Run& run : runs) {
    const double first = run.first(gap, least, most);
    for (std::size_t n = 0; n < run.count; ++n) positions[i++] = first + gap * static_cast<double>(n);
  }
  return positions;
}

}  // namespace lapidary::report
