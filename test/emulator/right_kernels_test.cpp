// Difficult synchronisation that is right, of which nothing may be said, in whatever order threads run.
#include <gtest/gtest.h>

#include <ostream>
#include <vector>

#include "core/error.hpp"
#include "device/device.hpp"
#include "device_array.hpp"
#include "right_kernel.hpp"

namespace lapidary::test {
namespace instrumented {
RightKernels right_kernels();
}

void PrintTo(const RightKernel& right, std::ostream* out) { *out << right.kernel.shape.kernel; }

namespace {

constexpr unsigned seeds = 20;

class Right : public testing::TestWithParam<RightKernel> {
 protected:
  static void run(const emulator::Options& options) {
    const RightKernel& right = GetParam();
    std::vector<int> inputs(1024);
    for (int i = 0; i < 1024; ++i) inputs[static_cast<std::size_t>(i)] = input(i);
    const auto device = open_emulator(options);
    const DeviceArray<int> a(*device, inputs, "a"), b(*device, 1024, 0, "b"), c(*device, 1024, 0, "c");
    ASSERT_NO_THROW(right.kernel.launch(device->stream(), right.kernel.shape, a.data(), b.data(), c.data(), right.n));
    const std::vector<int> results = b.content();
    for (int i = 0; i < right.results; ++i) ASSERT_EQ(results[static_cast<std::size_t>(i)], right.expected(i)) << i;
  }
};
INSTANTIATE_TEST_SUITE_P(Kernels, Right, testing::ValuesIn(instrumented::right_kernels()),
                         [](const auto& info) { return info.param.kernel.shape.kernel; });

TEST_P(Right, IsSilentInEveryOrderOfThreads) {
  for (unsigned seed = 0; seed <= seeds; ++seed) {
    SCOPED_TRACE(seed);
    run({.check = true, .threads = 1, .seed = seed});
  }
}

TEST_P(Right, IsSilentOnSeveralHostThreads) {
  for (int i = 0; i < 5; ++i) run({.count = true, .check = true, .threads = 4});
}

TEST_P(Right, IsRightUnchecked) { run({.threads = 2}); }

}  // namespace
}  // namespace lapidary::test
