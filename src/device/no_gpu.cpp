// Stands in for gpu_device.cu in a build without CUDA.
#include "core/refusal.hpp"
#include "device/capture.hpp"
#include "device/device.hpp"
#include "device/gpu_refusal.hpp"

namespace lapidary {

int gpu_count() { return 0; }

namespace {

[[noreturn]] void no_gpu() {
  refuse_gpu({RefusalId::device_none, "this program was built without CUDA; build it where nvcc is on the PATH"});
}

}  // namespace

std::unique_ptr<Device> open_gpu() { no_gpu(); }
Card gpu_card() { no_gpu(); }
int current_gpu() { no_gpu(); }
bool is_captured(const Stream&) { return false; }

}  // namespace lapidary
