#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>

#include "bench/timing.hpp"
#include "device/device.hpp"

namespace lapidary::bench {

/// Card, driver, compiler, commit, and the card's state at this moment. What is not known is null.
nlohmann::ordered_json machine_receipt(const Device& device);

/// What figures depend on besides the kernels: card, driver, compiler, commit, state of the card during the
/// measurement, and how it was done. What is not known is null. docs/json.md names the keys.
/// @param peer  its name and version; none if there was no peer
nlohmann::ordered_json receipt(const Device& device, const std::optional<std::string>& peer,
                               const MeasureOptions& options, std::span<const LadderMeasurement> results);

}  // namespace lapidary::bench
