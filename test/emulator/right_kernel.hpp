#pragma once
#include <span>

#include "test_kernel.hpp"

namespace lapidary::test {

constexpr int input(int i) { return i * 7 % 101; }

/// A kernel that is to be silent and right. It takes a, where a[i] is input(i), words of c that are 0, and n.
struct RightKernel {
  TestKernel kernel;
  int n;
  int results;             ///< in b
  int (*expected)(int i);  ///< of these
};

using RightKernels = std::span<const RightKernel>;

}  // namespace lapidary::test
