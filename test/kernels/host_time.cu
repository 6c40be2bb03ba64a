// What a launch costs the host: a prepared launch of kernels of the ladder, the library's run() of a plan and its
// gemm() beside the least that there could be, a bare cudaLaunchKernelExC of an empty kernel with the same parameters,
// shape and attributes; and what part of the time from one launch to the next that is.
//
//   lapidary_host_time [--output FILE] [options of Google Benchmark]
#include <benchmark/benchmark.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <fstream>
#include <functional>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cuda_launches.hpp"
#include "bench/receipt.hpp"
#include "device/cuda_check.hpp"
#include "device/device.hpp"
#include "device/launch.hpp"
#include "kernels/registry.hpp"
#include "kernels/wgmma/wgmma_energy.cuh"
#include "kernels/wgmma/wgmma_overlapped.cuh"
#include "lapidary/gemm.hpp"

namespace lapidary {
namespace {

/// In one batch; few enough for the device's queue, which would hold the host up.
constexpr int launches = 64;

/// A way to do the same, over and over.
struct Way {
  const char* name;
  std::function<void()> launch;
  const char* over = nullptr;  ///< the way that it is compared with, one that stands before it
};

/// Of a launch in a batch that begins and ends with an empty stream.
double host_microseconds(cudaStream_t stream, const Way& way) {
  check_cuda(cudaStreamSynchronize(stream), "the launches before");
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < launches; ++i) way.launch();
  const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - begin;
  check_cuda(cudaStreamSynchronize(stream), way.name);
  return taken.count() / launches;
}

/// From one launch to the next on the device.
double microseconds_between(cudaStream_t stream, const Way& way) {
  bench::Event begin, end;
  way.launch();
  begin.record(stream);
  for (int i = 0; i < launches; ++i) way.launch();
  end.record(stream);
  end.wait();
  return 1e3 * end.milliseconds_since(begin) / launches;
}

double quantile(std::vector<double> values, double part) {
  const auto at = static_cast<std::ptrdiff_t>(part * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

/// Does it in all ways in turns, in another order each time. An iteration's time is that of the last way, of one
/// launch; what one takes more than another is taken of the batches of one turn, for the host's clock drifts.
void measure(benchmark::State& state, cudaStream_t stream, const std::vector<Way>& ways) {
  constexpr int warm_up = 20;
  std::vector<std::vector<double>> host(ways.size()), between(ways.size());
  const auto count = static_cast<int>(ways.size());
  std::vector<std::size_t> order(ways.size());
  for (int turn = -warm_up; turn < 0 || state.KeepRunning(); ++turn) {
    // Each way begins as often as any other, and each stands in front of another as often as behind it.
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::rotate(order.begin(), order.begin() + (turn + warm_up) % count, order.end());
    if ((turn + warm_up) / count % 2 == 1) std::reverse(order.begin(), order.end());
    for (const std::size_t i : order) {
      const double taken = host_microseconds(stream, ways[i]), device = microseconds_between(stream, ways[i]);
      if (turn < 0) continue;
      host[i].push_back(taken);
      between[i].push_back(device);
    }
    if (turn >= 0) state.SetIterationTime(1e-6 * host.back().back());
  }
  for (std::size_t i = 0; i < ways.size(); ++i) {
    const std::string name = ways[i].name;
    state.counters[name + "_us"] = quantile(host[i], 0.5);
    state.counters[name + "_between_us"] = quantile(between[i], 0.5);
    if (!ways[i].over) continue;
    const auto other = static_cast<std::size_t>(
        std::find_if(ways.begin(), ways.end(),
                     [&](const Way& way) { return std::string_view(way.name) == ways[i].over; }) -
        ways.begin());
    std::vector<double> more(host[i].size());
    std::transform(host[i].begin(), host[i].end(), host[other].begin(), more.begin(), std::minus<>());
    for (const auto& [suffix, part] : {std::pair{"_us", 0.5}, {"_q1_us", 0.25}, {"_q3_us", 0.75}})
      state.counters[name + "_over_" + ways[i].over + suffix] = quantile(more, part);
  }
}

template <class... Parameters>
__global__ void empty(const __grid_constant__ Parameters...) {}

/// A launch with nothing of ours in it: all that it needs is made beforehand.
template <class... Parameters>
class BareLaunch {
 public:
  BareLaunch(const void* kernel, const Prepared& prepared, cudaStream_t stream) : kernel_(kernel), shape_(prepared) {
    constexpr auto offsets = argument_offsets<Parameters...>();
    if (prepared.bytes != offsets.back()) throw std::logic_error("these are not the kernel's parameters");
    for (std::size_t i = 0; i < sizeof...(Parameters); ++i) pointers_[i] = shape_.arguments.data() + offsets[i];
    enable_on_gpu(kernel, prepared.shape);
    const auto [grid, block, cluster] = std::tuple{prepared.shape.grid, prepared.shape.block, prepared.shape.cluster};
    config_.gridDim = dim3(grid.x, grid.y, grid.z);
    config_.blockDim = dim3(block.x, block.y, block.z);
    config_.dynamicSmemBytes = prepared.shape.shared_bytes;
    config_.stream = stream;
    config_.attrs = attributes_.data();
    if (cluster.x * cluster.y * cluster.z > 1) {
      cudaLaunchAttribute& attribute = attributes_[config_.numAttrs++];
      attribute.id = cudaLaunchAttributeClusterDimension;
      attribute.val.clusterDim = {cluster.x, cluster.y, cluster.z};
    }
    if (prepared.shape.overlaps) {
      cudaLaunchAttribute& attribute = attributes_[config_.numAttrs++];
      attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
      attribute.val.programmaticStreamSerializationAllowed = 1;
    }
  }
  BareLaunch(const BareLaunch&) = delete;
  void operator()() { check_cuda(cudaLaunchKernelExC(&config_, kernel_, pointers_.data()), "cudaLaunchKernelExC"); }

 private:
  const void* kernel_;
  Prepared shape_;
  std::array<void*, sizeof...(Parameters)> pointers_{};
  std::array<cudaLaunchAttribute, 2> attributes_{};
  cudaLaunchConfig_t config_{};
};

/// A kernel of the ladder on a cube; one that the library has by its plan too. The type of its function is that of the
/// null pointer.
template <class... Parameters>
void time_launches(benchmark::State& state, const KernelEntry& kernel, bool in_library, void (*)(Parameters...)) {
  const auto gpu = open_gpu();
  const Stream stream = gpu->stream();
  const auto cuda = static_cast<cudaStream_t>(stream.cuda);
  const std::int64_t n = state.range(0);
  const auto bytes = static_cast<std::size_t>(n * n) * sizeof(float);
  const DeviceBuffer a(*gpu, bytes, "A"), b(*gpu, bytes, "B"), d(*gpu, bytes, "D");
  for (const DeviceBuffer* buffer : {&a, &b}) check_cuda(cudaMemset(buffer->data(), 0x3c, bytes), "cudaMemset");
  const Problem problem = {.kind = kernel.kind, .M = n, .N = n, .K = n};
  const Operands operands = {.A = a.data(), .B = b.data(), .D = d.data()};
  const Prepared prepared = prepare(kernel, Build::gpu, problem, card_of(stream));
  // One whose arguments have addresses, for the bare launch of the same kernel.
  Prepared placed = prepared;
  for (int i = 0; i < placed.slots; ++i) {
    const ArgumentSlot& slot = placed.slot[static_cast<std::size_t>(i)];
    std::byte* const at = placed.arguments.data() + slot.offset;
    const void* const address = operands[slot.matrix];
    if (slot.kind == ArgumentSlot::Kind::pointer) std::memcpy(at, &address, sizeof(address));
    if (slot.kind == ArgumentSlot::Kind::tensor_map) replace_address(*reinterpret_cast<TensorMap*>(at), address);
  }
  BareLaunch<Parameters...> of_empty(reinterpret_cast<const void*>(empty<Parameters...>), placed, cuda),
      of_kernel(prepared.kernel, placed, cuda);
  std::vector<Way> ways = {{"empty", std::ref(of_empty)},
                           {"bare", std::ref(of_kernel)},
                           {"anew", [&] { run(kernel, Build::gpu, stream, problem, operands); }},
                           {"prepared", [&] { prepared.launch(stream, operands); }, "empty"}};
  Context context(*gpu);
  const GemmOptions options = {.kernel = kernel.id()};
  const auto view = [n](void* data, Type type, Order order) {
    return order == Order::row_major ? row_major_view(data, type, n, n) : column_major_view(data, type, n, n);
  };
  const MatrixView A = view(a.data(), kernel.kind.type, kernel.kind.a),
                   B = view(b.data(), kernel.kind.type, kernel.kind.b),
                   D = view(d.data(), kernel.kind.result, Order::row_major);
  std::optional<Plan> plan;
  if (in_library) {
    plan = context.plan(problem, options);
    ways.push_back({"run", [&] { context.run(*plan, stream, operands); }, "empty"});
    ways.push_back({"gemm", [&] { gemm(stream, 1, A, B, 0, {}, D, options); }, "run"});
  }
  measure(state, cuda, ways);
}

/// Of a problem that is planned for the first time, the tables read.
void time_planning(benchmark::State& state) {
  std::int64_t n = 0;
  for (auto _ : state) {
    Plan made = plan(
        {.kind = {Type::f16, Type::f16, Order::row_major, Order::column_major}, .M = ++n, .N = 4096, .K = 4096},
        "h200");
    benchmark::DoNotOptimize(made);
  }
}

void time_preparing(benchmark::State& state, const KernelEntry& kernel) {
  const Problem problem = {.kind = kernel.kind, .M = 1024, .N = 1024, .K = 1024};
  const Card card = gpu_card();
  for (auto _ : state) {
    Prepared prepared = prepare(kernel, Build::gpu, problem, card);
    benchmark::DoNotOptimize(prepared);
  }
}

/// Prints, and keeps the counters of each run.
class Recorder : public benchmark::ConsoleReporter {
 public:
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  bool failed = false;

  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      failed = failed || run.error_occurred;
      nlohmann::ordered_json result = {{"name", run.run_name.str()}, {"us", run.GetAdjustedRealTime()}};
      for (const auto& [name, counter] : run.counters) result[name] = std::round(1e4 * counter.value) / 1e4;
      results.push_back(result);
    }
  }
};

template <class... Parameters>
void add(const char* rung, const char* tile, void (*parameters)(Parameters...), bool in_library = true) {
  const Rung& of = find_rung(rung);
  const KernelEntry& kernel = of.kernel(of.kernels.front().kind, tile);
  const int most = kernel.kind.type == Type::f32 ? 256 : 1024;  // above, CUDA cores take long, and hide the host
  benchmark::RegisterBenchmark(("launch/" + kernel.id()).c_str(),
                               [&kernel, parameters, in_library](benchmark::State& state) {
                                 time_launches(state, kernel, in_library, parameters);
                               })
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond)
      ->Iterations(300)
      ->RangeMultiplier(2)
      ->Range(128, most);
  benchmark::RegisterBenchmark(("prepare/" + kernel.id()).c_str(), [&kernel](benchmark::State& state) {
    time_preparing(state, kernel);
  })->Unit(benchmark::kMicrosecond);
}

/// The parameters of wgmma_kernel<Config>, which is not named here: nvcc would compile it once more.
template <class Config>
constexpr void (*parameters_of)(typename Config::A::Map, typename Config::B::Map, typename Config::Epilogue::Map,
                                Gemm<typename Config::Element, typename Config::Result>,
                                typename Config::Walk) = nullptr;

int measure_all(int argc, char** argv) {
  std::optional<std::string> output;
  std::vector<char*> arguments = {argv[0]};
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--output" && i + 1 < argc)
      output = argv[++i];
    else
      arguments.push_back(argv[i]);
  }
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;

  constexpr GemmKind bf16_tn(Type::bf16, Type::bf16, Order::row_major, Order::column_major);
  using Cluster = wgmma_cluster::Config<of_numbers(wgmma_cluster::traits(bf16_tn))>;
  using Energy = wgmma_energy::Config<of_numbers(wgmma_energy::traits(bf16_tn))>;
  using Overlapped =
      wgmma_overlapped::Config<of_numbers(wgmma_overlapped::smaller(64, 8, Type::bf16, Order::column_major))>;
  void (*const of_f32)(Gemm<float>) = nullptr;
  void (*const of_bf16)(Gemm<bf16>) = nullptr;
  add("coalesced", "", of_f32, false);
  add("multistage", "", of_f32);
  add("mma_multistage", "", of_bf16);
  add("wgmma_cluster", "", parameters_of<Cluster>);
  add("wgmma_energy", "", parameters_of<Energy>);
  add("wgmma_overlapped", "128x64x64", parameters_of<Overlapped>);
  benchmark::RegisterBenchmark("plan/f16", time_planning)->Unit(benchmark::kMicrosecond);

  Recorder recorder;
  benchmark::RunSpecifiedBenchmarks(&recorder);
  benchmark::Shutdown();
  if (output) {
    nlohmann::ordered_json document = {{"receipt", bench::machine_receipt(*open_gpu())}, {"results", recorder.results}};
    document["receipt"]["launches"] = launches;
    std::ofstream(*output) << document.dump(2) << '\n';
  }
  return recorder.failed ? 1 : 0;
}

}  // namespace
}  // namespace lapidary

int main(int argc, char** argv) {
  try {
    return lapidary::measure_all(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
