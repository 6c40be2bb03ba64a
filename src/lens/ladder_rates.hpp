#pragma once
#include <optional>
#include <string>
#include <vector>

#include "kernels/registry.hpp"
#include "model/gpu.hpp"
#include "model/measured.hpp"

namespace lapidary::lens {

/// The fastest tile of a rung's first type at page_size, by what was measured.
std::optional<model::PredictedTime> fastest_tile(const model::Predictions& all, const Rung& rung);

/// Kernels of the ladder that multiply with the same units, and what those reach.
struct LadderFloor {
  std::string units;           ///< "f32", "bf16"
  double ceiling;              ///< FLOP/s
  std::optional<double> peer;  ///< FLOP/s of cuBLAS at page_size, the median over its runs beside the rungs
  std::vector<model::PredictedTime> times;  ///< of the fastest tiles, in the order of the ladder
};

/// CUDA cores, and tensor cores where the card has them and some kernel was timed on them.
std::vector<LadderFloor> ladder_floors(const model::Gpu& gpu);

}  // namespace lapidary::lens
