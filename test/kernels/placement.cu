// Where the blocks of a launch come to run, and how long they take: of launches that may begin while the one in front
// of them ends (programmatic dependent launch), and of such that wait for it. Each block fills a multiprocessor's
// shared memory and reads 2 MiB of its own from DRAM. Told is how blocks are spread over the card's GPCs (graphics
// processing clusters), of which a cluster of blocks runs in one.
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
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "bench/cuda_launches.hpp"
#include "bench/receipt.hpp"
#include "device/cuda_check.hpp"
#include "device/device.hpp"
#include "ptx/clock.hpp"
#include "ptx/grid.hpp"
#include "ptx/multiprocessor.hpp"

namespace lapidary {
namespace {

constexpr int threads = 512, shared_bytes = 200 * 1024, launches = 40, rounds = 9;
constexpr std::size_t vectors = (std::size_t{2} << 20) / sizeof(uint4);  // that a block reads
constexpr int copies = 4;                                                // together larger than L2

/// Where a block ran, and for how long.
struct Ran {
  std::uint32_t multiprocessor;
  std::int64_t nanoseconds;
};

__global__ void stay(Ran* ran) {
  if (threadIdx.x != 0) return;
  const std::int64_t begin = global_nanoseconds();
  while (global_nanoseconds() - begin < 20000) {
  }
  ran[blockIdx.x] = {multiprocessor(), 0};
}

__global__ void __launch_bounds__(threads) read_own(const uint4* data, Ran* ran, std::uint32_t* never) {
  grid_launch_dependents();
  grid_wait();
  const std::int64_t begin = global_nanoseconds();
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
  __syncthreads();
  if (threadIdx.x == 0) ran[blockIdx.x] = {multiprocessor(), global_nanoseconds() - begin};
}

/// A launch of one block for each multiprocessor that it finds idle.
struct Launch {
  cudaLaunchConfig_t config{};
  std::array<cudaLaunchAttribute, 1> attributes{};

  Launch(cudaStream_t stream, int blocks, int block_threads) {
    config.gridDim = dim3(static_cast<unsigned>(blocks));
    config.blockDim = dim3(static_cast<unsigned>(block_threads));
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream;
    config.attrs = attributes.data();
  }
  Launch(const Launch&) = delete;
};

std::vector<Ran> read_back(const Ran* ran, int count) {
  std::vector<Ran> found(static_cast<std::size_t>(count));
  check_cuda(cudaMemcpy(found.data(), ran, found.size() * sizeof(Ran), cudaMemcpyDeviceToHost), "cudaMemcpy");
  return found;
}

/// Of each multiprocessor the number of its GPC: multiprocessors that have run blocks of one cluster are in one. Those
/// that no cluster finds room on beside others of their GPC are left with a few of their own.
std::vector<int> gpcs(cudaStream_t stream, int multiprocessors, Ran* ran) {
  std::vector<int> of(static_cast<std::size_t>(multiprocessors));
  std::iota(of.begin(), of.end(), 0);
  check_cuda(cudaFuncSetAttribute(stay, cudaFuncAttributeNonPortableClusterSizeAllowed, 1), "clusters of 16");
  for (int size = 2; size <= 16; ++size) {
    Launch launch(stream, size, 32);
    launch.attributes[0].id = cudaLaunchAttributeClusterDimension;
    launch.attributes[0].val.clusterDim = {static_cast<unsigned>(size), 1, 1};
    launch.config.numAttrs = 1;
    int clusters = 0;
    check_cuda(cudaOccupancyMaxActiveClusters(&clusters, stay, &launch.config), "cudaOccupancyMaxActiveClusters");
    if (clusters == 0) continue;
    launch.config.gridDim.x = static_cast<unsigned>(clusters * size);
    check_cuda(cudaLaunchKernelEx(&launch.config, stay, ran), "stay");
    check_cuda(cudaStreamSynchronize(stream), "stay");
    const std::vector<Ran> found = read_back(ran, clusters * size);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const int one = of[found[i].multiprocessor],
                other = of[found[i / static_cast<std::size_t>(size) * static_cast<std::size_t>(size)].multiprocessor];
      std::replace(of.begin(), of.end(), one, other);
    }
  }
  return of;
}

/// Of each GPC the number of its multiprocessors.
std::map<int, int> sizes(const std::vector<int>& gpc_of) {
  std::map<int, int> size;
  for (const int gpc : gpc_of) ++size[gpc];
  return size;
}

struct Mean {
  double sum = 0;
  int count = 0;

  void add(double value) {
    sum += value;
    ++count;
  }
  nlohmann::ordered_json json() const {
    return count == 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(sum / count);
  }
};

nlohmann::ordered_json measure(cudaStream_t stream, const uint4* data, const std::vector<int>& gpc_of, int blocks,
                               bool waits, Ran* ran) {
  const auto most = static_cast<int>(gpc_of.size());
  auto* const never = reinterpret_cast<std::uint32_t*>(ran + launches * most);
  const bench::Graph graph(bench::captured(stream, [&] {
    for (int i = 0; i < launches; ++i) {
      Launch launch(stream, blocks, threads);
      launch.attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
      launch.attributes[0].val.programmaticStreamSerializationAllowed = 1;
      launch.config.numAttrs = waits ? 0 : 1;
      const uint4* const from = data + static_cast<std::size_t>(i % copies) * static_cast<std::size_t>(most) * vectors;
      check_cuda(cudaLaunchKernelEx(&launch.config, read_own, from, ran + i * most, never), "read_own");
    }
  }));
  bench::Event begin, end;
  std::array<double, rounds> taken{};
  for (double& each : taken) {
    begin.record(stream);
    graph.launch(stream);
    end.record(stream);
    end.wait();
    each = 1e3 * end.milliseconds_since(begin) / launches;
  }
  std::nth_element(taken.begin(), taken.begin() + rounds / 2, taken.end());

  std::map<int, int> size = sizes(gpc_of);
  const std::vector<Ran> found = read_back(ran, launches * most);
  Mean full_gpcs, in_full, in_others;
  for (int i = launches / 2; i < launches; ++i) {
    std::map<int, int> load;
    const auto each_block = [&](auto&& visit) {
      for (int block = 0; block < blocks; ++block) {
        const Ran& one = found[static_cast<std::size_t>(i * most + block)];
        visit(gpc_of[one.multiprocessor], 1e-3 * static_cast<double>(one.nanoseconds));
      }
    };
    each_block([&](int gpc, double) { ++load[gpc]; });
    const auto is_full = [&](int gpc) { return size[gpc] >= 8 && load[gpc] == size[gpc]; };
    each_block([&](int gpc, double us) { (is_full(gpc) ? in_full : in_others).add(us); });
    full_gpcs.add(static_cast<double>(
        std::count_if(load.begin(), load.end(), [&](const auto& one) { return is_full(one.first); })));
  }
  return {{"blocks", blocks},
          {"waits", waits},
          {"us", taken[rounds / 2]},
          {"full_gpcs", full_gpcs.json()},
          {"us_in_full_gpcs", in_full.json()},
          {"us_in_others", in_others.json()}};
}

void measure_all(const char* path) {
  const auto gpu = open_gpu();
  const auto stream = static_cast<cudaStream_t>(gpu->stream().cuda);
  const int most = gpu_card().multiprocessors;
  const std::size_t bytes = copies * static_cast<std::size_t>(most) * vectors * sizeof(uint4);
  const DeviceBuffer data(*gpu, bytes, "what is read");
  const DeviceBuffer memory(*gpu, (static_cast<std::size_t>(launches * most) + 1) * sizeof(Ran), "where blocks ran");
  auto* const ran = static_cast<Ran*>(memory.data());
  check_cuda(cudaMemset(data.data(), 0, bytes), "cudaMemset");
  for (const void* kernel : {reinterpret_cast<const void*>(stay), reinterpret_cast<const void*>(read_own)})
    check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes),
               "cudaFuncSetAttribute");
  const std::vector<int> gpc_of = gpcs(stream, most, ran);
  nlohmann::ordered_json of_gpcs = nlohmann::ordered_json::array(), rows = nlohmann::ordered_json::array();
  for (const auto& [gpc, multiprocessors] : sizes(gpc_of)) of_gpcs.push_back(multiprocessors);
  for (int blocks = 32; blocks <= most; blocks += blocks >= 64 && blocks < 72 ? 2 : 4)
    for (const bool waits : {false, true}) {
      rows.push_back(measure(stream, static_cast<const uint4*>(data.data()), gpc_of, blocks, waits, ran));
      std::printf("%s\n", rows.back().dump().c_str());
    }
  const nlohmann::ordered_json document = {
      {"receipt", bench::machine_receipt(*gpu)},
      {"method", "40 launches in a CUDA graph, medians of 9; of the last 20 launches where blocks ran, and how long"},
      {"bytes_of_a_block", vectors * sizeof(uint4)},
      {"multiprocessors_of_gpcs", of_gpcs},
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
