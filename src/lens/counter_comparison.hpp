#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lens/explanation.hpp"

namespace lapidary::lens {

/// The card's own counters of the launch beside what is known of it otherwise.
/// @param measured  by the names that script/agreement gives them
std::vector<CounterComparison> compare_counters(const Explanation& e, const std::map<std::string, double>& measured);

/// Why a counter differs from what was computed, as far as that is known; empty if it is not.
std::string why_off(std::string_view counter, const Explanation& e);

/// The stall reasons among the counters of a launch, the longest first.
std::vector<Stall> stalls_of(const std::map<std::string, double>& counters);

}  // namespace lapidary::lens
