#include "lens/lanes.hpp"

#include <fmt/format.h>

#include <bit>

namespace lapidary::lens {

std::string lanes_text(std::uint32_t mask) {
  std::string text;
  for (int lane = 0; lane < 32; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    int last = lane;
    while (last < 31 && (mask >> (last + 1) & 1) != 0) ++last;
    if (!text.empty()) text += ",";
    text += last == lane ? std::to_string(lane) : fmt::format("{}{}{}", lane, last == lane + 1 ? "," : "-", last);
    lane = last;
  }
  return text;
}

std::string short_lanes_text(std::uint32_t mask, int most) {
  const std::string text = lanes_text(mask);
  if (static_cast<int>(text.size()) <= most) return text;
  return fmt::format("{}+{}", std::countr_zero(mask), std::popcount(mask) - 1);
}

std::string bytes_text(int bytes) { return bytes == 1 ? "1 byte" : fmt::format("{} bytes", bytes); }

}  // namespace lapidary::lens
