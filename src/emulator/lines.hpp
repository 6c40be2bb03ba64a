#pragma once
#include <cstddef>

namespace lapidary::emulator {

/// What of an allocation a matrix takes, in bytes: lines of `length`, `pitch` from one to the next, the first of which
/// begins at `front`. Where nothing is between them an access may be of several. A pitch of 0: all of it.
struct Lines {
  std::size_t front = 0, length = 0, pitch = 0;

  /// Whether `bytes` bytes from an offset on are of lines alone.
  bool hold(std::size_t offset, std::size_t bytes) const {
    if (pitch == 0) return true;
    return offset >= front && (pitch <= length || (offset - front) % pitch + bytes <= length);
  }
};

}  // namespace lapidary::emulator
