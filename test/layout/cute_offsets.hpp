#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lapidary {

/// A layout as CuTe has it.
struct CuteLayout {
  std::string name;          ///< as in cute_test.cpp
  std::string text;          ///< as CuTe prints it
  std::vector<int> offsets;  ///< of all elements, the last coordinate moving fastest
};

/// The layouts of the rungs and of swizzles, each written in CuTe. Defined only where CUTLASS was found.
std::vector<CuteLayout> cute_layouts();

/// What cute_offsets.json has of a layout's offsets: their number, the first ones, and FNV-1a with 64 bits of all of
/// them, as 32-bit numbers from the lowest byte on.
inline nlohmann::ordered_json record_of(const std::vector<int>& offsets) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const int offset : offsets)
    for (int shift = 0; shift < 32; shift += 8)
      hash = (hash ^ (static_cast<std::uint32_t>(offset) >> shift & 0xffu)) * 0x100000001b3u;
  const std::vector<int> first(offsets.begin(), offsets.begin() + std::min<std::ptrdiff_t>(96, std::ssize(offsets)));
  return {{"elements", offsets.size()}, {"fnv1a", fmt::format("{:016x}", hash)}, {"first", first}};
}

}  // namespace lapidary
