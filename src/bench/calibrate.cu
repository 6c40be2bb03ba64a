#include "bench/calibrate.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <numeric>

#include "bench/calibration_kernels.cuh"
#include "bench/random_fill.hpp"
#include "core/math.hpp"
#include "device/launch.hpp"

namespace lapidary::bench {
namespace {

using namespace calibration;

constexpr int repetitions = 7;

/// For the time of a launch.
__global__ void nothing() {}

Constant constant(std::string name, std::string unit, std::string meaning, std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return {std::move(name), std::move(unit), std::move(meaning), samples[samples.size() / 2],
          samples.front(), samples.back()};
}

class Bench {
 public:
  explicit Bench(Device& gpu)
      : gpu_(gpu),
        multiprocessors_(gpu.properties().multiprocessors),
        memory_(gpu, std::size_t{1} << 31, "memory to read"),
        cycles_(gpu, 64 * 1024 * sizeof(long long), "cycles"),
        sink_(gpu, 4096 * sizeof(float), "sink") {
    fill(Type::f32);
    check_cuda(cudaEventCreate(&begin_), "cudaEventCreate");
    check_cuda(cudaEventCreate(&end_), "cudaEventCreate");
  }
  ~Bench() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }

  void fill(Type type) {
    fill_normal(gpu_, type, memory_.data(), static_cast<std::int64_t>(memory_.bytes()) / size_of(type), 1);
  }

  std::vector<Constant> constants;

  /// Cycles of one operation of all warps of a multiprocessor, over the blocks' mean.
  template <class Operation>
  void cycles(const char* name, const char* meaning, int warps, int rounds = 64, int blocks = 0, std::int64_t words = 0,
              double scale = 1, const char* unit = "cycles") {
    if (blocks == 0) blocks = multiprocessors_;
    if (words == 0) words = 1 << 20;
    const Arguments arguments = arguments_of(words, rounds);
    constexpr int shared = 64 * 1024;
    check_cuda(cudaFuncSetAttribute(time_rounds<Operation>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared), name);
    std::vector<double> samples;
    for (int repetition = -2; repetition < repetitions; ++repetition) {
      time_rounds<Operation><<<blocks, warps * 32, shared>>>(arguments);
      check_cuda(cudaGetLastError(), name);
      std::vector<long long> found(static_cast<std::size_t>(blocks));
      gpu_.synchronize();
      check_cuda(cudaMemcpy(found.data(), cycles_.data(), found.size() * sizeof(long long), cudaMemcpyDefault), name);
      const double mean = static_cast<double>(std::accumulate(found.begin(), found.end(), 0LL)) / blocks;
      if (repetition >= 0) samples.push_back(scale * mean / rounds / Operation::operations);
    }
    constants.push_back(constant(name, unit, meaning, samples));
  }

  /// Bytes that each of `active` multiprocessors reads a cycle from a set of `bytes` bytes, by the time of the launch
  /// at the card's highest clock, at which it runs this short.
  template <class Operation>
  void bandwidth(const char* name, const char* meaning, int active, std::int64_t bytes, int threads,
                 int bytes_of_operation) {
    const int rounds = std::max(64, static_cast<int>(bytes / bytes_of_operation / active / Operation::operations));
    int shared = 64 * 1024;
    Arguments arguments = arguments_of(bytes / 4, rounds);
    if constexpr (requires { Operation::map; }) {
      arguments.map = Operation::map(arguments.memory, arguments.words);
      shared = Operation::shared;
    }
    check_cuda(cudaFuncSetAttribute(time_rounds<Operation>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared), name);
    const double cycles_per_ms = gpu_.properties().clock_mhz * 1e3;
    std::vector<double> samples;
    for (int repetition = -2; repetition < repetitions; ++repetition) {
      check_cuda(cudaEventRecord(begin_), name);
      time_rounds<Operation><<<active, threads, shared>>>(arguments);
      check_cuda(cudaEventRecord(end_), name);
      check_cuda(cudaEventSynchronize(end_), name);
      float milliseconds = 0;
      check_cuda(cudaEventElapsedTime(&milliseconds, begin_, end_), name);
      if (repetition >= 0)
        samples.push_back(static_cast<double>(bytes_of_operation) * rounds * Operation::operations /
                          (milliseconds * cycles_per_ms));
    }
    constants.push_back(constant(name, "bytes / cycle / multiprocessor", meaning, samples));
  }

  /// Latency of a chain of loads by one lane through `bytes` bytes, a line of another kilobyte each time. What is warm
  /// has been walked through before; what is cold is a part of the memory that no repetition has touched.
  void latency(const char* name, const char* meaning, std::int64_t bytes, bool warm) {
    const std::size_t words = static_cast<std::size_t>(bytes / 4), jump = 1024 / 4 + 32;
    std::vector<unsigned> chain(words);
    for (std::size_t i = 0; i < words; ++i) chain[i] = static_cast<unsigned>((i + jump) % words);
    check_cuda(cudaMemcpy(memory_.data(), chain.data(), words * 4, cudaMemcpyDefault), name);
    // As often around as the lines of all kilobytes take, and again for those that are to be warm.
    const int around = static_cast<int>(words / 32 / GlobalChase::operations);
    const int rounds = warm ? 8 * around : 256;
    Arguments arguments = arguments_of(static_cast<std::int64_t>(words), rounds);
    std::vector<double> samples;
    for (int repetition = -2; repetition < repetitions; ++repetition) {
      if (!warm) arguments.start = static_cast<unsigned>((repetition + 2) * (words / (repetitions + 2)));
      time_rounds<GlobalChase><<<1, 1>>>(arguments);
      long long found = 0;
      check_cuda(cudaMemcpy(&found, cycles_.data(), sizeof(found), cudaMemcpyDefault), name);
      if (repetition >= 0) samples.push_back(static_cast<double>(found) / rounds / GlobalChase::operations);
    }
    constants.push_back(constant(name, "cycles", meaning, samples));
    fill_normal(gpu_, Type::f32, memory_.data(), static_cast<std::int64_t>(words), 1);
  }

  /// Nanoseconds from one launch of `blocks` empty blocks to the next.
  void launches(const char* name, const char* meaning, int blocks, int threads, double scale, const char* unit) {
    std::vector<double> samples;
    constexpr int count = 200;
    for (int repetition = -2; repetition < repetitions; ++repetition) {
      check_cuda(cudaEventRecord(begin_), name);
      for (int i = 0; i < count; ++i) nothing<<<blocks, threads>>>();
      check_cuda(cudaEventRecord(end_), name);
      check_cuda(cudaEventSynchronize(end_), name);
      float milliseconds = 0;
      check_cuda(cudaEventElapsedTime(&milliseconds, begin_, end_), name);
      if (repetition >= 0) samples.push_back(scale * milliseconds * 1e6 / count);
    }
    constants.push_back(constant(name, unit, meaning, samples));
  }

  int multiprocessors() const { return multiprocessors_; }

 private:
  Device& gpu_;
  Arguments arguments_of(std::int64_t words, int rounds) const {
    return {.cycles = static_cast<long long*>(cycles_.data()),
            .sink = static_cast<float*>(sink_.data()),
            .memory = static_cast<const float*>(memory_.data()),
            .words = words,
            .rounds = rounds};
  }

  int multiprocessors_;
  DeviceBuffer memory_, cycles_, sink_;
  cudaEvent_t begin_, end_;
};

}  // namespace

std::vector<Constant> calibrate(Device& gpu) {
  Bench bench(gpu);
  const int all = bench.multiprocessors();

  // Cycles a warp instruction takes of the whole multiprocessor: per operation of one warp.
  bench.cycles<FfmaChain<1>>("ffma_latency", "a multiply-add that needs the one before it", 1, 64);
  bench.cycles<FfmaChain<4>>("ffma_16_warps", "a multiply-add of one of 16 warps, 4 chains each", 16, 64, 0, 0,
                             1 / 16.0);
  bench.cycles<Ffma<8, 8, true, 4>>("ffma_8x8_there_and_back",
                                    "a multiply-add of an 8 x 8 outer product, rows walked there and back, 8 warps", 8,
                                    64, 0, 0, 1 / 8.0);
  bench.cycles<Ffma<8, 8, false, 4>>("ffma_8x8_plain", "the same, every row from its beginning", 8, 64, 0, 0, 1 / 8.0);
  bench.cycles<Ffma<8, 8, true, 4>>("ffma_8x8_there_and_back_16", "there and back, 16 warps", 16, 64, 0, 0, 1 / 16.0);
  bench.cycles<Ffma<8, 8, false, 4>>("ffma_8x8_plain_16", "plain, 16 warps", 16, 64, 0, 0, 1 / 16.0);
  bench.cycles<Ffma<4, 4, false, 4>>("ffma_4x4_plain", "4 x 4, plain, 16 warps", 16, 64, 0, 0, 1 / 16.0);
  bench.cycles<Ffma<8, 16, true, 4>>("ffma_8x16_there_and_back", "8 x 16, there and back, 8 warps", 8, 64, 0, 0,
                                     1 / 8.0);
  // Code that outgrows the instruction caches.
  bench.cycles<Ffma<8, 8, true, 32>>("ffma_8x8_32", "32 outer products a round, 8 warps", 8, 64, 0, 0, 1 / 8.0);
  bench.cycles<Ffma<8, 8, true, 32>>("ffma_8x8_32_16", "32 outer products a round, 16 warps", 16, 64, 0, 0, 1 / 16.0);
  bench.cycles<FfmaChain<8, 8 * 64>>("ffma_code_8k", "a multiply-add in a loop of 8 KiB, 8 warps", 8, 64, 0, 0,
                                     1 / 8.0);
  bench.cycles<FfmaChain<8, 16 * 64>>("ffma_code_16k", "in a loop of 16 KiB", 8, 64, 0, 0, 1 / 8.0);
  bench.cycles<FfmaChain<8, 32 * 64>>("ffma_code_32k", "in a loop of 32 KiB", 8, 64, 0, 0, 1 / 8.0);
  bench.cycles<FfmaChain<8, 64 * 64>>("ffma_code_64k", "in a loop of 64 KiB", 8, 64, 0, 0, 1 / 8.0);
  bench.cycles<FfmaChain<8, 128 * 64>>("ffma_code_128k", "in a loop of 128 KiB", 8, 64, 0, 0, 1 / 8.0);
  bench.cycles<FfmaChain<8, 64 * 64>>("ffma_code_64k_16", "in a loop of 64 KiB, 16 warps", 16, 64, 0, 0, 1 / 16.0);
  bench.cycles<Integer<false>>("logic_16_warps", "two logic operations, 16 warps", 16, 64, 0, 0, 1 / 16.0);
  bench.cycles<Integer<true>>("imad_16_warps", "an integer multiply-add, 16 warps", 16, 64, 0, 0, 1 / 16.0);
  bench.cycles<HalfToFloat>("half_to_float_16_warps", "a conversion of a half and half a multiply-add, 16 warps", 16,
                            64, 0, 0, 1 / 16.0);
  bench.cycles<Mixed<false>>("imad_and_3_ffma_16_warps", "an integer multiply-add and three multiply-adds, 16 warps",
                             16, 64, 0, 0, 1 / 16.0);
  bench.cycles<Mixed<true>>("half_to_float_and_3_ffma_16_warps",
                            "a conversion of a half and three multiply-adds, 16 warps", 16, 64, 0, 0, 1 / 16.0);

  bench.cycles<SharedChase>("shared_latency", "a 32-bit load of shared memory that needs the one before it", 1, 64);
  bench.cycles<SharedLoad<float, 4>>("lds32", "a 32-bit load, neighbours, 32 warps", 32, 64, 0, 0, 1 / 32.0);
  bench.cycles<SharedLoad<float, 0>>("lds32_broadcast", "a 32-bit load, one word", 32, 64, 0, 0, 1 / 32.0);
  bench.cycles<SharedLoad<float, 8>>("lds32_conflict_2", "a 32-bit load, 2-way conflict", 32, 64, 0, 0, 1 / 32.0);
  bench.cycles<SharedLoad<float, 32>>("lds32_conflict_8", "a 32-bit load, 8-way conflict", 32, 64, 0, 0, 1 / 32.0);
  bench.cycles<SharedLoad<float2, 8>>("lds64", "a 64-bit load, neighbours, 2 wavefronts", 32, 64, 0, 0, 1 / 32.0);
  bench.cycles<SharedLoad<float4, 16>>("lds128", "a 128-bit load, neighbours, 4 wavefronts", 32, 64, 0, 0, 1 / 32.0);
  bench.cycles<SharedLoad<float4, 16, 1>>("lds128_pairs", "a 128-bit load, pairs of lanes agree, 2 wavefronts", 32, 64,
                                          0, 0, 1 / 32.0);
  bench.cycles<SharedLoad<float4, 0>>("lds128_broadcast", "a 128-bit load of one address, 2 wavefronts", 32, 64, 0, 0,
                                      1 / 32.0);
  bench.cycles<SharedLoad<float4, 16>>("lds128_4_warps", "a 128-bit load, neighbours, one warp a scheduler", 4, 64, 0,
                                       0, 1 / 4.0);
  bench.cycles<SharedLoad<float4, 16>>("lds128_1_warp", "a 128-bit load, neighbours, one warp", 1, 64);
  bench.cycles<SharedStore<float, 4>>("sts32", "a 32-bit store, neighbours", 32, 64, 0, 0, 1 / 32.0);
  bench.cycles<SharedStore<float, 16>>("sts32_conflict_4", "a 32-bit store, 4-way conflict", 32, 64, 0, 0, 1 / 32.0);
  bench.cycles<SharedStore<float4, 16>>("sts128", "a 128-bit store, neighbours", 32, 64, 0, 0, 1 / 32.0);
  bench.cycles<SharedFfma<8, 8>>("ffma_8x8_shared",
                                 "a multiply-add of 8 x 8 outer products on 4 128-bit loads each, 16 warps", 16, 64, 0,
                                 0, 1 / 16.0);
  bench.cycles<SharedFfma<4, 4>>("ffma_4x4_shared", "4 x 4 on 2 loads, 16 warps", 16, 64, 0, 0, 1 / 16.0);

  bench.latency("l1_latency", "a load that L1 holds", 32 << 10, true);
  bench.latency("l2_latency", "a load that L2 holds", 4 << 20, true);
  bench.latency("dram_latency", "a load that no cache holds", std::int64_t{1} << 30, false);
  bench.cycles<L1Load<float, 4>>("l1_32", "a 32-bit load that L1 holds, neighbours: one line", 32, 64, 0, 0, 1 / 32.0);
  bench.cycles<L1Load<float, 0>>("l1_32_broadcast", "one word", 32, 64, 0, 0, 1 / 32.0);
  bench.cycles<L1Load<float, 32>>("l1_32_8_lines", "lanes a sector apart: 8 lines", 32, 64, 0, 0, 1 / 32.0);
  bench.cycles<L1Load<float, 128>>("l1_32_32_lines", "lanes a line apart: 32 lines", 32, 64, 0, 0, 1 / 32.0);
  bench.cycles<L1Load<float4, 16>>("l1_128", "a 128-bit load, neighbours: 4 lines", 32, 64, 0, 0, 1 / 32.0);
  constexpr int threads = 1024, vector = 16;
  bench.bandwidth<StreamLoad>("l2_bytes_all", "reading 24 MiB that L2 holds, all multiprocessors", all, 24 << 20,
                              threads, threads * vector);
  bench.bandwidth<StreamLoad>("l2_bytes_one", "the same, one multiprocessor", 1, 8 << 20, threads, threads * vector);
  bench.bandwidth<StreamLoad>("dram_bytes_all", "reading 2 GiB, all multiprocessors", all, std::int64_t{1} << 31,
                              threads, threads * vector);
  bench.cycles<ResultStore>("store_8_lines_one",
                            "a 32-bit store to four neighbours of each of 8 lines that L2 holds, 8 "
                            "warps of one multiprocessor",
                            8, 64, 1, 0, 1 / 8.0);
  bench.cycles<ResultStore>("store_8_lines", "the same, all multiprocessors", 8, 64, 0, 0, 1 / 8.0);
  bench.fill(Type::f32);
  bench.cycles<AsyncCopy<4>>("cp_async_4", "an asynchronous copy of 4 bytes a lane, 8 warps", 8, 64, 0, 0, 1 / 8.0);
  bench.cycles<AsyncCopy<16>>("cp_async_16", "of 16 bytes a lane, 8 warps", 8, 64, 0, 0, 1 / 8.0);

  // Products of tensor cores: cycles that one takes of a scheduler's, 4 warps on each of them unless said.
  bench.cycles<MmaChain<Mma<bf16, bf16, float, 16, 8, 16>, 1>>(
      "mma_latency", "mma.sync m16n8k16 in bf16 that needs the one before it", 1, 64);
  bench.cycles<MmaChain<Mma<bf16, bf16, float, 16, 8, 16>, 8>>(
      "mma_bf16_16816_1", "mma.sync m16n8k16 in bf16 of a scheduler, 8 chains of one warp", 4, 64);
  bench.cycles<MmaChain<Mma<bf16, bf16, float, 16, 8, 16>, 4>>(
      "mma_bf16_16816", "mma.sync m16n8k16 in bf16 of a scheduler", 16, 64, 0, 0, 1 / 4.0);
  bench.cycles<MmaChain<Mma<f16, f16, float, 16, 8, 16>, 4>>("mma_f16_16816", "in f16, sums in f32", 16, 64, 0, 0,
                                                             1 / 4.0);
  bench.cycles<MmaChain<Mma<bf16, bf16, float, 16, 8, 8>, 4>>("mma_bf16_1688", "m16n8k8 in bf16", 16, 64, 0, 0,
                                                              1 / 4.0);
  bench.cycles<MmaChain<Mma<tf32, tf32, float, 16, 8, 8>, 4>>("mma_tf32_1688", "m16n8k8 in tf32", 16, 64, 0, 0,
                                                              1 / 4.0);
  bench.cycles<MmaChain<Mma<std::int8_t, std::int8_t, std::int32_t, 16, 8, 32>, 4>>(
      "mma_s8_16832", "m16n8k32 of integers of 8 bits", 16, 64, 0, 0, 1 / 4.0);
  bench.cycles<MmaTile<Mma<bf16, bf16, float, 16, 8, 16>, 4, 4>>(
      "mma_bf16_16816_tile", "m16n8k16 of 4 x 4 fragments of a tile, on other ones of A and B each step", 16, 64, 0, 0,
      1 / 4.0);
  bench.cycles<MmaTile<Mma<bf16, bf16, float, 16, 8, 8>, 4, 4>>("mma_bf16_1688_tile", "m16n8k8 likewise", 16, 64, 0, 0,
                                                                1 / 4.0);
  bench.cycles<MatrixLoad<16, true>>("ldmatrix_latency", "ldmatrix x4 that needs the one before it", 1, 64);
  bench.cycles<MatrixLoad<16>>("ldmatrix_x4", "ldmatrix x4, 4 wavefronts, 32 warps", 32, 64, 0, 0, 1 / 32.0);
  bench.cycles<MatrixLoad<256>>("ldmatrix_x4_conflict_8", "ldmatrix x4, 8-way conflict", 32, 64, 0, 0, 1 / 32.0);
  if (gpu.properties().compute_capability == 90) {
    bench.fill(Type::bf16);
    bench.cycles<WarpgroupProducts<256>>("wgmma_n256_1", "wgmma m64n256k16 in bf16, one warpgroup", 4, 64);
    bench.cycles<WarpgroupProducts<256>>("wgmma_n256", "wgmma m64n256k16 in bf16, two warpgroups", 8, 64, 0, 0,
                                         1 / 2.0);
    bench.cycles<WarpgroupProducts<192>>("wgmma_n192", "m64n192k16", 8, 64, 0, 0, 1 / 2.0);
    bench.cycles<WarpgroupProducts<128>>("wgmma_n128", "m64n128k16", 8, 64, 0, 0, 1 / 2.0);
    bench.cycles<WarpgroupProducts<64>>("wgmma_n64", "m64n64k16", 8, 64, 0, 0, 1 / 2.0);
    bench.cycles<WarpgroupProducts<32>>("wgmma_n32", "m64n32k16", 8, 64, 0, 0, 1 / 2.0);
    bench.cycles<WarpgroupProducts<8>>("wgmma_n8", "m64n8k16", 8, 64, 0, 0, 1 / 2.0);
    bench.cycles<WarpgroupProducts<256, true>>("wgmma_n256_registers", "m64n256k16 with A in registers", 8, 64, 0, 0,
                                               1 / 2.0);
    bench.cycles<WarpgroupProducts<64, true>>("wgmma_n64_registers", "m64n64k16 with A in registers", 8, 64, 0, 0,
                                              1 / 2.0);
    constexpr int box = TensorLoad<1>::bytes;
    bench.bandwidth<TensorLoad<1>>("tensor_bytes_all", "boxes of 16 KiB of 24 MiB that L2 holds, all multiprocessors",
                                   all, 24 << 20, 32, box);
    bench.bandwidth<TensorLoad<4>>("tensor_bytes_4", "the same, each 4 of them the same boxes at the same time", all,
                                   24 << 20, 32, box);
    bench.bandwidth<TensorLoad<16>>("tensor_bytes_16", "each 16 of them", all, 24 << 20, 32, box);
    bench.bandwidth<TensorLoad<1>>("tensor_bytes_one", "one multiprocessor", 1, 8 << 20, 32, box);
  }

  bench.cycles<Barrier>("barrier_4", "a barrier of 4 warps", 4, 64);
  bench.cycles<Barrier>("barrier_8", "a barrier of 8 warps", 8, 64);
  bench.cycles<Barrier>("barrier_32", "a barrier of 32 warps", 32, 64);
  bench.launches("launch_gap", "from one launch of an empty kernel to the next, a block for each multiprocessor", all,
                 256, 1, "ns");
  bench.launches("block_launch_256", "one more empty block of 256 threads, over the whole card", 64 * 1024, 256,
                 1 / 65536.0, "ns");
  bench.launches("block_launch_1024", "one more empty block of 1024 threads", 64 * 1024, 1024, 1 / 65536.0, "ns");
  return bench.constants;
}

}  // namespace lapidary::bench
