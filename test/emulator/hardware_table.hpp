#pragma once

namespace lapidary::test {

/// Where each lane of a warp accesses memory, counted in elements; lanes below 0 take no part.
struct Places {
  short of_lane[32];
};

/// What they stay below.
constexpr int access_bytes = 33 * 128;

}  // namespace lapidary::test
