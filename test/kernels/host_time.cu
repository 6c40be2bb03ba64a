// What a launch costs the host: kernels of the ladder beside a bare cudaLaunchKernelExC of an empty kernel with the
// same parameters and attributes, and what part of the time between two launches of a stream that is.
#include <benchmark/benchmark.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <tuple>

#include "device/device.hpp"
#include "device/launch.hpp"
#include "kernels/registry.hpp"
#include "layout/tensor_map.hpp"

namespace lapidary {
namespace {

constexpr int launches = 200;

/// Seconds that the host takes to start one of `launches` launches; the stream is empty before and after.
template <class Launch>
double host_seconds(const Launch& launch) {
  cudaDeviceSynchronize();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < launches; ++i) launch();
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  cudaDeviceSynchronize();
  return taken.count() / launches;
}

/// Seconds from one launch to the next on the device.
template <class Launch>
double launch_seconds(cudaStream_t stream, const Launch& launch) {
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  launch();
  cudaEventRecord(begin, stream);
  for (int i = 0; i < launches; ++i) launch();
  cudaEventRecord(end, stream);
  cudaEventSynchronize(end);
  float ms = 0;
  cudaEventElapsedTime(&ms, begin, end);
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return 1e-3 * static_cast<double>(ms) / launches;
}

template <class Launch>
void measure(benchmark::State& state, cudaStream_t stream, const Launch& launch) {
  for (int i = 0; i < 20; ++i) launch();
  for (auto _ : state) state.SetIterationTime(host_seconds(launch));
  double between = 1;
  for (int round = 0; round < 5; ++round) between = std::min(between, launch_seconds(stream, launch));
  state.counters["between_us"] = 1e6 * between;
  const cudaError_t status = cudaDeviceSynchronize();
  if (status != cudaSuccess) state.SkipWithError(cudaGetErrorString(status));
}

template <class... Parameters>
__global__ void empty(const __grid_constant__ Parameters...) {}

template <class... Parameters>
void bare(benchmark::State& state, const LaunchShape& shape) {
  const std::tuple<Parameters...> arguments{};
  void* pointers[sizeof...(Parameters)];
  std::size_t count = 0;
  std::apply([&](const auto&... a) { ((pointers[count++] = const_cast<void*>(static_cast<const void*>(&a))), ...); },
             arguments);
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(shape.grid.x);
  config.blockDim = dim3(shape.block.x);
  config.dynamicSmemBytes = shape.shared_bytes;
  cudaLaunchAttribute attributes[2]{};
  config.attrs = attributes;
  if (shape.cluster.x > 1) {
    attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
    attributes[config.numAttrs++].val.clusterDim = {shape.cluster.x, 1, 1};
  }
  if (shape.overlaps) {
    attributes[config.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[config.numAttrs++].val.programmaticStreamSerializationAllowed = 1;
  }
  const void* const kernel = reinterpret_cast<const void*>(empty<Parameters...>);
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shape.shared_bytes));
  measure(state, nullptr, [&] { cudaLaunchKernelExC(&config, kernel, pointers); });
}

/// As wgmma_cluster's last parameter is.
struct Walk {
  int rows, cols, group;
};

/// Memory for a cube of a kernel's kind, and the cube.
class Cube {
 public:
  Cube(Device& gpu, const KernelEntry& kernel, std::int64_t n)
      : bytes_(static_cast<std::size_t>(n * n) * sizeof(float)),
        a_(gpu, bytes_, "A"),
        b_(gpu, bytes_, "B"),
        d_(gpu, bytes_, "D"),
        problem{.kind = kernel.kind, .M = n, .N = n, .K = n},
        operands{.A = a_.data(), .B = b_.data(), .D = d_.data()} {
    for (const DeviceBuffer* buffer : {&a_, &b_}) cudaMemset(buffer->data(), 0x3c, bytes_);
  }

 private:
  std::size_t bytes_;
  DeviceBuffer a_, b_, d_;

 public:
  const Problem problem;
  const Operands operands;
};

const KernelEntry& kernel_of(const char* rung, const char* tile) {
  const Rung& of = find_rung(rung);
  return of.kernel(of.kernels.front().kind, tile);
}

void launch_prepared(benchmark::State& state, const char* rung, const char* tile) {
  const auto gpu = open_gpu();
  const KernelEntry& kernel = kernel_of(rung, tile);
  const Cube cube(*gpu, kernel, state.range(0));
  const Stream stream = gpu->stream();
  const Prepared prepared = prepare(kernel, Build::gpu, cube.problem, card_of(stream));
  measure(state, static_cast<cudaStream_t>(stream.cuda), [&] { prepared.launch(stream, cube.operands); });
}

void prepare_each(benchmark::State& state, const char* rung, const char* tile) {
  const auto gpu = open_gpu();
  const KernelEntry& kernel = kernel_of(rung, tile);
  const Problem problem = {.kind = kernel.kind, .M = 1024, .N = 1024, .K = 1024};
  const Card card = gpu_card();
  for (auto _ : state) {
    Prepared prepared = prepare(kernel, Build::gpu, problem, card);
    benchmark::DoNotOptimize(prepared);
  }
}

}  // namespace
}  // namespace lapidary

int main(int argc, char** argv) {
  using namespace lapidary;
  const auto add = [](const std::string& name, auto run) {
    return benchmark::RegisterBenchmark(name.c_str(), run)
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond)
        ->Iterations(50);
  };
  add("bare/one_parameter", [](benchmark::State& s) { bare<Gemm<float>>(s, {"", 64, 256}); });
  add("bare/cluster", [](benchmark::State& s) {
    bare<TensorMap, TensorMap, TensorMap, Gemm<bf16>, Walk>(s, {"", 128, 384, 200 * 1024, 2});
  });
  add("bare/cluster_overlaps", [](benchmark::State& s) {
    bare<TensorMap, TensorMap, TensorMap, Gemm<bf16>, Walk>(s, {"", 128, 384, 200 * 1024, 2, true});
  });
  const char* const rungs[][2] = {{"coalesced", ""},     {"multistage", ""},   {"mma_multistage", ""},
                                  {"wgmma_cluster", ""}, {"wgmma_energy", ""}, {"wgmma_overlapped", "128x64x64"}};
  for (const auto& [name, tile] : rungs) {
    add(std::string("launch/") + name,
        [name = name, tile = tile](benchmark::State& state) { launch_prepared(state, name, tile); })
        ->RangeMultiplier(2)
        ->Range(128, 1024);
    benchmark::RegisterBenchmark((std::string("prepare/") + name).c_str(), [name = name,
                                                                            tile = tile](benchmark::State& state) {
      prepare_each(state, name, tile);
    })->Unit(benchmark::kMicrosecond);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
