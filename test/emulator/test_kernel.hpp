#pragma once
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "core/launch_shape.hpp"
#include "device/stream.hpp"

namespace lapidary::test {

/// A kernel of the tests as one build of it registers itself. All of them take three arrays in device memory and a
/// number.
struct TestKernel {
  LaunchShape shape;
  void (*launch)(const Stream& stream, const LaunchShape& shape, void* a, void* b, void* c, int n);
  int line, other_line;  ///< what a test wants to know the place of
};

/// The kernels of one file.
struct TestKernels {
  const TestKernel* first;
  int count;

  const TestKernel& operator[](std::string_view name) const {
    for (const TestKernel& kernel : std::span(first, static_cast<std::size_t>(count)))
      if (name == kernel.shape.kernel) return kernel;
    throw std::out_of_range("no test kernel is named " + std::string(name));
  }
};

}  // namespace lapidary::test
