#include "emulator/tensor_map_encoding.hpp"

#include <cstring>
#include <iterator>
#include <type_traits>

#include "core/error.hpp"

namespace lapidary::emulator {
namespace {

// Ends the map, after the box.
constexpr std::uint64_t mark = 0x70616d726f736e74;

static_assert(std::is_trivially_copyable_v<TensorBox>);
static_assert(sizeof(TensorBox) <= sizeof(TensorMap) - sizeof(mark));

}  // namespace

TensorMap encode(const TensorBox& tensor) {
  require_legal(tensor);
  TensorMap map;
  std::memcpy(map.opaque, &tensor, sizeof(tensor));
  map.opaque[std::size(map.opaque) - 1] = mark;
  return map;
}

std::optional<TensorBox> decode(const TensorMap& map) {
  if (map.opaque[std::size(map.opaque) - 1] != mark) return std::nullopt;
  TensorBox tensor;
  std::memcpy(&tensor, map.opaque, sizeof(tensor));
  return tensor;
}

void replace_address(TensorMap& map, const void* base) {
  std::optional<TensorBox> tensor = decode(map);
  if (!tensor) throw InvalidArgument("what is no tensor map cannot be one of another address");
  tensor->base = base;
  map = encode(*tensor);
}

}  // namespace lapidary::emulator
