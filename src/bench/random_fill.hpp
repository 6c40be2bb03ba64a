#pragma once
#include <cstdint>

#include "core/types.hpp"
#include "device/device.hpp"

namespace lapidary::bench {

/// Fills GPU memory with normal random numbers (mean 0, variance 1) rounded to the element type, on the stream of the
/// device. An element depends on the seed and its index alone.
/// @param count  elements
void fill_normal(Device& device, Type type, void* data, std::int64_t count, std::uint64_t seed);

}  // namespace lapidary::bench
