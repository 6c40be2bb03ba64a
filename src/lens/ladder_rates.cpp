#include "lens/ladder_rates.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "lens/explain.hpp"
#include "lens/rung_record.hpp"
#include "model/roofline.hpp"

namespace lapidary::lens {
namespace {

std::optional<double> peer_flops(const model::Gpu& gpu, std::string_view type) {
  std::vector<double> rates;
  for (const model::MeasuredRate& rate : model::measured_rates(gpu))
    if (rate.size == page_size && rate.mode == "burst" && rate.type == type && rate.cublas_flops)
      rates.push_back(*rate.cublas_flops);
  if (rates.empty()) return std::nullopt;
  std::nth_element(rates.begin(), rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2), rates.end());
  return rates[rates.size() / 2];
}

}  // namespace

std::optional<model::PredictedTime> fastest_tile(const model::Predictions& all, const Rung& rung) {
  std::optional<model::PredictedTime> best;
  for (const model::PredictedTime& time : all.times)
    if (time.kernel == rung.name() && time.type == to_string(rung.kernels.front().kind) && time.size == page_size &&
        (!best || time.measured_s < best->measured_s))
      best = time;
  return best;
}

std::vector<LadderFloor> ladder_floors(const model::Gpu& gpu) {
  const model::Predictions all = model::recorded_predictions(gpu);
  const double tensor = model::tensor_peak(gpu, model::tensor_flop_per_clk(gpu, Type::bf16));
  LadderFloor cuda{"f32", model::ceilings(gpu).f32_flops, peer_flops(gpu, "f32"), {}};
  LadderFloor cores{"bf16", tensor, peer_flops(gpu, "bf16"), {}};
  for (const Rung& rung : whole_ladder()) {
    const auto best = fastest_tile(all, rung);
    const bool simt = rung.family == "simt";
    // Of FP8, whose ceiling is another one, there is a single rung.
    if (best && (simt || rung.kernels.front().kind.type == Type::bf16)) (simt ? cuda : cores).times.push_back(*best);
  }
  std::vector<LadderFloor> floors = {cuda};
  if (!cores.times.empty() && tensor > 0) floors.push_back(cores);
  return floors;
}

}  // namespace lapidary::lens
