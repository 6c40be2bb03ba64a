#include <cuda_runtime.h>

#include <map>
#include <mutex>
#include <utility>

#include "core/refusal.hpp"
#include "device/cuda_check.hpp"
#include "device/device.hpp"

namespace lapidary {
namespace {

class GpuDevice final : public Device {
 public:
  GpuDevice() { check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate"); }
  ~GpuDevice() override { cudaStreamDestroy(stream_); }

  DeviceKind kind() const override { return DeviceKind::gpu; }
  DeviceProperties properties() const override {
    cudaDeviceProp found;
    int device = 0, clock_khz = 0;
    std::size_t free_bytes = 0, total_bytes = 0;
    check_cuda(cudaGetDevice(&device), "cudaGetDevice");
    check_cuda(cudaGetDeviceProperties(&found, device), "cudaGetDeviceProperties");
    check_cuda(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, device), "cudaDeviceGetAttribute");
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
  void synchronize() override { check_cuda(cudaStreamSynchronize(stream_), "work on the GPU"); }

 private:
  void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    check_cuda(cudaMemcpyAsync(to, from, bytes, kind, stream_), "copy");
    synchronize();
  }

  cudaStream_t stream_ = nullptr;
};

}  // namespace

int gpu_count() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

Card gpu_card() {
  int device = 0;
  check_cuda(cudaGetDevice(&device), "the current device");
  const auto attribute = [&](cudaDeviceAttr which) {
    int value = 0;
    check_cuda(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
    return value;
  };
  return {.compute_capability = attribute(cudaDevAttrComputeCapabilityMajor) * 10 +
                                attribute(cudaDevAttrComputeCapabilityMinor),
          .multiprocessors = attribute(cudaDevAttrMultiProcessorCount)};
}

void enable_on_gpu(const void* kernel, const LaunchShape& shape) {
  const bool shared = shape.shared_bytes > LaunchLimits::shared_bytes_default;
  const bool cluster = shape.cluster.x * shape.cluster.y * shape.cluster.z > LaunchLimits::cluster_portable;
  if (!shared && !cluster) return;
  int device = 0;
  check_cuda(cudaGetDevice(&device), "the current device");
  static std::mutex mutex;
  static std::map<std::pair<const void*, int>, unsigned> enabled;  // bytes of shared memory
  const std::lock_guard lock(mutex);
  const auto known = enabled.find({kernel, device});
  if (known != enabled.end() && known->second >= shape.shared_bytes) return;
  if (shared)
    check_cuda(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shape.shared_bytes)),
        shape.kernel);
  if (cluster)
    check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1), shape.kernel);
  enabled[{kernel, device}] = shape.shared_bytes;
}

std::unique_ptr<Device> open_gpu() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0)
    throw Refusal(RefusalId::device_none,
                  std::string("there is no GPU to run on: ") +
                      (status == cudaSuccess ? "no card was found" : cudaGetErrorString(status)) +
                      "; use the emulated machine (--device emulator)");
  return std::make_unique<GpuDevice>();
}

}  // namespace lapidary
