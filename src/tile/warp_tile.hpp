#pragma once
#include "ptx/cuda.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// Where the results of a thread lie in a block's tile that is BN wide, when each warp has one WM x WN tile of it and
/// each lane TM x TN results of that, in fours which those of its neighbours follow.
///
/// Of a lane's five bits, bit 0 belongs to the column and bit 1 to the row. So lanes n and n ^ 1 agree on the row, and
/// n and n ^ 2 on the column: shared memory serves such pairs of a 128-bit read together (layout/access.hpp), and
/// operands of either side take 2 wavefronts instead of 4. The other bits are dealt as the shape of the warp's tile
/// asks.
template <int BN, int WM, int WN, int TM, int TN>
struct WarpTile {
  static constexpr int lanes_down = WM / TM, lanes_across = WN / TN;
  static_assert((lanes_down == 8 && lanes_across == 4) || (lanes_down == 4 && lanes_across == 8));

  LAPIDARY_HD static constexpr int lane_row(int lane) {
    return (lane >> 1 & 1) | (lanes_down == 8 ? lane >> 2 & 6 : lane >> 3 & 2);
  }
  LAPIDARY_HD static constexpr int lane_col(int lane) {
    return (lane & 1) | (lanes_across == 4 ? lane >> 1 & 2 : lane >> 1 & 6);
  }
  LAPIDARY_HD static constexpr int row(int thread, int i) {
    return thread / 32 / (BN / WN) * WM + lane_row(thread % 32) * 4 + i / 4 * (4 * lanes_down) + i % 4;
  }
  LAPIDARY_HD static constexpr int col(int thread, int j) {
    return thread / 32 % (BN / WN) * WN + lane_col(thread % 32) * 4 + j / 4 * (4 * lanes_across) + j % 4;
  }
};

}  // namespace lapidary::inline LAPIDARY_BUILD
