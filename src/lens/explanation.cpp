#include "lens/explanation.hpp"

#include <fmt/format.h>

namespace lapidary::lens {

double steps_in_flight(const Explanation& e) {
  const TileShape& tile = e.question.kernel->tile;
  const double step = static_cast<double>(tile.m + tile.n) * tile.k * size_of(e.question.kernel->kind.type);
  return step > 0 ? static_cast<double>(e.observation.written.bytes_in_flight) / step : 0;
}

std::string unknown_rate_text(const Peak& peak, const model::Gpu& gpu) {
  return fmt::format("no source states the rate of {} on {}: those of its data sheet are of tcgen05", peak.name,
                     gpu.name);
}

bool takes_recorded_path(const Explanation& e) {
  const Question& q = e.question;
  if (!e.compiled || e.compiled->problems == "all") return e.compiled.has_value();
  const std::int64_t lanes = 16 / size_of(q.kernel->kind.type);
  return q.problem.K % lanes == 0 && q.problem.N % lanes == 0;
}

}  // namespace lapidary::lens
