#pragma once
#include <cstdint>
#include <string>

namespace lapidary::lens {

/// The lanes of a mask: "0", "0-7" or "0,8,16".
std::string lanes_text(std::uint32_t mask);

/// The same if it is of at most so many characters; otherwise the first one and how many others there are: "0+3".
std::string short_lanes_text(std::uint32_t mask, int most);

/// "1 byte", "16 bytes"
std::string bytes_text(int bytes);

}  // namespace lapidary::lens
