#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/gpu.hpp"

namespace lapidary::model {

/// A rate of a kernel as results/*/ladder.json and its neighbours record it: M = N = K = size, medians in FLOP/s.
struct MeasuredRate {
  std::string id;                  ///< KernelEntry::id
  std::string kernel, type, tile;  ///< as the ladder writes them: "vectorized", "f32", "128x128x8"
  std::string mode;                ///< "burst" or "sustained"
  std::int64_t size;
  double flops;
  std::optional<double> cublas_flops;  ///< of cuBLAS in turns with it
};

/// What was measured on such a card, once for each id, mode and size; nothing if none was.
/// @throws Error if a file is not what `lapidary bench` writes
std::vector<MeasuredRate> measured_rates(const Gpu& gpu);

/// A time that was predicted and measured, as script/predict records it; M = N = K = size.
struct PredictedTime {
  /// Of one of the two that a card's limits make different. What was not measured is empty.
  struct Held {
    double predicted_s, predicted_hz;
    std::optional<double> measured_s, measured_hz;
  };

  std::string id, kernel, type, tile;
  std::int64_t size;
  double predicted_s, measured_s;  ///< of a burst
  std::string limiter;
  std::optional<Held> burst, sustained;

  double flop() const {
    return 2.0 * static_cast<double>(size) * static_cast<double>(size) * static_cast<double>(size);
  }
  /// FLOP/s
  double predicted_flops() const { return flop() / predicted_s; }
  double measured_flops() const { return flop() / measured_s; }
};

/// A counter that was predicted and read.
struct PredictedCounter {
  std::string counter;
  double written, compiled, measured;
};

/// Those of one launch.
struct PredictedCounters {
  std::string id, kernel, type, tile;
  std::int64_t M, N, K;
  std::vector<PredictedCounter> counters;
};

struct Predictions {
  std::vector<PredictedTime> times;
  std::vector<PredictedCounters> counters;
};

/// What script/predict wrote for such a card: results/<card>/predictions.json; nothing if it has not been there.
/// @throws Error if a file is not what it writes
Predictions recorded_predictions(const Gpu& gpu);

/// The GPU's own counters of one launch, by the names that script/agreement gives them.
struct MeasuredCounters {
  std::string id, kernel, type, tile;
  std::int64_t M, N, K;
  bool reads_c;  ///< beta was not 0
  std::map<std::string, double> counters;
};

/// What script/agreement read on such a card: results/<card>/counters.json; nothing if it has not been there.
/// @throws Error if a file is not what it writes
std::vector<MeasuredCounters> measured_counters(const Gpu& gpu);

}  // namespace lapidary::model
