// On which multiprocessors the blocks of a launch come to run, and how long they take: launches that may begin while
// the one in front of them ends (programmatic dependent launch), and such that wait for it. Each block fills a
// multiprocessor's shared memory and reads 2 MiB of its own from DRAM. Two neighbouring multiprocessors, 2i and 2i + 1,
// are one texture processing cluster, a pair here.
//
//   lapidary_placement FILE
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "bench/receipt.hpp"
#include "device/cuda_check.hpp"
#include "device/device.hpp"
#include "ptx/grid.hpp"

namespace lapidary {
namespace {

constexpr int threads = 512, shared_bytes = 200 * 1024, launches = 40, rounds = 9;
constexpr std::size_t vectors = (std::size_t{2} << 20) / sizeof(uint4);  // that a block reads
constexpr int copies = 4;                                                // larger than L2 together

__global__ void __launch_bounds__(threads)
    read_own(const uint4* data, std::uint32_t* multiprocessors, std::uint32_t* never) {
  grid_launch_dependents();
  grid_wait();
  if (threadIdx.x == 0) asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessors[blockIdx.x]));
  const uint4* const own = data + blockIdx.x * vectors;
  std::uint32_t bits = 0;
  constexpr int ahead = 8;
  for (std::size_t i = threadIdx.x; i < vectors; i += threads * ahead) {
    uint4 read[ahead];
#pragma unroll
    for (int j = 0; j < ahead; ++j) read[j] = __ldcs(own + i + j * threads);
#pragma unroll
    for (const uint4& v : read) bits ^= v.x ^ v.y ^ v.z ^ v.w;
  }
  if (bits == 1) *never = bits;
}

struct Row {
  int blocks;
  bool waits;
  double microseconds;
  double shared_pairs;  ///< that run two blocks of a launch, in the mean of launches that others were in front of
};

Row measure(cudaStream_t stream, const uint4* data, int most, int blocks, bool waits, std::uint32_t* where) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t launchable = nullptr;
  check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  for (int i = 0; i < launches; ++i) {
    cudaLaunchConfig_t config{};
    cudaLaunchAttribute overlap{};
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = dim3(static_cast<unsigned>(blocks));
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream;
    config.attrs = &overlap;
    config.numAttrs = waits ? 0 : 1;
    const uint4* const from = data + static_cast<std::size_t>(i % copies) * static_cast<std::size_t>(most) * vectors;
    check_cuda(cudaLaunchKernelEx(&config, read_own, from, where + i * most, where + launches * most), "read_own");
  }
  check_cuda(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  check_cuda(cudaGraphInstantiate(&launchable, graph, 0), "cudaGraphInstantiate");
  cudaEvent_t begin = nullptr, end = nullptr;
  check_cuda(cudaEventCreate(&begin), "cudaEventCreate");
  check_cuda(cudaEventCreate(&end), "cudaEventCreate");
  std::array<double, rounds> taken{};
  for (double& each : taken) {
    float milliseconds = 0;
    check_cuda(cudaEventRecord(begin, stream), "cudaEventRecord");
    check_cuda(cudaGraphLaunch(launchable, stream), "cudaGraphLaunch");
    check_cuda(cudaEventRecord(end, stream), "cudaEventRecord");
    check_cuda(cudaEventSynchronize(end), "read_own");
    check_cuda(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
    each = 1e3 * static_cast<double>(milliseconds) / launches;
  }
  std::nth_element(taken.begin(), taken.begin() + rounds / 2, taken.end());
  std::vector<std::uint32_t> multiprocessors(static_cast<std::size_t>(launches * most));
  check_cuda(
      cudaMemcpy(multiprocessors.data(), where, multiprocessors.size() * sizeof(std::uint32_t), cudaMemcpyDeviceToHost),
      "cudaMemcpy");
  int shared = 0;
  for (int i = launches / 2; i < launches; ++i) {
    std::vector<int> on_pair(static_cast<std::size_t>(most));
    for (int block = 0; block < blocks; ++block)
      if (++on_pair[multiprocessors[static_cast<std::size_t>(i * most + block)] / 2] == 2) ++shared;
  }
  check_cuda(cudaEventDestroy(begin), "cudaEventDestroy");
  check_cuda(cudaEventDestroy(end), "cudaEventDestroy");
  check_cuda(cudaGraphExecDestroy(launchable), "cudaGraphExecDestroy");
  check_cuda(cudaGraphDestroy(graph), "cudaGraphDestroy");
  return {blocks, waits, taken[rounds / 2], 1.0 * shared / (launches - launches / 2)};
}

void measure_all(const char* path) {
  const auto gpu = open_gpu();
  const auto stream = static_cast<cudaStream_t>(gpu->stream().cuda);
  const int most = gpu_card().multiprocessors;
  const std::size_t bytes = copies * static_cast<std::size_t>(most) * vectors * sizeof(uint4);
  const DeviceBuffer data(*gpu, bytes, "what is read");
  const DeviceBuffer where(*gpu, (static_cast<std::size_t>(launches * most) + 1) * sizeof(std::uint32_t), "where");
  check_cuda(cudaMemset(data.data(), 0, bytes), "cudaMemset");
  check_cuda(cudaFuncSetAttribute(read_own, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes),
             "cudaFuncSetAttribute");
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (int blocks = 32; blocks <= most; blocks += blocks >= 64 && blocks < 72 ? 2 : 4)
    for (const bool waits : {false, true}) {
      const Row row = measure(stream, static_cast<const uint4*>(data.data()), most, blocks, waits,
                              static_cast<std::uint32_t*>(where.data()));
      rows.push_back({{"blocks", row.blocks},
                      {"waits", row.waits},
                      {"us", row.microseconds},
                      {"pairs_with_two", row.shared_pairs}});
      std::printf("%d blocks, %s: %.1f us, %.1f pairs with two\n", row.blocks, waits ? "waiting" : "beginning early",
                  row.microseconds, row.shared_pairs);
    }
  const nlohmann::ordered_json document = {
      {"receipt", bench::machine_receipt(*gpu)},
      {"method", "40 launches in a CUDA graph, medians of 9; pairs in the mean of the last 20"},
      {"bytes_of_a_block", vectors * sizeof(uint4)},
      {"rows", rows}};
  std::ofstream(path) << document.dump(1) << '\n';
}

}  // namespace
}  // namespace lapidary

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "lapidary_placement FILE\n");
    return 2;
  }
  try {
    lapidary::measure_all(argv[1]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
