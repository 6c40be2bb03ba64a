#pragma once
#include <string>
#include <vector>

#include "core/launch_shape.hpp"

struct CUgraph_st;

namespace lapidary::bench {

/// A kernel that a call of any library puts on a stream, and in what shape.
struct CapturedKernel {
  std::string name;  ///< as it is linked, mangled or not
  Extent3 grid, cluster;
  int threads;  ///< of a block
};

/// The kernels of a graph, in the order in which CUDA lists its nodes, which it does not promise to be that of the
/// calls.
/// @throws DeviceError if the driver is older than CUDA 12.3, which names them
std::vector<CapturedKernel> captured_kernels(CUgraph_st* graph);

}  // namespace lapidary::bench
