#pragma once
#include "core/launch_shape.hpp"

namespace lapidary {

/// On how many multiprocessors blocks that are alone on one, in clusters of a shape, run at the same time. All of a
/// cluster are within one GPC, and of these some have a number of multiprocessors that is no multiple of four: of the
/// 132 of an H200 120 take clusters of four, and a 31st one waits (docs/tried.md). What a card at hand has room for
/// cudaOccupancyMaxActiveClusters tells; a plan is made without one.
constexpr int multiprocessors_for(const ClusterShape& cluster, int multiprocessors) {
  return cluster.down * cluster.across < 4 ? multiprocessors : multiprocessors - multiprocessors / 11;
}

/// Clusters that hang over the edge of D pass tiles that D has nothing of, but for products of so few steps along K.
/// Which tiles those are takes divisions, and these longer than so many steps that they save (docs/tried.md).
constexpr int few_steps = 9;

}  // namespace lapidary
