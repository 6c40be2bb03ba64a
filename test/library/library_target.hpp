#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <vector>

#include "device/device.hpp"
#include "lapidary/gemm.hpp"

namespace lapidary::test {

/// A machine that tests of the library run on.
struct Target {
  const char* name;
  DeviceKind kind = DeviceKind::emulator;
  emulator::Options options = {};

  friend std::ostream& operator<<(std::ostream& out, const Target& target) { return out << target.name; }
};

/// Those that the build has.
inline std::vector<Target> library_targets() {
  std::vector<Target> all = {{"plain"}};
#if LAPIDARY_WITH_INSTRUMENTED
  all.push_back({"checked", DeviceKind::emulator, {.check = true}});
#endif
#if LAPIDARY_WITH_CUDA
  all.push_back({"gpu", DeviceKind::gpu});
#endif
  return all;
}

/// A device of the target, and a context on it.
class LibraryTarget : public testing::TestWithParam<Target> {
 protected:
  void SetUp() override {
    if (GetParam().kind == DeviceKind::emulator)
      device_ = open_emulator(GetParam().options);
    else if (gpu_count() == 0)
      GTEST_SKIP() << "there is no GPU";
    else
      device_ = open_gpu();
    context_ = std::make_unique<Context>(*device_);
  }

  Device& device() { return *device_; }
  Context& context() { return *context_; }

 private:
  std::unique_ptr<Device> device_;
  std::unique_ptr<Context> context_;
};

}  // namespace lapidary::test
