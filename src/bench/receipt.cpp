#include "bench/receipt.hpp"

#include <cuda_runtime_api.h>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <lapidary_commit.hpp>
#include <utility>
#include <vector>

#include "bench/rates.hpp"
#include "bench/sensors.hpp"

namespace lapidary::bench {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json json_of(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

/// "13.0" for 13000; null if the call failed.
Json version(cudaError_t (*query)(int*)) {
  int number = 0;
  if (query(&number) != cudaSuccess) return {};
  return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

/// Whether the sources differed from the commit when the program was built.
Json modified() {
  const std::string_view value = LAPIDARY_COMMIT_MODIFIED;
  return value == "yes" ? Json(true) : value == "no" ? Json(false) : Json();
}

Json card_json(const Device& device, const Sensors& sensors) {
  DeviceProperties p = device.properties();
  p.clock_mhz = std::max(p.clock_mhz, sensors.max_sm_clock_mhz().value_or(0));
  return {{"name", p.name},
          {"compute_capability", fmt::format("{}.{}", p.compute_capability / 10, p.compute_capability % 10)},
          {"multiprocessors", p.multiprocessors},
          {"max_sm_clock_mhz", p.clock_mhz},
          {"power_limit_w", json_of(sensors.power_limit_w())},
          {"l2_bytes", p.l2_bytes},
          {"memory_bytes", p.memory_bytes},
          {"fp32_ceiling_tflops", json_of(ceiling_tflops(p, Unit::cuda_cores))}};
}

/// The spread over the kernels of what the sensors showed while each of them ran; null if they showed nothing.
Json state_json(std::span<const LadderMeasurement> results, Mode mode) {
  Json json;
  constexpr std::pair<const char*, double CardState::*> sensors[] = {{"sm_clock_mhz", &CardState::sm_clock_mhz},
                                                                     {"memory_clock_mhz", &CardState::memory_clock_mhz},
                                                                     {"power_w", &CardState::power_w},
                                                                     {"temperature_c", &CardState::temperature_c}};
  const auto add = [&](const char* name, const auto& value_of) {
    std::vector<double> values;
    for (const LadderMeasurement& result : results)
      if (const std::optional<double> value = value_of(result.measurement); value && result.mode == mode)
        values.push_back(*value);
    if (values.empty()) return;
    const Spread spread = spread_of(std::move(values));
    json[name] = {{"median", spread.median}, {"min", spread.min}, {"max", spread.max}};
  };
  for (const auto& [name, member] : sensors)
    add(name,
        [member = member](const Measurement& m) { return m.card ? std::optional((*m.card).*member) : std::nullopt; });
  add("effective_clock_mhz", [](const Measurement& m) { return m.clock ? m.clock->mhz : std::nullopt; });
  add("probe_slowdown", [](const Measurement& m) { return m.clock ? std::optional(m.clock->slowdown) : std::nullopt; });
  return json;
}

}  // namespace

Json machine_receipt(const Device& device) {
  const Sensors sensors;
  Json json = {{"date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
               {"commit", LAPIDARY_COMMIT},
               {"modified", modified()},
               {"card", card_json(device, sensors)},
               {"driver", json_of(sensors.driver_version())},
               {"cuda_driver", version(cudaDriverGetVersion)},
               {"cuda_runtime", version(cudaRuntimeGetVersion)},
               {"nvcc", LAPIDARY_NVCC_VERSION},
               {"host_compiler", LAPIDARY_HOST_COMPILER}};
  if (const std::optional<CardState> state = sensors.read())
    json["state"] = {{"sm_clock_mhz", state->sm_clock_mhz},
                     {"memory_clock_mhz", state->memory_clock_mhz},
                     {"power_w", state->power_w},
                     {"temperature_c", state->temperature_c}};
  return json;
}

Json receipt(const Device& device, const std::optional<std::string>& peer, const MeasureOptions& options,
             std::span<const LadderMeasurement> results) {
  Json json = machine_receipt(device);
  // That of the kernels' own time is below.
  json.erase("state");
  json.update({{"peer", json_of(peer)},
               {"input", "normal random numbers, mean 0, variance 1"},
               {"problem", "D = A B, leading dimensions are the lengths of rows, of column-major operands of columns"},
               {"cache", "operands rotate over at least 2 copies, together larger than 3 L2 caches"},
               {"interleaving", "a round times each kernel once and then the peer; rounds follow one another"},
               {"figure", "median, min and max over rounds"}});
  if (options.burst) {
    json["burst"] = {
        {"round", "median launch, each timed by events; of launches below 0.2 ms as many together as take so long"},
        {"rounds", options.burst->rounds},
        {"rest_s", options.burst->rest_s},
        {"burst_s", options.burst->burst_s},
        {"watch", options.burst->watch},
        {"state", state_json(results, Mode::burst)}};
  }
  if (options.sustained) {
    json["sustained"] = {{"round", "mean of launches back to back, timed by events"},
                         {"seconds", options.sustained->seconds},
                         {"block_s", options.sustained->block_s},
                         {"settle_s", options.sustained->settle_s},
                         {"warm_up_s", options.sustained->warm_up_s},
                         {"watch_s", options.sustained->watch_s},
                         {"state", state_json(results, Mode::sustained)}};
  }
  return json;
}

}  // namespace lapidary::bench
