#pragma once
#include <cstdint>

namespace lapidary {

struct Extent3 {
  unsigned x = 1, y = 1, z = 1;

  constexpr Extent3() = default;
  /// Of numbers that are not negative; a configuration's are of type int.
  constexpr Extent3(std::int64_t x_, std::int64_t y_ = 1, std::int64_t z_ = 1)
      : x(static_cast<unsigned>(x_)), y(static_cast<unsigned>(y_)), z(static_cast<unsigned>(z_)) {}
};

/// Limits of compute capability 8.0 and up (CUDA Programming Guide, technical specifications).
struct LaunchLimits {
  static constexpr unsigned threads = 1024;
  static constexpr unsigned grid_x = 2147483647, grid_yz = 65535;
  /// Blocks of a cluster: what every GPU of compute capability 9.0 and up runs, and what it runs if asked to.
  static constexpr unsigned cluster_portable = 8, cluster = 16;
  /// Shared memory that a block gets without and with opting in; the latter is that of compute capability 9.0.
  static constexpr unsigned shared_bytes_default = 48 * 1024, shared_bytes_opt_in = 227 * 1024;
};

/// A block's share of the problem: m x n results, k of the sum at a time; k is 0 where there is no such step.
struct TileShape {
  int m, n, k;
  constexpr bool operator==(const TileShape&) const = default;
};

/// The blocks of a cluster, below and beside each other.
struct ClusterShape {
  int down = 1, across = 1;
  constexpr bool operator==(const ClusterShape&) const = default;
};

/// How a kernel is launched; a kernel's launcher sits right below it.
struct LaunchShape {
  const char* kernel;  ///< name for messages
  Extent3 grid, block;
  unsigned shared_bytes = 0;  ///< dynamic shared memory of a block
  Extent3 cluster = {};       ///< in blocks, of which the grid is a multiple; of 1 block: no cluster
  /// Whether it may begin while the kernel in front of it on the stream ends; it then waits for that itself, by
  /// grid_wait() (ptx/grid.hpp). Needs compute capability 9.0.
  bool overlaps = false;
};

}  // namespace lapidary
