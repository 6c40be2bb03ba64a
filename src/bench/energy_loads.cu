#include "bench/energy_loads.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>

#include "bench/calibration_kernels.cuh"
#include "bench/random_fill.hpp"
#include "bench/sensors.hpp"
#include "device/cuda_check.hpp"

namespace lapidary::bench {
namespace {

using namespace calibration;
using PerRound = std::map<std::string, double>;  ///< what all blocks together do in a round

class Loads {
 public:
  Loads(Device& gpu, double seconds, const std::function<void(const EnergyLoad&)>& told)
      : gpu_(gpu),
        blocks_(gpu.properties().multiprocessors),
        seconds_(seconds),
        told_(told),
        memory_(gpu, std::size_t{1} << 31, "memory to read"),
        clocks_(gpu, 2 * 1024 * sizeof(long long), "clocks"),
        sink_(gpu, 4096 * sizeof(float), "sink") {}

  int blocks() const { return blocks_; }
  std::vector<EnergyLoad> loads;

  void fill(Type type) {
    fill_normal(gpu_, type, memory_.data(), static_cast<std::int64_t>(memory_.bytes()) / size_of(type), 1);
    gpu_.synchronize();
  }
  void fill_zeros() { check_cuda(cudaMemset(memory_.data(), 0, memory_.bytes()), "cudaMemset"); }

  /// @param words  of the memory that operations walk through
  template <class Operation>
  void load(const char* name, const char* meaning, int warps, const PerRound& per_round, unsigned rest_ns = 0,
            std::int64_t words = 1 << 20) {
    constexpr double launch_s = 2e-3;
    int shared = 64 * 1024;
    Arguments arguments{.cycles = static_cast<long long*>(clocks_.data()),
                        .sink = static_cast<float*>(sink_.data()),
                        .memory = static_cast<const float*>(memory_.data()),
                        .words = words,
                        .rounds = 64,
                        .rest_ns = rest_ns,
                        .nanoseconds = static_cast<long long*>(clocks_.data()) + 1024};
    if constexpr (requires { Operation::shared; }) shared = Operation::shared;
    if constexpr (requires { Operation::map; }) arguments.map = Operation::map(arguments.memory, arguments.words);
    check_cuda(cudaFuncSetAttribute(time_load<Operation>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared), name);
    const auto launch = [&] {
      time_load<Operation><<<blocks_, warps * 32, shared>>>(arguments);
      check_cuda(cudaGetLastError(), name);
    };
    launch();
    gpu_.synchronize();
    launch();
    arguments.rounds = std::max(64, static_cast<int>(64 * launch_s / read().seconds));

    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    launch();
    const Reading burst = read();

    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    const auto since = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
    std::vector<double> watts, rates, clocks;
    while (since() < seconds_) {
      constexpr int at_once = 8;  // without a gap between them
      for (int i = 0; i < at_once; ++i) launch();
      const std::optional<CardState> state = sensors_.read();
      const Reading last = read();
      if (since() < seconds_ / 2) continue;  // until the clock has settled
      if (state) watts.push_back(state->power_w);
      rates.push_back(arguments.rounds / last.seconds);
      clocks.push_back(last.mhz);
    }
    const auto mean = [](const std::vector<double>& of) {
      return std::accumulate(of.begin(), of.end(), 0.0) / static_cast<double>(of.size());
    };
    const double rounds = mean(rates);
    EnergyLoad found{name, meaning, {}, {}, mean(clocks), burst.mhz, arguments.rounds / burst.seconds / rounds};
    for (const auto& [what, number] : per_round) found.per_second[what] = number * rounds;
    if (!watts.empty()) found.power_w = mean(watts);
    if (told_) told_(found);
    loads.push_back(std::move(found));
  }

 private:
  struct Reading {
    double seconds, mhz;
  };
  /// Of the last launch, over the blocks' mean.
  Reading read() {
    std::vector<long long> found(2 * 1024);
    gpu_.synchronize();
    check_cuda(cudaMemcpy(found.data(), clocks_.data(), found.size() * sizeof(long long), cudaMemcpyDefault), "clocks");
    const auto sum = [&](std::size_t from) {
      const auto at = found.begin() + static_cast<std::ptrdiff_t>(from);
      return static_cast<double>(std::accumulate(at, at + blocks_, 0LL));
    };
    const double cycles = sum(0), nanoseconds = sum(1024);
    return {nanoseconds / blocks_ * 1e-9, cycles / nanoseconds * 1e3};
  }

  Device& gpu_;
  int blocks_;
  double seconds_;
  const std::function<void(const EnergyLoad&)>& told_;
  DeviceBuffer memory_, clocks_, sink_;
  Sensors sensors_;
};

/// wgmma from shared memory by two warpgroups, of a type, on as many stages as a multiprocessor has room for, or on one
/// again and again.
template <int N, class T, class R = float, bool a_in_registers = false, int stages = 4>
void load_products(Loads& loads, const char* name, const char* meaning, unsigned rest_ns = 0) {
  using Operation = WarpgroupProducts<N, a_in_registers, T, R, stages>;
  constexpr int warpgroups = 2;
  const double products = double{warpgroups} * Operation::operations * loads.blocks();
  constexpr int K = Operation::Form::K, operands = N * 32 + (a_in_registers ? 0 : 64 * 32);
  loads.load<Operation>(name, meaning, 4 * warpgroups,
                        {{std::string("wgmma ") + name_of(TypeOf<T>::value) + " flop", 2.0 * 64 * N * K * products},
                         {"bytes of operands", operands * products}},
                        rest_ns);
}

/// The same of two warpgroups beside `copied` boxes for each 32 products, from L2 or from DRAM.
template <int copied, int N, class T>
void load_products_beside_copies(Loads& loads, const char* name, const char* meaning, bool from_dram) {
  using Operation = ProductsBesideCopies<copied, N, T>;
  const double products = 2.0 * Operation::operations * loads.blocks();
  const double bytes = double{copied} * TensorLoad<1>::bytes * loads.blocks();
  PerRound per_round{{std::string("wgmma ") + name_of(TypeOf<T>::value) + " flop",
                      2.0 * 64 * N * Operation::Products::Form::K * products},
                     {"bytes of operands", (N + 64) * 32 * products},
                     {"bytes from L2", bytes},
                     {"bytes into shared memory", bytes}};
  if (from_dram) per_round["bytes of DRAM"] = bytes;
  loads.load<Operation>(name, meaning, 9, per_round, 0, from_dram ? std::int64_t{1} << 29 : (24 << 20) / 4);
}

}  // namespace

std::vector<EnergyLoad> measure_energy(Device& gpu, double seconds,
                                       const std::function<void(const EnergyLoad&)>& told) {
  Loads loads(gpu, seconds, told);
  const double lanes = 32.0 * loads.blocks(), warps = loads.blocks();
  loads.fill(Type::f32);
  loads.load<Asleep>("asleep", "a warp on each multiprocessor that sleeps", 1, {});
  loads.load<Ffma<8, 8, true, 4>>("ffma", "multiply-adds of 8 x 8 outer products from registers", 16,
                                  {{"multiply-adds", 16 * 256 * lanes}});
  loads.load<Integer<false>>("logic", "logic operations", 16, {{"integer instructions", 16 * 64 * 2 * warps}});
  loads.load<Integer<true>>("imad", "integer multiply-adds", 16, {{"integer multiply-adds", 16 * 64 * lanes}});
  loads.load<SharedLoad<float4, 16>>("lds128", "128-bit loads from shared memory", 32,
                                     {{"bytes of shared loads", 32 * 32 * 512 * warps}});
  loads.load<SharedFfma<8, 8>>("ffma_shared", "multiply-adds of 8 x 8 outer products on 4 128-bit loads each", 16,
                               {{"multiply-adds", 16 * 256 * lanes}, {"bytes of shared loads", 16 * 16 * 512 * warps}});
  constexpr int threads = 1024, vectors = StreamLoad::operations;
  loads.load<StreamLoad>("l2_to_registers", "loads of 24 MiB that L2 holds", threads / 32,
                         {{"bytes from L2", 16.0 * threads * vectors * loads.blocks()}}, 0, (24 << 20) / 4);
  loads.load<StreamLoad>("dram_to_registers", "loads of 2 GiB", threads / 32,
                         {{"bytes from L2", 16.0 * threads * vectors * loads.blocks()},
                          {"bytes of DRAM", 16.0 * threads * vectors * loads.blocks()}},
                         0, std::int64_t{1} << 29);
  if (gpu.properties().compute_capability == 90) {
    const double boxes = double{TensorLoad<1>::operations} * TensorLoad<1>::bytes * loads.blocks();
    loads.load<TensorLoad<1>>("l2_to_shared", "bulk copies of 24 MiB that L2 holds", 1,
                              {{"bytes from L2", boxes}, {"bytes into shared memory", boxes}}, 0, (24 << 20) / 4);
    loads.load<TensorLoad<1>>("dram_to_shared", "bulk copies of 2 GiB", 1,
                              {{"bytes from L2", boxes}, {"bytes into shared memory", boxes}, {"bytes of DRAM", boxes}},
                              0, std::int64_t{1} << 29);
  }

  loads.fill(Type::bf16);
  using Form = Mma<bf16, bf16, float, 16, 8, 16>;
  loads.load<MmaTile<Form, 4, 4>>("mma_bf16", "mma.sync m16n8k16 from registers, on fragments in turns", 16,
                                  {{"mma bf16 flop", 16.0 * MmaTile<Form, 4, 4>::operations * 4096 * warps}});
  loads.load<MmaChain<Form, 4>>("mma_bf16_repeated", "the same on the same fragments again and again", 16,
                                {{"mma bf16 flop", 16.0 * MmaChain<Form, 4>::operations * 4096 * warps}});
  if (gpu.properties().compute_capability != 90) return loads.loads;
  load_products<256, bf16>(loads, "wgmma_bf16_n256", "wgmma m64n256k16 from shared memory, on four stages");
  // The same less densely, for the clocks in between.
  load_products<256, bf16>(loads, "wgmma_bf16_n256_rests_1", "the same with rests between 16 of them", 500);
  load_products<256, bf16>(loads, "wgmma_bf16_n256_rests_2", "with longer rests", 1500);
  load_products<256, bf16>(loads, "wgmma_bf16_n256_rests_4", "with rests twice as long again", 3000);
  load_products<256, bf16, float, false, 1>(loads, "wgmma_bf16_n256_repeated",
                                            "m64n256k16 on the same operands again and again");
  load_products<128, bf16>(loads, "wgmma_bf16_n128", "m64n128k16: more bytes of operands for a product");
  load_products<64, bf16>(loads, "wgmma_bf16_n64", "m64n64k16");
  load_products<256, bf16, float, true>(loads, "wgmma_bf16_n256_registers", "m64n256k16 with A in registers");
  // Clocks below those at which products alone settle.
  load_products_beside_copies<4, 256, bf16>(loads, "wgmma_bf16_n256_copies_4",
                                            "m64n256k16 beside copies from L2, of a third of the operands", false);
  load_products_beside_copies<8, 256, bf16>(loads, "wgmma_bf16_n256_copies_8", "beside copies of two thirds", false);
  load_products_beside_copies<12, 256, bf16>(loads, "wgmma_bf16_n256_copies_12", "beside copies of all operands",
                                             false);
  load_products_beside_copies<8, 128, bf16>(loads, "wgmma_bf16_n128_copies_8",
                                            "m64n128k16 beside copies of as many bytes as it reads first", false);
  load_products_beside_copies<1, 256, bf16>(loads, "wgmma_bf16_n256_dram_1",
                                            "m64n256k16 beside copies from DRAM, of a twelfth of the operands", true);
  load_products_beside_copies<2, 256, bf16>(loads, "wgmma_bf16_n256_dram_2", "beside copies of a sixth", true);
  load_products_beside_copies<4, 256, bf16>(loads, "wgmma_bf16_n256_dram_4", "beside copies of a third", true);
  load_products_beside_copies<8, 256, bf16>(loads, "wgmma_bf16_n256_dram_8", "beside copies of two thirds", true);
  loads.fill(Type::f16);
  load_products<256, f16>(loads, "wgmma_f16_n256", "wgmma m64n256k16 of f16");
  loads.fill(Type::tf32);
  load_products<256, tf32>(loads, "wgmma_tf32_n256", "wgmma m64n256k8 of tf32");
  loads.fill(Type::e4m3);
  load_products<256, e4m3>(loads, "wgmma_e4m3_n256", "wgmma m64n256k32 of e4m3");
  loads.fill(Type::s8);
  load_products<256, std::int8_t, std::int32_t>(loads, "wgmma_s8_n256", "wgmma m64n256k32 of integers of 8 bits");
  loads.fill_zeros();
  load_products<256, bf16>(loads, "wgmma_bf16_n256_zeros", "wgmma m64n256k16 of zeros: nothing toggles");
  return loads.loads;
}

}  // namespace lapidary::bench
