#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "device_array.hpp"
#include "emulator/machine.hpp"
#include "test_kernel.hpp"

// What is expected of the emulated machine and of a GPU is one thing: tests that run on both.

namespace lapidary::test {

/// A build of the kernels of a file, and the machine that runs them.
struct Target {
  const char* name;
  TestKernels (*kernels)();
  emulator::Options options = {};
  bool gpu = false;

  friend std::ostream& operator<<(std::ostream& out, const Target& target) { return out << target.name; }
};

inline std::string name_of_target(const testing::TestParamInfo<Target>& info) { return info.param.name; }

/// Opens the device, and skips the test where there is none.
class OnTargets : public testing::TestWithParam<Target> {
 protected:
  /// @param capability  the only one whose GPUs have what the kernels use; 0: any has
  explicit OnTargets(int capability = 0) : capability_(capability) {}

  void SetUp() override {
    if (!GetParam().gpu) {
      device = open_emulator(GetParam().options);
      return;
    }
    if (gpu_count() == 0) GTEST_SKIP() << "there is no GPU";
    device = open_gpu();
    if (capability_ != 0 && device->properties().compute_capability != capability_)
      GTEST_SKIP() << "the GPU is of another compute capability";
  }

  template <class T>
  DeviceArray<T> array(const std::vector<T>& content) {
    return {*device, std::span<const T>(content)};
  }

  void run(const std::string& name, const LaunchShape& shape, void* a, void* b, void* c = nullptr, int n = 0) {
    GetParam().kernels()[name].launch(device->stream(), shape, a, b, c, n);
    device->synchronize();
  }
  void run(const std::string& name, void* a, void* b, void* c = nullptr, int n = 0) {
    run(name, GetParam().kernels()[name].shape, a, b, c, n);
  }

  std::unique_ptr<Device> device;

 private:
  int capability_;
};

}  // namespace lapidary::test
