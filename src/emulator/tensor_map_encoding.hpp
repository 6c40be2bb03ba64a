#pragma once
#include <optional>

#include "layout/tensor_map.hpp"

namespace lapidary::emulator {

/// The emulated machine's own encoding. @throws InvalidArgument as require_legal()
TensorMap encode(const TensorBox& tensor);

/// The same of a tensor elsewhere. @throws InvalidArgument if encode() has not made the map, or as require_legal()
void replace_address(TensorMap& map, const void* base);

/// None if encode() has not made it.
std::optional<TensorBox> decode(const TensorMap& map);

}  // namespace lapidary::emulator
