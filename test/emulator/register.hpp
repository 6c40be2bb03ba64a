#pragma once
// For files of test kernels: the table by which tests find them.
#include <iterator>

#include "device/launch.hpp"
#include "test_kernel.hpp"

namespace lapidary::test::inline LAPIDARY_BUILD {

template <auto kernel>
struct Launch;
template <class T, void (*kernel)(T*, T*, T*, int)>
struct Launch<kernel> {
  static void launch(const Stream& stream, const LaunchShape& shape, void* a, void* b, void* c, int n) {
    lapidary::launch(stream, shape, kernel, static_cast<T*>(a), static_cast<T*>(b), static_cast<T*>(c), n);
  }
};

/// An entry of the table.
template <auto kernel>
constexpr TestKernel entry(const char* name, const Extent3& grid, const Extent3& block, unsigned shared_bytes = 0,
                           int line = 0, int other_line = 0) {
  return {{name, grid, block, shared_bytes}, Launch<kernel>::launch, line, other_line};
}

}  // namespace lapidary::test::inline LAPIDARY_BUILD
