#include <cuda_runtime.h>

#include <mutex>
#include <optional>
#include <string>

#include "core/refusal.hpp"
#include "device/capture.hpp"
#include "device/cuda_check.hpp"
#include "device/device.hpp"
#include "device/gpu_refusal.hpp"

namespace lapidary {
namespace {

/// Has a device be the current one for as long as it lives.
class Current {
 public:
  explicit Current(int device) : before_(current_gpu()), changes_(device != before_) {
    if (changes_) check_cuda(cudaSetDevice(device), "cudaSetDevice");
  }
  Current(const Current&) = delete;
  ~Current() {
    if (changes_) cudaSetDevice(before_);
  }

 private:
  int before_;
  bool changes_;
};

class GpuDevice final : public Device {
 public:
  // A blocking stream: copies wait for what programs have enqueued on the default stream.
  GpuDevice() : device_(current_gpu()) { check_cuda(cudaStreamCreate(&stream_), "cudaStreamCreate"); }
  ~GpuDevice() override { cudaStreamDestroy(stream_); }

  DeviceKind kind() const override { return DeviceKind::gpu; }
  DeviceProperties properties() const override {
    const Current current(device_);
    cudaDeviceProp found;
    int clock_khz = 0;
    std::size_t free_bytes = 0, total_bytes = 0;
    check_cuda(cudaGetDeviceProperties(&found, device_), "cudaGetDeviceProperties");
    check_cuda(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, device_), "cudaDeviceGetAttribute");
    check_cuda(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
    return {.name = found.name,
            .compute_capability = found.major * 10 + found.minor,
            .multiprocessors = found.multiProcessorCount,
            .memory_bytes = total_bytes,
            .free_bytes = free_bytes,
            .clock_mhz = clock_khz / 1000,
            .l2_bytes = static_cast<std::size_t>(found.l2CacheSize)};
  }
  void* allocate(std::size_t bytes, std::string_view label, std::size_t, const emulator::Lines&) override {
    const Current current(device_);
    const std::size_t free_bytes = properties().free_bytes;
    void* memory = nullptr;
    // cudaMalloc of 0 bytes gives a null pointer, which would look like a missing matrix.
    if (bytes > free_bytes || cudaMalloc(&memory, bytes ? bytes : 1) != cudaSuccess)
      throw Refusal(RefusalId::memory_free, std::string(label) + " needs " + std::to_string(bytes) +
                                                " bytes of GPU memory, of which " + std::to_string(free_bytes) +
                                                " are free");
    return memory;
  }
  void free(void* memory) noexcept override { cudaFree(memory); }
  void upload(void* to, const void* from, std::size_t bytes) override { copy(to, from, bytes, cudaMemcpyHostToDevice); }
  void download(void* to, const void* from, std::size_t bytes) override {
    copy(to, from, bytes, cudaMemcpyDeviceToHost);
  }
  Stream stream() override { return {.machine = nullptr, .cuda = stream_}; }
  void synchronize() override {
    const Current current(device_);
    check_cuda(cudaDeviceSynchronize(), "work on the GPU");
  }

 private:
  void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    check_cuda(cudaMemcpyAsync(to, from, bytes, kind, stream_), "copy");
    check_cuda(cudaStreamSynchronize(stream_), "work on the GPU");
  }

  int device_;
  cudaStream_t stream_ = nullptr;
};

struct Versions {
  int driver = 0, runtime = 0;
};
Versions versions() {
  Versions found;
  check_cuda(cudaDriverGetVersion(&found.driver), "cudaDriverGetVersion");
  check_cuda(cudaRuntimeGetVersion(&found.runtime), "cudaRuntimeGetVersion");
  return found;
}

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  check_cuda(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
  return value;
}
int compute_capability(int device) {
  return attribute(cudaDevAttrComputeCapabilityMajor, device) * 10 +
         attribute(cudaDevAttrComputeCapabilityMinor, device);
}

/// Why kernels do not run on the current device; nothing if they do.
std::optional<BrokenRule> refusal() {
  const auto [driver, runtime] = versions();
  if (auto broken = driver_refusal(driver, runtime)) return broken;
  int count = 0, device = 0;
  cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess) status = cudaGetDevice(&device);
  if (status != cudaSuccess) return BrokenRule{RefusalId::device_none, cudaGetErrorString(status)};
  cudaDeviceProp found;
  check_cuda(cudaGetDeviceProperties(&found, device), "cudaGetDeviceProperties");
  return card_refusal(found.name, found.major * 10 + found.minor, driver, runtime);
}

}  // namespace

int gpu_count() {
  int all = 0, usable = 0;
  if (cudaGetDeviceCount(&all) != cudaSuccess) return 0;
  const auto [driver, runtime] = versions();
  for (int device = 0; device < all; ++device)
    usable += card_refusal("", compute_capability(device), driver, runtime) ? 0 : 1;
  return usable;
}

int current_gpu() {
  int device = 0;
  const cudaError_t status = cudaGetDevice(&device);
  if (status != cudaSuccess) require_none(refusal());
  check_cuda(status, "the current device");
  return device;
}

Card gpu_card() {
  const int device = current_gpu();
  return {.compute_capability = compute_capability(device),
          .multiprocessors = attribute(cudaDevAttrMultiProcessorCount, device)};
}

void enable_on_gpu(const void* kernel, const LaunchShape& shape) {
  const bool shared = shape.shared_bytes > LaunchLimits::shared_bytes_default;
  const bool cluster = shape.cluster.x * shape.cluster.y * shape.cluster.z > LaunchLimits::cluster_portable;
  if (!shared && !cluster) return;
  // CUDA is asked each time what it knows of the kernel, as that is lost when the device is reset. It keeps the last
  // size that it is told, and launches that are prepared already may have the largest one: no two threads at a time.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  cudaFuncAttributes known;
  check_cuda(cudaFuncGetAttributes(&known, kernel), shape.kernel);
  const int bytes = static_cast<int>(shape.shared_bytes);
  if (shared && known.maxDynamicSharedSizeBytes < bytes)
    check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), shape.kernel);
  if (cluster)
    check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1), shape.kernel);
}

bool is_captured(const Stream& stream) {
  if (stream.machine) return false;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaError_t error = cudaStreamIsCapturing(static_cast<cudaStream_t>(stream.cuda), &status);
  if (error == cudaErrorStreamCaptureImplicit) {
    cudaGetLastError();
    return true;
  }
  check_cuda(error, "cudaStreamIsCapturing");
  return status != cudaStreamCaptureStatusNone;
}

std::unique_ptr<Device> open_gpu() {
  require_none(refusal());
  return std::make_unique<GpuDevice>();
}

}  // namespace lapidary
